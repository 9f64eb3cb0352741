"""Orders: the scheduler's own loop, other requests' prefills between the steps of the one that is followed."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from generators.cases.file_format import Case
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, stories
from generators.sglang.emit.mechanisms import slots, spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, lands, numbers, on
from spec.sglang.rules import grids

# The shortest traces of a slot that is swapped twice or never, on the default launch: prompt, stop, and the step after
# which another prefill is launched; the last of 0.5.17, which labels by another rule.
_SHORTEST = tuple(
    Instance(
        {**spaces.DEFAULTS, **slots.LAUNCHES[0]},
        {"prompt": prompt, "stop": stop, "alone": alone},
        "tiny",
    )
    for prompt, stop, alone in ((255, 511, 0), (200, 511, 256), (200, 511, 255), (200, 256, 256))
)


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c = expectations.configuration(launch)
        after = n["alone"] or None
        story = stories.Story(n["prompt"], n["stop"], (after,) if after else ())
        name = slots.name_of(launch, story).replace("nothing-ahead-of", "other-prefill-after")
        arguments = {
            "configuration": {**numbers(launch), "strategy": c.strategy, "overlap": c.overlap},
            "prompt": story.prompt,
            "stop": story.stop,
            "other_prefill_after": after,
        }
        checks.append(
            Check(
                name,
                arguments,
                on(stories.follower_of, c, story),
                lands(slots.has_to_cache(c, story)),
                tier=instance.tier,
            )
        )
    return {"test_a_follower_is_served_the_state_of_its_own_prefix": checks}


_SLOTS = slots.SPACE
_LONGEST = 600
_NEAR = {
    grid: [n for n in slots.lengths_near(grid, 3) if 8 <= n <= _LONGEST] for grid in (64, 128, 256)
}
_LENGTHS = sorted({n for lengths in _NEAR.values() for n in lengths})
SPACE = Space(
    "orders",
    [c for c in _SLOTS.configurations if 64 <= grids.track_grid(SimpleNamespace(**c)) <= 256],
    {"prompt": _LENGTHS, "stop": _LENGTHS, "alone": (0, *_LENGTHS)},
    {
        **spaces.ACCEPTED,
        **{name: _SLOTS.accepted[name] for name in slots.ORDER},
    },
    {name: p for name, p in _SLOTS.predicates.items() if name not in slots.ALLOCATION},
)
MECHANISM = Mechanism(
    "orders",
    _groups,
    space=SPACE,
    support=("gridproof_sglang_loop.py",),
    known=_SHORTEST,
)
