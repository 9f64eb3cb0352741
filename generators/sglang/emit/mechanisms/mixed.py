"""Mixed: a decode step that rides in one batch with another request's prompt, on the scheduler's own loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, stories
from generators.sglang.emit.mechanisms import slots, spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, lands, numbers, on
from spec.numbers import Truth, divides
from spec.sglang.rules import grids


def _has_to_cache(c: Any, story: stories.Mixed) -> bool:
    """Whether the prompt has a checkpoint, or a step that is not the mixed one passes a boundary."""
    grid = grids.track_grid(c)
    passed = range((story.prompt // grid + 1) * grid, story.stop + 1, grid)
    return story.prompt >= grids.checkpoint_grid(c) or any(n != story.at for n in passed)


def _no_slot_too_many(c: Any, story: stories.Mixed) -> Callable[[Any], bool]:
    """Whether a lazy request holds a second slot for a boundary in flight alone, an eager one its two."""
    in_flight = any(divides(grids.track_grid(c), story.at + ahead) for ahead in (1, 2))
    right = 1 + int(in_flight) if slots.is_lazy(c) else 1 + int(bool(c.overlap))
    return lambda held: held == right


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    firsts: list[Check] = []
    others: list[Check] = []
    held: list[Check] = []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c, story = expectations.configuration(launch), stories.Mixed(**n)
        strategy = {"strategy": c.strategy, "overlap": c.overlap}
        name = "-".join(
            [spelled(launch), slots.kind_of(launch), *(f"{k}{v}" for k, v in n.items())]
        )
        arguments = {"configuration": {**numbers(launch), **strategy}, **n}
        for checks, observe, passes in (
            (firsts, stories.mixed_follower, lands(_has_to_cache(c, story))),
            (others, stories.mixed_others_follower, lands(story.other >= grids.checkpoint_grid(c))),
            (held, stories.mixed_held, _no_slot_too_many(c, story)),
        ):
            if checks is held and story.stop < story.at + 2:
                continue
            checks.append(Check(name, arguments, on(observe, c, story), passes, tier=instance.tier))
    return {
        "test_a_request_one_of_whose_steps_is_mixed_leaves_the_state_of_its_own_prefix": firsts,
        "test_a_prompt_in_a_mixed_batch_leaves_the_state_of_its_own_prefix": others,
        "test_a_request_holds_no_second_slot_for_a_boundary_that_it_did_not_write": held,
    }


def _on_grid(offset: int) -> Callable[..., Truth]:
    return lambda c, **n: divides(grids.track_grid(c), n["at"] + offset)


_NEAR = sorted({n for grid in (64, 128, 256) for n in slots.lengths_near(grid, 3)})
_DEFAULT = Instance(  # the default interval and slots, the step before a boundary
    next(c for c in slots.SPACE.configurations if c["overlap"]),
    {"prompt": 200, "at": 255, "stop": 258, "other": 130},
    "tiny",
)
MECHANISM = Mechanism(
    "mixed",
    _groups,
    space=Space(
        "mixed",
        [
            c
            for c in slots.SPACE.configurations
            if c["dcp_size"] == 1 and 64 <= grids.track_grid(SimpleNamespace(**c)) <= 256
        ],
        {
            "prompt": (8, 40, 63, 64, 127, 130),
            "at": [n for n in _NEAR if n <= 520],
            "stop": sorted(
                {*(n for n in _NEAR if n <= 580), *(n - 1 for n in _NEAR if 1 < n <= 520)}
            ),
            "other": (10, 64, 130, 200),
        },
        {
            **spaces.ACCEPTED,
            "the_track_grid_is_above_two_tokens": lambda c, **_: grids.track_grid(c) > 2,
            "the_mixed_step_is_no_first_one": lambda c, **n: n["at"] > n["prompt"] + 1,
            "the_mixed_step_is_launched": lambda c, **n: (
                n["stop"] + int(bool(c.overlap)) >= n["at"]
            ),
        },
        {
            "slots_are_lazy": slots.is_lazy,
            "steps_overlap": slots.overlaps,
            "the_mixed_step_is_a_boundary": _on_grid(0),
            "the_step_before_it_is_a_boundary": _on_grid(-1),
            "the_step_behind_it_is_a_boundary": _on_grid(1),
            "it_stops_while_the_mixed_step_is_in_flight": lambda c, **n: n["stop"] < n["at"],
            "it_goes_on_for_two_steps": lambda c, **n: n["stop"] >= n["at"] + 2,
            "a_boundary_lies_before": lambda c, **n: (
                (n["at"] - 1) // grids.track_grid(c) > n["prompt"] // grids.track_grid(c)
            ),
            "a_boundary_lies_behind": lambda c, **n: (
                n["stop"] // grids.track_grid(c) > n["at"] // grids.track_grid(c)
            ),
            "the_others_prompt_is_cached": lambda c, **n: n["other"] >= grids.checkpoint_grid(c),
        },
    ),
    support=("gridproof_sglang_loop.py",),
    known=(_DEFAULT,),
)
