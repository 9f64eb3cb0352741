"""Which named predicates tell the configurations that a class of extends breaks from those that it does not.

Whether an extend goes wrong depends on the geometry of a configuration alone, so predicates are compared on each
geometry that a survey meets, block by block: nothing is enumerated again, and little is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy

from spec.numbers import Truth, both
from spec.sglang.rules import grids

# Page, dcp and chunk: all that an extend of the modelled releases depends on.
Geometry = tuple[int, int, int]
Predicate = Callable[[Any], Truth]
MOST_GEOMETRIES = 256

_NAMED: dict[str, Predicate] = {
    "the tree page is above one token": lambda c: grids.tree_page(c) > 1,
    "the page is above the model chunk": lambda c: c.page_size > c.mamba_chunk_size,
    "dcp widens a page above one token": lambda c: both(c.page_size > 1, c.dcp_size > 1),
    "the page is above one token": lambda c: c.page_size > 1,
    "dcp is on": lambda c: c.dcp_size > 1,
    "the tree page is no divisor of the cache chunk": lambda c: (
        grids.cache_chunk_size(c) % grids.tree_page(c) != 0
    ),
    "the cache chunk is above one tree page or no divisor of it": lambda c: (
        grids.tree_page(c) % grids.cache_chunk_size(c) != 0
    ),
    "the checkpoint grid is above the cache chunk": lambda c: (
        grids.checkpoint_grid(c) > grids.cache_chunk_size(c)
    ),
}


def _together(first: Predicate, second: Predicate) -> Predicate:
    return lambda c: both(first(c), second(c))


# A class may break where one of them holds, or where two do.
SEPARATORS: dict[str, Predicate] = _NAMED | {
    f"{one}, and {other}": _together(_NAMED[one], _NAMED[other])
    for one, other in itertools.combinations(_NAMED, 2)
}


@dataclass
class Separation:
    """What the geometries seen so far leave of the predicates for one class, and which of them it does not break.

    `agreeing`: the predicates that hold in those it breaks and in no other; `whole`: the geometries it does not break,
    None once they are more than `MOST_GEOMETRIES`.
    """

    agreeing: tuple[str, ...] = tuple(SEPARATORS)
    whole: set[Geometry] | None = field(default_factory=set)

    def see(self, c: Any, broken: numpy.ndarray, geometries: Iterable[Geometry]) -> None:
        """Compare the predicates with what is broken, on arrays of geometries."""
        size = broken.shape
        self.agreeing = tuple(
            name
            for name in self.agreeing
            if (numpy.broadcast_to(SEPARATORS[name](c), size).astype(bool) == broken).all()
        )
        self.spare(geometries)

    def spare(self, geometries: Iterable[Geometry]) -> None:
        """Enter geometries that the class does not break."""
        if self.whole is not None:
            self.whole.update(geometries)
            if len(self.whole) > MOST_GEOMETRIES:
                self.whole = None
