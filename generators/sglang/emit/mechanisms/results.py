"""Result processor: labels and swaps around a boundary, whatever was launched ahead of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import (
    Check,
    Mechanism,
    NotComparable,
    completed,
    numbers,
    on,
)
from spec.numbers import divides
from spec.sglang import slot_buffer
from spec.sglang.releases import Design
from spec.sglang.rules import grids, slots


def _around(design: Design, c: Any, length: int, earlier: int, own: int) -> tuple[int, Any]:
    """How often the slots are swapped by the results of the steps before and at `length`, and the slots then."""
    state = slot_buffer.admitted(c)
    state = slot_buffer.step_launched(design, c, state, length - 1)
    swaps, launched = 0, length - 1
    for completed_length, lookahead in ((length - 1, earlier), (length, own)):
        for ahead in range(launched + 1, completed_length + lookahead + 1):
            state = slot_buffer.step_launched(design, c, state, ahead)
        launched = max(launched, completed_length + lookahead)
        before = state.next
        state = slot_buffer.step_completed(design, c, state, completed_length, lookahead)
        swaps += state.next != before
    return swaps, state


def swaps_around(design: Design, c: Any, length: int, earlier: int, own: int) -> int:
    return _around(design, c, length, earlier, own)[0]


def labelled_around(design: Design, c: Any, length: int, earlier: int, own: int) -> dict[str, Any]:
    state = _around(design, c, length, earlier, own)[1]
    return {"label": state.label or None, "state": int(state.state(state.kept))}


def _known_boundary(design: Design, c: Any, length: int, lead: int) -> bool | None:
    if design.label is slots.label_of_the_launched_length:
        raise NotComparable
    return divides(design.grid("decode", c), length) or None


def _is(right: Any) -> Callable[[Any], bool]:
    return lambda observed: observed == right


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    swaps, labels, known = [], [], []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c = expectations.configuration(launch)
        shown = {"configuration": numbers(launch)}
        length, earlier, own = n["length"], n["earlier"], n["own"]
        name = f"{spelled(launch)}-at{length}-ahead{earlier}-then{own}"
        arguments = {**shown, "length": length, "earlier": earlier, "own": own}
        around = (c, length, earlier, own)
        swaps.append(Check(name, arguments, on(swaps_around, *around), _is(1), tier=instance.tier))
        right = _is({"label": length, "state": length})
        labels.append(
            Check(name, arguments, on(labelled_around, *around), right, tier=instance.tier)
        )
        for committed in (length, length + 1):
            fits = divides(grids.track_grid(c), committed) or None
            known.append(
                Check(
                    f"{spelled(launch)}-at{committed}-lead{own}",
                    {**shown, "length": committed, "lead": own},
                    on(_known_boundary, c, committed, own),
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
        {
            **spaces.ACCEPTED,
            "the_length_is_a_boundary": lambda c, length, **_: divides(grids.track_grid(c), length),
        },
        {
            **spaces.GRID_PREDICATES,
            "it_is_the_first_boundary": lambda c, length, **_: length == grids.track_grid(c),
            "a_step_was_ahead_of_the_earlier_result": lambda c, length, earlier, own: earlier != 0,
            "a_step_was_ahead_of_its_own_result": lambda c, length, earlier, own: own != 0,
        },
        spaces.FACTS,
    ),
)
