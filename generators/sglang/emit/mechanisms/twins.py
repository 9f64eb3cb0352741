"""Twins: two requests that come together and go on from one cached state, on the scheduler's own loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, stories
from generators.sglang.emit.mechanisms import orders, slots, spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, lands, numbers, on
from spec.sglang.releases import Design


def _both(design: Design, c: Any, story: stories.Story) -> list[dict[str, int | None]]:
    return [stories.follower_of(design, c, story)] * 2


def _each(passes: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda seen: all(map(passes, seen))


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c, story = expectations.configuration(launch), stories.Story(n["prompt"], n["stop"])
        strategy = {"strategy": c.strategy, "overlap": c.overlap}
        checks.append(
            Check(
                slots.name_of(launch, story),
                {"configuration": {**numbers(launch), **strategy}, **n},
                on(_both, c, story),
                _each(lands(slots.has_to_cache(c, story))),
                tier=instance.tier,
            )
        )
    return {"test_two_requests_that_come_together_each_get_the_state_of_their_prefix": checks}


_NAMES = ("slots_are_lazy", "steps_overlap", "the_prompt_is_cached", "it_passes_a_boundary")
_LENGTHS = orders.SPACE.lengths
MECHANISM = Mechanism(
    "twins",
    _groups,
    space=Space(
        "twins",
        orders.SPACE.configurations,
        {name: _LENGTHS[name] for name in ("prompt", "stop")},
        {
            **spaces.ACCEPTED,
            "the_request_decodes": lambda c, **n: n["stop"] > n["prompt"],
        },
        {name: slots.SPACE.predicates[name] for name in _NAMES},
    ),
    support=("gridproof_sglang_loop.py",),
)
