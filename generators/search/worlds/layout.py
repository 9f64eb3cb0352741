"""A world as one vector of small integers: kinds of places, their fields, and how places of a kind are named."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

FIXED, MENTIONED, SORTED = range(3)  # how the places of a kind get their names, see `naming`
NAMES_PER_MOVE = 3  # as many places or numbers a move may pick


@dataclass(frozen=True)
class Field:
    """A number that every place of a kind has.

    `refers`: the kind of the place that a value names (below 0: none); `where`: it does so only where another field of
    the same place has this value; `forgotten`: the value that it takes in a place that nobody names (None: it stays).
    """

    name: str
    kind: str
    initial: int = 0
    refers: str | None = None
    where: tuple[str, int] | None = None
    forgotten: int | None = None


@dataclass(frozen=True)
class Layout:
    """The fields of a world in order, how many places of each kind there are and how they are named, and constants.

    `naming`: FIXED (the default), MENTIONED (by the order in which the other fields name them) or SORTED (by their own
    fields); `constants`: arrays that every world has alike, such as the texts of keys.
    """

    fields: tuple[Field, ...]
    sizes: Mapping[str, int]
    naming: Mapping[str, int]
    constants: Mapping[str, numpy.ndarray]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of places, in the order of `sizes`."""
        return tuple(self.sizes)

    @cached_property
    def words(self) -> int:
        """The length of a stored world in words of four bytes."""
        return -(-sum(self.sizes[f.kind] for f in self.fields) // 4)

    @cached_property
    def record(self) -> numpy.dtype:
        """One world with its constants behind it, as a structured type."""
        offsets, at = [], 0
        for f in self.fields:
            offsets.append(at)
            at += self.sizes[f.kind]
        at = 4 * self.words
        shapes: list[tuple[Any, ...]] = [("i1", (self.sizes[f.kind],)) for f in self.fields]
        for array in self.constants.values():
            offsets.append(at)
            shapes.append(("i1", array.shape))
            at += array.size
        names = [*(f.name for f in self.fields), *self.constants]
        return numpy.dtype(
            {"names": names, "formats": shapes, "offsets": offsets, "itemsize": -(-at // 8) * 8}
        )

    @cached_property
    def tables(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """What `naming` reads: a row a field, and a row a kind (size, naming)."""
        kind = {k: i for i, k in enumerate(self.kinds)}
        index = {f.name: i for i, f in enumerate(self.fields)}
        rows = []
        for f in self.fields:
            where, value = (index[f.where[0]], f.where[1]) if f.where else (-1, 0)
            refers = -1 if f.refers is None else kind[f.refers]
            keeps = int(f.forgotten is None)
            forgotten = 0 if f.forgotten is None else f.forgotten
            offset = int(self.record.fields[f.name][1])  # type: ignore[index]
            rows.append((offset, kind[f.kind], refers, where, value, keeps, forgotten))
            if refers >= 0 and self.naming.get(str(f.refers)) == MENTIONED:
                assert self.naming.get(f.kind, FIXED) != MENTIONED, f"{f.name}: names of names"
        kinds = [(self.sizes[k], self.naming.get(k, FIXED)) for k in self.kinds]
        return numpy.array(rows, numpy.int64), numpy.array(kinds, numpy.int64)

    def scratch(self) -> Scratch:
        """Room for one world, with the constants in place and every field at its initial value."""
        array = numpy.zeros(1, self.record)
        for name, values in self.constants.items():
            array[name][0] = values
        for f in self.fields:
            array[f.name][0] = f.initial
        return Scratch(self, array)


class Scratch:
    """Room for one world: `record` for compiled moves, `world` for plain ones, both over the same numbers."""

    def __init__(self, layout: Layout, array: numpy.ndarray) -> None:
        self.layout = layout
        self.array = array
        self.flat = array.view(numpy.int8)
        self.words = self.flat[: 4 * layout.words].view(numpy.int32)
        names = array.dtype.names or ()
        self.world: Any = namedtuple("World", names)(*(array[name][0] for name in names))

    def values(self) -> dict[str, list[int]]:
        """The fields of the world by name."""
        return {f.name: [int(v) for v in self.array[f.name][0]] for f in self.layout.fields}

    def set(self, values: Mapping[str, Sequence[int]]) -> None:
        """Give fields of the world their values."""
        for name, numbers in values.items():
            self.array[name][0] = numbers
