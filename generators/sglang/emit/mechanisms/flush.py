"""Flush: at which lengths ReplaySSM brings the state up to date, against the lengths of snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import decode, spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, numbers, on
from spec.numbers import divides
from spec.sglang.releases import Design
from spec.sglang.rules import flush, grids


def flushes(design: Design, c: Any, stop: int) -> list[int]:
    """Lengths (tokens) up to `stop` at which the release flushes."""
    grid = design.grid("flush", c)
    return [n for n in range(decode.PROMPT + 1, stop + 1) if flush.flush_step(grid, n)]


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for i in instances:
        c, stop = expectations.configuration(completed(i.configuration)), i.lengths["stop"]
        checks.append(
            Check(
                f"{spelled(i.configuration)}-to{stop}",
                {"configuration": numbers(i.configuration), "stop": stop},
                on(flushes, c, stop),
                lambda observed: True,
                tier=i.tier,
            )
        )
    return {"test_every_snapshot_step_is_a_flush_step": checks}


MECHANISM = Mechanism(
    "flush",
    _groups,
    space=Space(
        "flush",
        spaces.CONFIGURATIONS,
        {"stop": sorted({*range(2, 26), *(64 * k + d for k in range(1, 26) for d in (-1, 0))})},
        spaces.ACCEPTED,
        {
            **spaces.GRID_PREDICATES,
            "the_track_grid_is_the_interval": lambda c, **_: (
                grids.track_grid(c) == c.mamba_track_interval
            ),
            "ends_at_a_flush": lambda c, stop: flush.flush_step(c.mamba_track_interval, stop),
            "ends_at_a_snapshot": lambda c, stop: divides(grids.track_grid(c), stop),
        },
        spaces.FACTS,
    ),
)
