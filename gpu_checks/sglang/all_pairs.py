"""Every different pair of node and state that the modelled releases can bring about over a domain of launches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy

from gpu_checks.resume_pairs import Pair
from spec.numbers import both
from spec.sglang.checkpoints import (
    Checkpoint,
    decode_checkpoint,
    extend_checkpoint,
    node_of,
    verify_checkpoint,
)
from spec.sglang.configuration import Configuration
from spec.sglang.releases import DESIGNS, Design

DEEPEST = 2_048  # tokens

# The launches: pages and intervals in tokens, ranks.
PAGES = (1, 16, 32, 64, 128, 256)
RANKS = range(1, 9)
CHUNKS = (64, 128, 256)
INTERVALS = range(64, DEEPEST + 1, 64)
DRAFT_TOKENS = 8
# Prefixes of an extend (tokens): on a page or off it, as a chunk that was cut short leaves them.
PREFIXES = (0, 1, 64, 100, 513, 1000)


@dataclass(frozen=True)
class Matrix:
    """Pairs, and how many checkpoints (a configuration, a producer and a depth each) they stand for."""

    pairs: tuple[Pair, ...]
    checkpoints: int


def _accepted(design: Design, c: Any) -> Any:
    return both(True, *(guard.accepts(c) for guard in design.guards))


def _configurations(**lengths: Any) -> tuple[Configuration, dict[str, numpy.ndarray]]:
    """All launches of the domain with each of these lengths (tokens), and the lengths, as flat arrays of one size."""
    axes = {
        "page_size": PAGES,
        "dcp_size": RANKS,
        "mamba_chunk_size": CHUNKS,
        "mamba_track_interval": INTERVALS,
        **lengths,
    }
    grids = numpy.meshgrid(*(numpy.asarray(list(axis)) for axis in axes.values()), indexing="ij")
    flat: dict[str, Any] = {n: grid.ravel() for n, grid in zip(axes, grids, strict=True)}
    taken = {name: flat.pop(name) for name in lengths}
    return Configuration(speculative_num_draft_tokens=DRAFT_TOKENS, **flat), taken


def _checkpoints(design: Design) -> Iterator[tuple[Configuration, Checkpoint, Any]]:
    """The checkpoints of each producer with their configurations, and where there is one."""
    c, n = _configurations(seq_len=INTERVALS)
    yield c, decode_checkpoint(design, c, n["seq_len"]), True
    before = n["seq_len"] - DRAFT_TOKENS // 2
    yield c, verify_checkpoint(design, c, before, DRAFT_TOKENS), True
    c, n = _configurations(prefix=PREFIXES, end=INTERVALS)
    yield c, extend_checkpoint(design, c, n["prefix"], n["end"]), n["end"] > n["prefix"]


def _wanted(
    design: Design, c: Configuration, checkpoint: Checkpoint, exists: Any, deepest: int
) -> Any:
    node = node_of(design, c, checkpoint)
    return both(
        _accepted(design, c),
        exists,
        checkpoint.saved,
        node > 0,
        checkpoint.state <= deepest,
        checkpoint.state > 0,
    )


def matrix(deepest: int = DEEPEST) -> Matrix:
    """All pairs up to states of `deepest` tokens."""
    found: set[Pair] = set()
    count = 0
    for design in DESIGNS.values():
        for c, checkpoint, exists in _checkpoints(design):
            size = numpy.shape(c.page_size)
            mask = numpy.broadcast_to(_wanted(design, c, checkpoint, exists, deepest), size)
            nodes = numpy.broadcast_to(node_of(design, c, checkpoint), size)[mask]
            states = numpy.broadcast_to(checkpoint.state, size)[mask]
            found |= {Pair(int(n), int(s)) for n, s in {*zip(nodes, states, strict=True)}}
            count += int(mask.sum())
    return Matrix(tuple(sorted(found)), count)
