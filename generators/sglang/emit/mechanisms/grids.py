"""Grids: the accessors of the engine that compute cache chunk, checkpoint grid and track grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism, NotComparable, numbers, on
from spec.numbers import divides
from spec.sglang.releases import Design
from spec.sglang.rules import grids


def _computed(design: Design, grid: Callable[[Any], Any], reader: str | None, c: Any) -> int:
    """A grid (tokens) as the release computes it; the accessor came with the reader that first used it."""
    if reader is not None and getattr(design, f"{reader}_grid") is not grid:
        raise NotComparable
    return int(grid(c))


GRIDS = {
    "test_the_cache_chunk_is_the_longer_of_chunk_and_page": (grids.cache_chunk_size, None),
    "test_the_checkpoint_grid_is_the_least_of_whole_chunks_and_tree_pages": (
        grids.checkpoint_grid,
        "extend",
    ),
    "test_the_track_grid_is_the_least_that_is_whole_intervals_as_well": (
        grids.track_grid,
        "decode",
    ),
}


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    return {
        test: [
            Check(
                spelled(i.configuration),
                {"configuration": numbers(i.configuration)},
                on(_computed, grid, reader, i.c),
                lambda observed: True,
                tier=i.tier,
            )
            for i in instances
        ]
        for test, (grid, reader) in GRIDS.items()
    }


MECHANISM = Mechanism(
    "grids",
    _groups,
    space=Space(
        "grids",
        spaces.CONFIGURATIONS,
        {},
        spaces.ACCEPTED,
        {
            **spaces.GRID_PREDICATES,
            "chunk_divides_the_tree_page": lambda c, **_: divides(
                c.mamba_chunk_size, grids.tree_page(c)
            ),
            "checkpoint_grid_divides_the_interval": lambda c, **_: divides(
                grids.checkpoint_grid(c), c.mamba_track_interval
            ),
        },
        spaces.FACTS,
    ),
)
