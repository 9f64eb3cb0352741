"""Which configuration of a class a person would write: the engine's default, else a power of two, else the smallest."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from generators.cases.domain import Domain
from generators.engines import engine
from generators.search.batches import Batch

_MOST_RANKED = 1_000_000  # values of a field; of more the smallest is shown


def _rank(default: int, value: int) -> tuple[int, int]:
    if value == default:
        return (0, value)
    return (1 if value > 0 and value & (value - 1) == 0 else 2, value)


def written_first(domain: Domain, smallest: bool) -> dict[str, numpy.ndarray]:
    """For each numeric field its values, the one to be preferred first."""
    order: dict[str, numpy.ndarray] = {}
    for name in domain.model.numeric:
        values, default = domain.axis(name), domain.model.field(name).default
        if not smallest and len(values) <= _MOST_RANKED:
            values = sorted(values, key=partial(_rank, default))
        order[name] = numpy.array(values)
    return order


def ranks(order: dict[str, numpy.ndarray], batch: Batch, smallest: bool) -> numpy.ndarray:
    """One number for each configuration: the lowest is the one to show."""
    numeric: Any = batch.numeric
    fields = tuple(numeric) if smallest else engine(batch.engine).search.decided_first
    size = len(next(iter(numeric.values())))
    total = numpy.zeros(size, dtype=object if _overflows(order) else numpy.int64)
    if smallest:
        total += sum(numeric[name] for name in numeric)
    for name in fields:
        values = order[name]
        sorter = numpy.argsort(values, kind="stable")
        position = sorter[numpy.searchsorted(values, numeric[name], sorter=sorter)]
        total = total * len(values) + position
    return total


def _overflows(order: dict[str, numpy.ndarray]) -> bool:
    total = sum(int(v.max()) for v in order.values())
    for values in order.values():
        total *= len(values)
    return total >= 1 << 62
