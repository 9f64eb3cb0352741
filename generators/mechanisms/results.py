"""Result processor: labels and swaps around a boundary, whatever was launched ahead of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from generators import expectations
from generators.cases import Case, spelled
from generators.coverage import Instance, Space
from generators.mechanisms import spaces
from generators.mechanisms.base import Check, Mechanism, NotComparable, completed, numbers, on
from spec.numbers import divides
from spec.sglang import life
from spec.sglang.designs import Design
from spec.sglang.rules import grids, slots


def _around(design: Design, c: Any, length: int, earlier: int, own: int) -> tuple[int, Any]:
    """How often the slots are swapped by the results of the steps before and at `length`, and the slots then."""
    state = life.admitted(c)
    state = life.step_launched(design, c, state, length - 1)
    swaps, launched = 0, length - 1
    for completed_length, lookahead in ((length - 1, earlier), (length, own)):
        for ahead in range(launched + 1, completed_length + lookahead + 1):
            state = life.step_launched(design, c, state, ahead)
        launched = max(launched, completed_length + lookahead)
        before = state.next
        state = life.step_completed(design, c, state, completed_length, lookahead)
        swaps += state.next != before
    return swaps, state


def swaps_around(design: Design, c: Any, length: int, earlier: int, own: int) -> int:
    return _around(design, c, length, earlier, own)[0]


def labelled_around(design: Design, c: Any, length: int, earlier: int, own: int) -> dict[str, Any]:
    state = _around(design, c, length, earlier, own)[1]
    return {"label": state.label or None, "state": int(state.state(state.kept))}


def _known_boundary(design: Design, c: Any, length: int, lead: int) -> str:
    if design.label is slots.label_of_the_launched_length:
        raise NotComparable
    return "swapped" if divides(design.grid("decode", c), length) else "stopped"


def _is(right: Any) -> Callable[[Any], bool]:
    return lambda observed: observed == right


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    swaps, labels, known = [], [], []
    for instance in instances:
        launch, lengths = completed(instance.configuration), dict(instance.lengths)
        c = expectations.configuration(launch)
        shown = {"configuration": numbers(launch)}
        length, earlier, own = lengths["length"], lengths["earlier"], lengths["own"]
        if divides(grids.track_grid(c), length):
            name = f"{spelled(launch)}-at{length}-ahead{earlier}-then{own}"
            arguments = {**shown, "length": length, "earlier": earlier, "own": own}
            observe = on(swaps_around, c, length, earlier, own)
            swaps.append(Check(name, arguments, observe, _is(1), tier=instance.tier))
            observe, right = (
                on(labelled_around, c, length, earlier, own),
                {"label": length, "state": length},
            )
            labels.append(Check(name, arguments, observe, _is(right), tier=instance.tier))
        fits = "swapped" if divides(grids.track_grid(c), length) else "stopped"
        known.append(
            Check(
                f"{spelled(launch)}-at{length}-lead{own}",
                {**shown, "length": length, "lead": own},
                on(_known_boundary, c, length, own),
                _is(fits),
                tier=instance.tier,
            )
        )
    return {
        "test_a_boundary_swaps_the_slots_exactly_once": swaps,
        "test_a_boundary_labels_the_slot_it_wrote_with_its_own_length": labels,
        "test_a_known_boundary_swaps_the_slots_and_nothing_else_does": known,
    }


MECHANISM = Mechanism(
    "results",
    _groups,
    space=Space(
        "results",
        tuple(
            c
            for c in spaces.CONFIGURATIONS
            if 8 <= grids.track_grid(SimpleNamespace(**c)) <= 768 and c["mamba_chunk_size"] >= 2
        ),
        {
            "length": (
                *(3, 6, 8, 12, 18, 24, 30, 36, 48, 60, 64, 120, 128, 192, 256),
                *(320, 384, 512, 576, 640, 768, 1024, 1280, 1536),
            ),
            "earlier": (0, 1),
            "own": (0, 1),
        },
        spaces.ACCEPTED,
        {
            **spaces.GRID_PREDICATES,
            "on_the_interval": lambda c, length, **_: divides(c.mamba_track_interval, length),
            "on_the_track_grid": lambda c, length, **_: divides(grids.track_grid(c), length),
            "a_step_was_ahead_of_the_earlier_result": lambda c, length, earlier, own: earlier != 0,
            "a_step_was_ahead_of_its_own_result": lambda c, length, earlier, own: own != 0,
        },
        spaces.FACTS,
    ),
)
