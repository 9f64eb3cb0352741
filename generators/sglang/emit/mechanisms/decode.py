"""Decode: the mask of each step, and what a follower of the finished request is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang import codes
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import (
    CASES,
    ENGINE,
    MODEL,
    Check,
    Mechanism,
    NotComparable,
    completed,
    lands,
    numbers,
    on,
    per_configuration,
)
from spec.numbers import Truth, divides
from spec.sglang.releases import Design
from spec.sglang.rules import grids, slots

PROMPT = 1
AHEAD = "test_the_mask_of_the_step_ahead_is_the_mask_of_the_next_step"
MOST_STEPS = 30_000


def depths(case: Case) -> list[int]:
    """Depths (tokens) worth trying: multiples of what the case's trace snapshots at, one beyond the wrong one."""
    interval = completed(case.configuration)["mamba_track_interval"]
    step = max(1, min(interval, MOST_STEPS // 5))
    last = max(case.depths["state"] or 0, 5 * step)
    return list(range(step, last + 1, step))[-12:]


def _grid(design: Design, c: Any) -> int:
    return int(design.grid("decode", c))


def _all_nameable(page: int, stop: int, grid: int) -> Callable[[Any], bool]:
    """Whether every snapshot is on the page, and there is one where a depth on all grids was passed."""

    def passes(snapshots: Any) -> bool:
        return (bool(snapshots) or stop < grid) and all(n % page == 0 for n in snapshots)

    return passes


def _known_ahead(design: Design, c: Any, stop: int) -> list[int]:
    """Lengths (tokens) of which the step before them knows the mask; the first step has none before it."""
    if design.label is slots.label_of_the_launched_length:
        raise NotComparable
    return expectations.decode_snapshots(design, c, PROMPT + 1, stop)


# Decode context parallelism makes the tree page twice the interval.
_WIDENED = Instance({**spaces.DEFAULTS, "dcp_size": 8}, {"stop": 768}, "tiny")


def _stops(cases: Sequence[Case], instances: Sequence[Instance]) -> Iterator[tuple]:
    """Configurations with the depths their request is stopped at, and the tier."""
    for case in per_configuration(cases):
        yield case.configuration, depths(case), CASES
    for instance in instances:
        yield instance.configuration, [instance.lengths["stop"]], instance.tier


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    masks, followers, ahead = [], [], []
    for configuration, stops, tier in _stops(cases, instances):
        c = expectations.configuration(completed(configuration))
        grid = on(_grid, c)
        shown = {"configuration": numbers(configuration)}
        # A claim with one run tells nothing apart: the first depth is looked at as well.
        for stop in dict.fromkeys((stops[-1], stops[0])):
            name, arguments = f"{spelled(configuration)}-to{stop}", {**shown, "stop": stop}
            nameable = _all_nameable(grids.tree_page(c), stop, grids.track_grid(c))
            snapshots = on(expectations.decode_snapshots, c, PROMPT, stop)
            masks.append(Check(name, arguments, snapshots, nameable, grid, tier))
            known = on(_known_ahead, c, stop)
            ahead.append(Check(name, arguments, known, lambda observed: True, tier=tier))
        followers += [
            Check(
                f"{spelled(configuration)}-to{stop}",
                {**shown, "stop": stop},
                on(expectations.follower_after_decode, c, PROMPT, stop),
                lands(stop >= grids.track_grid(c)),
                grid,
                tier,
            )
            for stop in stops
        ]
    return {
        "test_decode_snapshots_are_depths_the_tree_can_name": masks,
        "test_a_follower_of_a_decode_resumes_where_its_state_stopped": followers,
        AHEAD: ahead,
    }


def _stops_on(grid: Callable[[Any], Any]) -> Callable[..., Truth]:
    return lambda c, stop: divides(grid(c), stop)


def _passes(grid: Callable[[Any], Any]) -> Callable[..., Truth]:
    return lambda c, stop: stop >= grid(c)


MECHANISM = Mechanism(
    "decode",
    _groups,
    (codes.DECODE_GRID,),
    Space(
        "decode",
        spaces.CONFIGURATIONS,
        {"stop": sorted({*range(2, 26), *(64 * k + d for k in range(1, 26) for d in (-1, 0))})},
        spaces.ACCEPTED,
        {
            **spaces.GRID_PREDICATES,
            "stops_on_the_interval": _stops_on(grids.track_interval),
            "stops_on_the_tree_page": _stops_on(grids.tree_page),
            "stops_on_the_track_grid": _stops_on(grids.track_grid),
            "passes_the_interval": _passes(grids.track_interval),
            "passes_the_track_grid": _passes(grids.track_grid),
        },
        spaces.FACTS,
    ),
    (MODEL, ENGINE),
    engine_only=(AHEAD,),
    known=(_WIDENED,),
)
