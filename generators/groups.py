"""Configurations in which a request's life has the same orders of events, one of each to search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy

from generators.blocks import Block, blocks
from generators.domain import Domain
from generators.preference import ranks, written_first
from generators.search import MODELLED_STRATEGIES
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
    return [members for _, members in _with_signatures(design, block)]


def _with_signatures(
    design: Design, block: Block
) -> Iterator[tuple[tuple[int, ...], numpy.ndarray]]:
    size = len(block)
    facts = [numpy.broadcast_to(f, (size,)).astype(numpy.int64) for f in signature(design, block.c)]
    signatures, group = numpy.unique(numpy.stack(facts), axis=1, return_inverse=True)
    order = numpy.argsort(group, kind="stable")
    starts = numpy.flatnonzero(numpy.diff(group[order], prepend=-1))
    for signed, members in zip(signatures.T, numpy.split(order, starts[1:]), strict=True):
        yield tuple(signed.tolist()), members


@dataclass
class _Group:
    """A group as far as it is known: how many configurations, and those to show, each with its rank."""

    members: int
    shown: list[tuple[Any, dict[str, Any]]]


def representatives(
    design: Design, domain: Domain, guards: bool, smallest: bool, most: int
) -> tuple[int, list[tuple[dict[str, Any], int]]]:
    """How many configurations a domain has, and of each group the `most` that a person would write, these in order.

    Each comes with how many configurations it stands for.  A group is one whatever the blocks it lies in.
    """
    order, configurations = written_first(domain, smallest), 0
    found: dict[tuple[Any, ...], dict[tuple[int, ...], _Group]] = {}
    for block, _ in blocks(design, domain, guards):
        configurations += len(block)
        if not len(block) or block.others["strategy"] not in MODELLED_STRATEGIES:
            continue
        rank = ranks(order, block.numeric, smallest)
        alike = found.setdefault(tuple(block.others.values()), {})
        for signed, members in _with_signatures(design, block):
            first = members[numpy.argsort(rank[members], kind="stable")][:most]
            shown = [(rank[index], block.at(int(index))) for index in first]
            group = alike.setdefault(signed, _Group(0, []))
            group.members += len(members)
            group.shown = sorted([*group.shown, *shown], key=itemgetter(0))[:most]
    in_order = (
        sorted(alike.values(), key=lambda group: group.shown[0][0]) for alike in found.values()
    )
    return configurations, [
        p for groups in in_order for group in groups for p in _shared_out(group)
    ]


def _shared_out(group: _Group) -> Iterator[tuple[dict[str, Any], int]]:
    """The configurations to show, the members of the group dealt out among them."""
    each, left = divmod(group.members, len(group.shown))
    for index, (_, values) in enumerate(group.shown):
        yield values, each + (index < left)
