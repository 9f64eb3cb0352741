"""Concrete values for a theorem's parameters: where its hypotheses hold, where it fails, found on arrays.

The same statement that is proved on terms is evaluated on arrays of candidate values: configurations a
person would write first, then all small ones.  What is found is run once more on plain integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from spec.theorem import Statement, Theorem

Values = dict[str, int]

_SMALL_FIELD = range(1, 7)
_SMALL_LENGTH = range(0, 26)
_LENGTHS = sorted(
    {*range(0, 18)}
    | {k * 64 + d for k in range(0, 33) for d in (0, 1, 30)}
    | {k * 8 for k in range(0, 33)}
    | {605, 767, 768, 1023}
)
_MOST_POINTS = (
    150_000  # in a batch of up to three lengths; with more there are few values of each anyway
)
_FEWER_POINTS = 20_000


def _product(axes: Mapping[str, Any]) -> dict[str, numpy.ndarray]:
    grids = numpy.meshgrid(*(numpy.asarray(list(a)) for a in axes.values()), indexing="ij")
    return dict(zip(axes, (g.ravel() for g in grids), strict=True))


def _thinned(values: list[int], count: int) -> list[int]:
    """Fewer values, the first few of them kept."""
    step = max(1, -(-len(values) // count))
    return sorted({*values[:3], *values[::step]})


def batches(theorem: Theorem, parameters: Mapping[str, int]) -> Iterator[dict[str, numpy.ndarray]]:
    """Batches of candidate values, the most readable first; every parameter at least its least value."""
    fields = [p for p in parameters if p in theorem.setting.fields]
    lengths = [p for p in parameters if p in theorem.lengths]
    most = _MOST_POINTS if len(lengths) <= 3 else _FEWER_POINTS
    room = int(most ** (1 / max(1, len(lengths))))
    axis = list(_LENGTHS) if room >= len(_LENGTHS) else _thinned(_LENGTHS, room)
    seen = set()
    # With many lengths there are few values of each, so that more configurations add little.
    realistic = theorem.setting.realistic[: 2 if len(lengths) > 4 else None]
    for configuration in realistic:
        key = tuple(configuration[f] for f in fields)
        if key in seen:
            continue
        seen.add(key)
        axes: dict[str, Any] = {f: [configuration[f]] for f in fields}
        axes |= {n: [v for v in axis if v >= parameters[n]] for n in lengths}
        yield _product(axes)
    small = {f: [v for v in _SMALL_FIELD if v >= parameters[f]] for f in fields}
    small |= {n: [v for v in _SMALL_LENGTH if v >= parameters[n]] for n in lengths}
    while numpy.prod([len(a) for a in small.values()]) > 2 * most:
        longest = max(small, key=lambda p: len(small[p]))
        small[longest] = small[longest][:-1]
    points = _product(small)
    total = numpy.sum(list(points.values()), axis=0)
    order = numpy.lexsort((*points.values(), total))
    yield {name: column[order] for name, column in points.items()}


def _all(statement: Statement, without: str | None, size: int) -> numpy.ndarray:
    held = numpy.ones(size, dtype=bool)
    for name, truth in statement.hypotheses.items():
        if name != without:
            held &= numpy.broadcast_to(truth, (size,))
    return held


def _first(batch: dict[str, numpy.ndarray], mask: numpy.ndarray) -> Values:
    index = int(numpy.argmax(mask))
    return {name: int(column[index]) for name, column in batch.items()}


def witness(theorem: Theorem, parameters: Mapping[str, int], design: Any = None) -> Values | None:
    """Values at which all hypotheses hold together, or None where no candidate has them."""
    for batch in batches(theorem, parameters):
        size = len(next(iter(batch.values())))
        mask = _all(theorem.at(batch, design), None, size)
        if mask.any():
            values = _first(batch, mask)
            if all(theorem.at(values, design).hypotheses.values()):
                return values
    return None


def fails_at(
    theorem: Theorem, values: Mapping[str, int], design: Any = None, without: str | None = None
) -> bool:
    """Whether, on plain integers, the hypotheses hold (but for `without`) and the conclusion does not."""
    statement = theorem.at(values, design)
    held = all(t for name, t in statement.hypotheses.items() if name != without)
    return bool(held) and not statement.conclusion


def counterexample(
    theorem: Theorem,
    parameters: Mapping[str, int],
    design: Any = None,
    without: str | None = None,
) -> Values | None:
    """Values at which the theorem fails, its hypothesis `without` left out; confirmed on plain integers."""
    for batch in batches(theorem, parameters):
        size = len(next(iter(batch.values())))
        statement = theorem.at(batch, design)
        conclusion = numpy.broadcast_to(statement.conclusion, (size,))
        mask = _all(statement, without, size) & ~conclusion.astype(bool)
        if mask.any():
            values = _first(batch, mask)
            if fails_at(theorem, values, design, without):
                return values
    return None
