"""Which configuration of a class a person would write: the engine's default, else a power of two, else the smallest."""

from __future__ import annotations

from typing import Any

import numpy

from generators.cases.domain import DEFAULTS, Domain
from spec.sglang.configuration import NUMERIC_FIELDS

# The field decided first stands first: an interval is left at its default before a page is.
ORDER = (
    "mamba_chunk_size",
    "mamba_track_interval",
    "page_size",
    "dcp_size",
    "speculative_num_draft_tokens",
)

_MOST_RANKED = 1_000_000  # values of a field; of more the smallest is shown


def _rank(name: str, value: int) -> tuple[int, int]:
    if value == getattr(DEFAULTS, name):
        return (0, value)
    return (1 if value > 0 and value & (value - 1) == 0 else 2, value)


def written_first(domain: Domain, smallest: bool) -> dict[str, numpy.ndarray]:
    """For each numeric field its values, the one to be preferred first."""
    order: dict[str, numpy.ndarray] = {}
    for name in NUMERIC_FIELDS:
        values = domain.axis(name)
        if not smallest and len(values) <= _MOST_RANKED:
            values = sorted(values, key=lambda v: _rank(name, v))
        order[name] = numpy.array(values)
    return order


def ranks(order: dict[str, numpy.ndarray], numeric: Any, smallest: bool) -> numpy.ndarray:
    """One number for each configuration: the lowest is the one to show."""
    fields = NUMERIC_FIELDS if smallest else ORDER
    size = len(next(iter(numeric.values())))
    total = numpy.zeros(size, dtype=object if _overflows(order) else numpy.int64)
    if smallest:
        total += sum(numeric[name] for name in NUMERIC_FIELDS)
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
