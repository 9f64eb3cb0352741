"""Configurations in which a request's life has the same orders of events, one of each to search."""

from __future__ import annotations

from typing import Any

from spec.numbers import both, choose, divides, either, gcd, largest, smallest
from spec.sglang.releases import Design, current
from spec.sglang.rules import grids

# How many times another number (at least so many are distinguished), and how many verifies of tokens, are many.
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

    The tokens of a verify are distinguished, and every number near them. Where each grid is made of whole smaller ones,
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
