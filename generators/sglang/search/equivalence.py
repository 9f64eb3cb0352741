"""Configurations in which a request's life has the same orders of events, one of each to search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy

from generators.cases.domain import Domain
from generators.search.batches import Block, blocks
from generators.search.configurations import MODELLED_STRATEGIES
from generators.search.representative import ranks, written_first
from spec.numbers import both, choose, divides, either, gcd, largest, smallest
from spec.sglang.releases import Design, current
from spec.sglang.rules import grids

# How many times another number (at least so many are told apart), and how many verifies of tokens, are many.
_MANY, _FAR = 4, 6


def numbers_of_a_life(design: Design, c: Any) -> dict[str, Any]:
    """All numbers (tokens) that the life of a request reads of a design and a configuration."""
    drafts = c.speculative_num_draft_tokens
    speculates = drafts > 0
    track = choose(speculates, design.grid("verify", c), design.grid("decode", c))
    return {
        "page": grids.tree_page(c),
        "chunk": grids.cache_chunk_size(c),
        "rows": c.mamba_chunk_size,
        "stride": current(design.extend_row_stride)(c),
        "extend": design.grid("extend", c),
        "track": track,
        "drafts": drafts,
    }


def signature(design: Design, c: Any) -> list[Any]:
    """What orders of events depend on: configurations alike in it have the same orders (docs/theory.md).

    The tokens of a verify are told apart, and every number near them. Where each grid is made of whole smaller ones,
    numbers far beyond the verifies count by how often one goes into the next, many times being many; elsewhere by how
    often the largest number that goes into all of them goes into each.
    """
    read = numbers_of_a_life(design, c)
    drafts = read.pop("drafts")
    page, chunk, rows, stride, extend, track = read.values()
    far = _FAR * (drafts + 1)
    nested = both(
        *(divides(page, extend), divides(chunk, extend), divides(extend, track)),
        *(divides(rows, chunk), either(stride == rows, stride == chunk)),
    )
    unit: Any = 0
    for number in read.values():
        unit = gcd(unit, choose(number > 1, number, 0))
    unit = largest(unit, 1)
    apart = [*(number // unit for number in read.values()), smallest(unit, far)]
    ratios = [(extend, page), (extend, chunk), (track, extend), (chunk, rows)]
    within = [smallest(a // b, _MANY) for a, b in (*ratios, (stride, rows))]
    within += [divides(page, chunk), divides(chunk, page)]
    near = [smallest(number, far) for number in read.values()]
    return [
        *(drafts, c.dcp_size > 1, nested),
        *(choose(nested, 0, number) for number in apart),
        *(choose(nested, number, 0) for number in (*within, *near)),
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
