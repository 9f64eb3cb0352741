"""The witnesses that proofs about a configuration rest on, computed and checked for one that is judged."""

from __future__ import annotations

from typing import Any

from spec.euclid import witnessed
from spec.sglang.designs import Design
from spec.sglang.rules import grids


def pairs(design: Design, c: Any) -> list[tuple[int, int]]:
    """The numbers (tokens) of which the rules take an lcm or gcd in a configuration."""
    page = grids.tree_page(c)
    of_grids = [
        (grids.cache_chunk_size(c), page),
        (grids.checkpoint_grid(c), grids.track_interval(c)),
    ]
    readers = ("extend", "decode", "verify", "flush", "window")
    return of_grids + [(design.grid(reader, c), page) for reader in readers]


def unwitnessed(design: Design, c: Any) -> list[tuple[int, int]]:
    """Pairs whose lcm or gcd is not what the proofs say: there are none, or Euclid was wrong."""
    return [pair for pair in pairs(design, c) if not witnessed(*pair)]
