"""Configurations in which a request's life has the same orders of events, one of each to search."""

from __future__ import annotations

from typing import Any

import numpy

from generators.blocks import Block
from spec.numbers import both, divides
from spec.sglang.designs import Design
from spec.sglang.rules import grids

# More steps (or verifies) between two boundaries, or boundaries between two nodes, than this change nothing.
_FAR = 4


def signature(design: Design, c: Any) -> list[Any]:
    """What orders of events depend on: how the grids of a configuration lie to each other and to a verify."""
    page, extend = grids.tree_page(c), design.grid("extend", c)
    chunk, drafts = grids.cache_chunk_size(c), c.speculative_num_draft_tokens
    decode, verify = design.grid("decode", c), design.grid("verify", c)
    boundaries = [numpy.minimum(decode, _FAR), *_verify_relations(page, verify, drafts)]
    return [
        *boundaries,
        page == 1,
        *(numpy.minimum(grid // page, _FAR) for grid in (extend, decode, verify)),
        *(numpy.minimum(grids.period(c, grid), _FAR) for grid in (extend, decode, verify)),
        extend == decode,
        divides(extend, decode),
        chunk == c.mamba_chunk_size,
        chunk == extend,
        divides(page, chunk),
        c.dcp_size > 1,
    ]


def _verify_relations(page: Any, verify: Any, drafts: Any) -> list[Any]:
    speculates = drafts > 0
    between = verify // numpy.maximum(drafts, 1)
    return [
        speculates,
        numpy.where(speculates, numpy.minimum(between, _FAR), 0),
        both(speculates, 2 * drafts > verify),
        both(speculates, page <= drafts),
    ]


def groups(design: Design, block: Block) -> list[numpy.ndarray]:
    """The indices of the configurations of each group."""
    size = len(block)
    facts = [numpy.broadcast_to(f, (size,)).astype(numpy.int64) for f in signature(design, block.c)]
    _, group = numpy.unique(numpy.stack(facts), axis=1, return_inverse=True)
    order = numpy.argsort(group, kind="stable")
    starts = numpy.flatnonzero(numpy.diff(group[order], prepend=-1))
    return numpy.split(order, starts[1:])
