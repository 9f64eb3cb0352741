"""The configurations of a domain as arrays, block by block, those that the guards refuse left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy

from generators.cases.domain import DOMAIN_FIELDS, Domain
from spec.engine import Guard
from spec.sglang.configuration import NUMERIC_FIELDS
from spec.sglang.releases import Design

BLOCK = 1 << 18
# Beyond this many combinations nothing is enumerated: it would take longer than a night.
MOST_POINTS = 100_000_000_000
MOST_VALUES = 10_000_000  # of one field, which are kept in memory
_FITS_A_WORD = 1 << 62


@dataclass(frozen=True)
class Block:
    """Some configurations: arrays for the numeric fields, one value each for the others."""

    numeric: Mapping[str, numpy.ndarray]
    others: Mapping[str, Any]

    def __len__(self) -> int:
        return len(next(iter(self.numeric.values())))

    @property
    def c(self) -> Any:
        """The block as a configuration that rules can be evaluated on."""
        return SimpleNamespace(tp_size=None, **self.others, **self.numeric)

    def where(self, mask: numpy.ndarray) -> Block:
        """The configurations of this block where the mask holds."""
        return Block({name: column[mask] for name, column in self.numeric.items()}, self.others)

    def at(self, index: int) -> dict[str, Any]:
        """One configuration as plain values."""
        return {**{name: int(col[index]) for name, col in self.numeric.items()}, **self.others}


def other_fields(domain: Domain) -> Iterator[dict[str, Any]]:
    """Every combination of the fields that are not numbers a rule computes with."""
    names = [name for name in DOMAIN_FIELDS if name not in NUMERIC_FIELDS]
    if domain.listed:
        seen = dict.fromkeys(tuple(row[name] for name in names) for row in domain.listed)
        yield from (dict(zip(names, values, strict=True)) for values in seen)
        return
    for values in itertools.product(*(domain.axis(name) for name in names)):
        yield dict(zip(names, values, strict=True))


def _word(domain: Domain) -> type:
    """Words of 64 bits where every product of a page, dcp, chunk and interval fits one."""
    largest = 1
    for name in NUMERIC_FIELDS:
        largest *= max(1, *(max(domain.axis(name)[0], domain.axis(name)[-1]),))
    return numpy.int64 if largest < _FITS_A_WORD else object


def accepted(design: Design, block: Block) -> Block:
    """The configurations that the design's start-up guards let through."""
    mask = numpy.ones(len(block), dtype=bool)
    for guard in design.guards:
        mask &= _accepts(guard, block)
    return block.where(mask)


def _accepts(guard: Guard, block: Block) -> numpy.ndarray:
    return numpy.broadcast_to(guard.accepts(block.c), (len(block),)).astype(bool)


def refusing(design: Design, domain: Domain) -> list[Guard]:
    """The start-up guards that refuse some configuration of the domain."""
    refused = {
        guard.name: guard
        for block, _ in blocks(design, domain, guards=False)
        for guard in design.guards
        if not _accepts(guard, block).all()
    }
    return list(refused.values())


def blocks(design: Design, domain: Domain, guards: bool = True) -> Iterator[tuple[Block, int]]:
    """Blocks of configurations that belong to the domain, each with how many combinations it stands for."""
    for block in _listed(domain) if domain.listed else _combined(domain):
        yield (accepted(design, block) if guards else block), len(block)


def _listed(domain: Domain) -> Iterator[Block]:
    word = _word(domain)
    for others in other_fields(domain):
        rows = [row for row in domain.listed if all(row[n] == v for n, v in others.items())]
        columns: dict[str, numpy.ndarray] = {
            n: numpy.array([row[n] for row in rows], dtype=word) for n in NUMERIC_FIELDS
        }
        yield Block(columns, others)


def _combined(domain: Domain) -> Iterator[Block]:
    word = _word(domain)
    columns: list[numpy.ndarray] = [numpy.array(domain.axis(n), dtype=word) for n in NUMERIC_FIELDS]
    shape = tuple(len(column) for column in columns)
    total = int(numpy.prod(shape, dtype=object))
    for others in other_fields(domain):
        for start in range(0, total, BLOCK):
            index = numpy.arange(start, min(total, start + BLOCK))
            digits = numpy.unravel_index(index, shape)
            numeric = {
                name: column[digit]
                for name, column, digit in zip(NUMERIC_FIELDS, columns, digits, strict=True)
            }
            yield Block(numeric, others)
