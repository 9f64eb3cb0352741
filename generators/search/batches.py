"""The configurations of a domain as arrays, batch by batch, those that the guards refuse left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from generators.cases.domain import Domain
from spec.engine import Design, Guard, engine

LARGEST = 1 << 18
# Beyond this many combinations nothing is enumerated: it would take longer than a night.
MOST_POINTS = 100_000_000_000
MOST_VALUES = 10_000_000  # of one field, which are kept in memory
_FITS_A_WORD = 1 << 62


@dataclass(frozen=True)
class Batch:
    """Some configurations of an engine: arrays for the fields that rules compute with, one value each for the others."""

    engine: str
    numeric: Mapping[str, numpy.ndarray]
    others: Mapping[str, Any]

    def __len__(self) -> int:
        return len(next(iter(self.numeric.values())))

    @property
    def c(self) -> Any:
        """The batch as a configuration that rules can be evaluated on."""
        return engine(self.engine).configuration(**self.others, **self.numeric)

    def where(self, mask: numpy.ndarray) -> Batch:
        """The configurations of this batch where the mask holds."""
        columns = {name: column[mask] for name, column in self.numeric.items()}
        return Batch(self.engine, columns, self.others)

    def at(self, index: int) -> dict[str, Any]:
        """One configuration as plain values."""
        return {**{name: int(col[index]) for name, col in self.numeric.items()}, **self.others}


def other_fields(domain: Domain) -> Iterator[dict[str, Any]]:
    """Every combination of the fields that are not numbers a rule computes with."""
    model = domain.model
    names = [name for name in model.field_names if name not in model.numeric]
    if domain.listed:
        seen = dict.fromkeys(tuple(row[name] for name in names) for row in domain.listed)
        yield from (dict(zip(names, values, strict=True)) for values in seen)
        return
    for values in itertools.product(*(domain.axis(name) for name in names)):
        yield dict(zip(names, values, strict=True))


def _word(domain: Domain) -> type:
    """Words of 64 bits where every product of a page, dcp, chunk and interval fits one."""
    largest = 1
    for name in domain.model.numeric:
        largest *= max(1, *(max(domain.axis(name)[0], domain.axis(name)[-1]),))
    return numpy.int64 if largest < _FITS_A_WORD else object


def accepted(design: Design, batch: Batch) -> Batch:
    """The configurations that the design's start-up guards let through."""
    mask = numpy.ones(len(batch), dtype=bool)
    for guard in design.guards:
        mask &= _accepts(guard, batch)
    return batch.where(mask)


def _accepts(guard: Guard, batch: Batch) -> numpy.ndarray:
    return numpy.broadcast_to(guard.accepts(batch.c), (len(batch),)).astype(bool)


def refusing(design: Design, domain: Domain) -> list[Guard]:
    """The start-up guards that refuse some configuration of the domain."""
    refused = {
        guard.name: guard
        for batch, _ in batches(design, domain, guards=False)
        for guard in design.guards
        if not _accepts(guard, batch).all()
    }
    return list(refused.values())


def batches(design: Design, domain: Domain, guards: bool = True) -> Iterator[tuple[Batch, int]]:
    """Batchs of configurations that belong to the domain, each with how many combinations it stands for."""
    for batch in _listed(domain) if domain.listed else _combined(domain):
        yield (accepted(design, batch) if guards else batch), len(batch)


def _listed(domain: Domain) -> Iterator[Batch]:
    word = _word(domain)
    for others in other_fields(domain):
        rows = [row for row in domain.listed if all(row[n] == v for n, v in others.items())]
        columns: dict[str, numpy.ndarray] = {
            n: numpy.array([row[n] for row in rows], dtype=word) for n in domain.model.numeric
        }
        yield Batch(domain.engine, columns, others)


def _combined(domain: Domain) -> Iterator[Batch]:
    word, names = _word(domain), domain.model.numeric
    columns: list[numpy.ndarray] = [numpy.array(domain.axis(n), dtype=word) for n in names]
    shape = tuple(len(column) for column in columns)
    total = int(numpy.prod(shape, dtype=object))
    for others in other_fields(domain):
        for start in range(0, total, LARGEST):
            index = numpy.arange(start, min(total, start + LARGEST))
            digits = numpy.unravel_index(index, shape)
            numeric = {
                name: column[digit]
                for name, column, digit in zip(names, columns, digits, strict=True)
            }
            yield Batch(domain.engine, numeric, others)
