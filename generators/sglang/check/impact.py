"""How far a fault reaches: which depths, what share of the checkpoints, how many tokens are replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from generators.cases import codes
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

# Checkpoints looked at; where a period is longer, only what the case itself shows is told.
_MOST = 1 << 16


def _verified(design: Design, c: Configuration, depths: Any) -> Checkpoint:
    return verify_checkpoint(design, c, depths - 1, 1)


_ON_A_GRID: dict[str, tuple[str, Callable[..., Checkpoint]]] = {
    codes.DECODE_GRID.id: ("decode", decode_checkpoint),
    codes.VERIFY_GRID.id: ("verify", _verified),
}
_OF_AN_EXTEND = (codes.EXTEND_PREFIX.id, codes.EXTEND_GRID.id, codes.EXTEND_ROW.id)


def affected(design: Design, c: Configuration, case: Case, step: int = 1) -> dict[str, Any]:
    """The reach of a case: depths in tokens, `share` of the reader's checkpoints that end on a wrong node.

    `share` is over one period of the grid above the first tree page; for an extend over every prefix within one
    tree page that is a multiple of `step`, each extended by one grid step. None where it is not computed.
    """
    known = {
        "first_lost_depth": None,
        "first_wrong_depth": None if case.outcome == "fault" else case.depths["state"],
        "share": None,
        "most_replayed": case.depths["replayed"],
    }
    if case.outcome != "misplaced":
        return known
    if case.code in _ON_A_GRID:
        return known | _on_a_grid(design, c, *_ON_A_GRID[case.code])
    if case.code in _OF_AN_EXTEND:
        return known | _of_extends(design, c, step)
    return known


def _on_a_grid(
    design: Design, c: Configuration, reader: str, take: Callable[..., Checkpoint]
) -> dict[str, Any]:
    page, grid = grids.tree_page(c), design.grid(reader, c)
    lost = {"first_lost_depth": int(grid) if grid < page else None}
    period = page // gcd(page, grid)
    if period > _MOST:
        return lost
    first = -(-page // grid) * grid
    depths = first + grid * numpy.arange(period, dtype=numpy.int64)
    return lost | _reach(design, c, take(design, c, depths), period)


def _of_extends(design: Design, c: Configuration, step: int) -> dict[str, Any]:
    page = grids.tree_page(c)
    if page > _MOST:
        return {}
    prefixes = numpy.arange(0, page, step, dtype=numpy.int64)
    checkpoints = extend_checkpoint(design, c, prefixes, prefixes + design.grid("extend", c))
    return _reach(design, c, checkpoints, len(prefixes))


def _reach(design: Design, c: Configuration, checkpoints: Checkpoint, size: int) -> dict[str, Any]:
    wrong = numpy.broadcast_to(misplaced(design, c, checkpoints), (size,)).astype(bool)
    if not wrong.any():
        return {}
    replayed = numpy.broadcast_to(checkpoints.state - node_of(design, c, checkpoints), (size,))
    most = replayed[wrong][numpy.argmax(numpy.abs(replayed[wrong]))]
    return {"share": round(float(wrong.mean()), 4), "most_replayed": int(most)}
