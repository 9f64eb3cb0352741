"""What the spaces of several mechanisms share: readable configurations, predicates of the three grids, facts about them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from generators.emit.predicate_coverage import Predicate
from spec.numbers import Truth, both, divides, implies
from spec.sglang.guards import chunk_and_page_fit, interval_is_whole_configured_pages
from spec.sglang.rules import grids
from spec.sglang.theorems.library import REALISTIC

# Tokens: a test decodes past a few track depths one step at a time.
MOST_TOKENS = 1_600
# The engine's own values for a hybrid model, on a page of 64 tokens.
DEFAULTS = {
    "page_size": 64,
    "dcp_size": 1,
    "mamba_track_interval": 256,
    "mamba_chunk_size": 64,
}


def _small_enough(c: Mapping[str, int]) -> bool:
    return grids.track_grid(SimpleNamespace(**c)) <= MOST_TOKENS


def _configurations() -> tuple[dict[str, int], ...]:
    """Launches a person would write, then powers of two, then every small configuration."""
    names = ("mamba_chunk_size", "mamba_track_interval", "page_size", "dcp_size")
    usual = itertools.product(
        (64, 128), (256, 64, 128, 192, 512, 320, 96), (64, 1, 16, 128, 256), (1, 8, 2, 3, 4)
    )
    small = itertools.product(
        (1, 2, 3, 4, 6), (1, 2, 3, 4, 6, 8, 10, 12), (1, 2, 3, 4, 6), (1, 2, 3)
    )
    written = [dict(zip(names, values, strict=True)) for values in (*usual, *small)]
    known = [{name: c[name] for name in names} for c in REALISTIC]
    found = {tuple(c.values()): c for c in (*known, *written) if _small_enough(c)}
    return tuple(found.values())


CONFIGURATIONS = _configurations()


def dcp_widens_the_page(c: Any, **_: Any) -> Truth:
    """Decode context parallelism is on."""
    return c.dcp_size > 1


def page_is_above_the_chunk(c: Any, **_: Any) -> Truth:
    """The page is longer than the model's chunk."""
    return c.page_size > c.mamba_chunk_size


def interval_divides_the_tree_page(c: Any, **_: Any) -> Truth:
    """Each node is at a depth on the interval."""
    return divides(c.mamba_track_interval, grids.tree_page(c))


def tree_page_divides_the_interval(c: Any, **_: Any) -> Truth:
    """Each depth on the interval has a node."""
    return divides(grids.tree_page(c), c.mamba_track_interval)


def _guard(guard: Predicate) -> Predicate:
    return lambda c, **_: guard(c)


ACCEPTED: dict[str, Predicate] = {
    "chunk_and_page_fit": _guard(chunk_and_page_fit),
    "interval_is_whole_pages": _guard(interval_is_whole_configured_pages),
}
GRID_PREDICATES: dict[str, Predicate] = {
    p.__name__: p
    for p in (
        dcp_widens_the_page,
        page_is_above_the_chunk,
        interval_divides_the_tree_page,
        tree_page_divides_the_interval,
    )
}


def _without_dcp(c: Any, **_: Any) -> Truth:
    return implies(c.dcp_size == 1, grids.tree_page(c) == c.page_size)


def _large_page(c: Any, **_: Any) -> Truth:
    return implies(page_is_above_the_chunk(c), grids.checkpoint_grid(c) == grids.tree_page(c))


def _large_page_in_interval(c: Any, **_: Any) -> Truth:
    return implies(
        both(page_is_above_the_chunk(c), tree_page_divides_the_interval(c)),
        grids.track_grid(c) == c.mamba_track_interval,
    )


def _interval_in_large_page(c: Any, **_: Any) -> Truth:
    return implies(
        both(page_is_above_the_chunk(c), interval_divides_the_tree_page(c)),
        grids.track_grid(c) == grids.tree_page(c),
    )


FACTS: dict[str, Predicate] = {
    "without_dcp_the_tree_page_is_the_page": _without_dcp,
    "a_page_above_the_chunk_is_the_checkpoint_grid": _large_page,
    "a_tree_page_in_the_interval_leaves_it_unchanged": _large_page_in_interval,
    "an_interval_in_the_tree_page_leaves_that_unchanged": _interval_in_large_page,
}
