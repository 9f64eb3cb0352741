"""How far a fault reaches: which depths, what share of the checkpoints, how many tokens are replayed or skipped.

Each function is of one kind of case and gives the keys that it can compute; `step` (tokens): prefixes are its multiples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from generators.cases.file_format import Case
from spec.numbers import gcd
from spec.sglang.checkpoints import (
    Checkpoint,
    decode_checkpoint,
    extend_checkpoint,
    misplaced,
    node_of,
    verify_checkpoint,
)
from spec.sglang.configuration import Configuration
from spec.sglang.releases import Design
from spec.sglang.rules import grids

# The most checkpoints that are looked at; where a period is longer, only the case itself is reported.
_MOST = 1 << 16


def of_decode(design: Design, c: Configuration, case: Case, step: int) -> dict[str, Any]:
    """The reach among the checkpoints of decode, over one period of its grid above the first tree page."""
    return _on_a_grid(design, c, "decode", decode_checkpoint)


def of_verify(design: Design, c: Configuration, case: Case, step: int) -> dict[str, Any]:
    """The reach among the checkpoints of verify, over one period of its grid above the first tree page."""

    def verified(design: Design, c: Configuration, depths: Any) -> Checkpoint:
        return verify_checkpoint(design, c, depths - 1, 1)

    return _on_a_grid(design, c, "verify", verified)


def of_extends(design: Design, c: Configuration, case: Case, step: int) -> dict[str, Any]:
    """The reach among extends by one grid step, over the prefixes within one tree page."""
    page = grids.tree_page(c)
    if case.outcome != "misplaced" or page > _MOST:
        return {}
    prefixes = numpy.arange(0, page, step, dtype=numpy.int64)
    checkpoints = extend_checkpoint(design, c, prefixes, prefixes + design.grid("extend", c))
    return _reach(design, c, checkpoints, len(prefixes))


def _on_a_grid(
    design: Design, c: Configuration, producer: str, take: Callable[..., Checkpoint]
) -> dict[str, Any]:
    page, grid = grids.tree_page(c), design.grid(producer, c)
    lost = {"first_lost_depth": int(grid) if grid < page else None}
    period = page // gcd(page, grid)
    if period > _MOST:
        return lost
    first = -(-page // grid) * grid
    depths = first + grid * numpy.arange(period, dtype=numpy.int64)
    return lost | _reach(design, c, take(design, c, depths), period)


def _reach(design: Design, c: Configuration, checkpoints: Checkpoint, size: int) -> dict[str, Any]:
    wrong = numpy.broadcast_to(misplaced(design, c, checkpoints), (size,)).astype(bool)
    if not wrong.any():
        return {}
    replayed = numpy.broadcast_to(checkpoints.state - node_of(design, c, checkpoints), (size,))
    most = replayed[wrong][numpy.argmax(numpy.abs(replayed[wrong]))]
    return {"share": round(float(wrong.mean()), 4), "most_replayed": int(most)}
