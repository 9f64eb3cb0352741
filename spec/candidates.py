"""Concrete values for a theorem's parameters: where its hypotheses hold, where it fails, found on arrays.

The same statement that is proved on terms is evaluated on arrays of candidate values: configurations a
person would write first, then all small ones, then a sample of small ones, made smaller still.  Arrays of different
parameters lie along different axes, so that what depends on few parameters is computed for few values.  What is
found is run once more on plain integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy

from spec.theorem import Theorem

Values = dict[str, int]
Axes = dict[str, Sequence[int]]
Columns = dict[str, numpy.ndarray]

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
_SAMPLED = 40_000  # values in one sample
_SAMPLES = 40  # at most
_MOST_SAMPLED = 12  # the largest value in a sample


def _thinned(values: list[int], count: int) -> list[int]:
    """Fewer values, the first few of them kept."""
    step = max(1, -(-len(values) // count))
    return sorted({*values[:3], *values[::step]})


def _sample(parameters: Mapping[str, int], seed: int) -> Columns:
    """Small values, the same for a seed every time; half of them are those of an earlier parameter or next to them."""
    draw, columns = numpy.random.RandomState(seed), Columns()
    for name, least in parameters.items():
        column = draw.randint(least, _MOST_SAMPLED + 1, _SAMPLED)
        if columns:
            earlier = numpy.array(list(columns.values()))
            near = earlier[draw.randint(0, len(earlier), _SAMPLED), numpy.arange(_SAMPLED)]
            near = numpy.maximum(near + draw.randint(-1, 2, _SAMPLED), least)
            column = numpy.where(draw.randint(0, 2, _SAMPLED) == 0, near, column)
        columns[name] = column
    return columns


def _sample_below(parameters: Mapping[str, int], values: Values) -> Columns:
    """Some of the values, the same every time, with about half of them replaced by lower ones in each row."""
    draw, columns = numpy.random.RandomState(0), Columns()
    for name, least in parameters.items():
        lower = draw.randint(least, max(values[name], least) + 1, _SAMPLED)
        columns[name] = numpy.where(draw.randint(0, 2, _SAMPLED) == 0, lower, values[name])
    return columns


def _points(axes: Axes) -> int:
    return math.prod(len(axis) for axis in axes.values())


class Batch:
    """The truth of a statement at candidate values: at every combination of `axes`, or row by row of `columns`."""

    def __init__(
        self, theorem: Theorem, design: Any, values: Mapping[str, Any], shape: tuple[int, ...]
    ):
        statement = theorem.at(values, design)
        self._values, self._shape = values, shape
        self._held = {n: numpy.asarray(t, dtype=bool) for n, t in statement.hypotheses.items()}
        self._concluded = numpy.asarray(statement.conclusion, dtype=bool)

    @classmethod
    def product(cls, theorem: Theorem, design: Any, axes: Axes) -> Batch:
        """All combinations, each parameter along an axis of its own; one with a single value stays a plain number."""
        long = [name for name, axis in axes.items() if len(axis) > 1]
        mesh = numpy.ix_(*(numpy.asarray(axes[name]) for name in long))
        single = {name: axis[0] for name, axis in axes.items() if len(axis) == 1}
        values = {**single, **dict(zip(long, mesh, strict=True))}
        return cls(theorem, design, {n: values[n] for n in axes}, tuple(len(axes[n]) for n in long))

    @classmethod
    def rows(cls, theorem: Theorem, design: Any, columns: Columns) -> Batch:
        """One combination a row."""
        return cls(theorem, design, columns, (len(next(iter(columns.values()))),))

    def _mask(self, fails: bool, without: str | None) -> numpy.ndarray:
        mask = ~self._concluded if fails else numpy.True_
        for name, held in self._held.items():
            if name != without:
                mask = mask & held
        return numpy.broadcast_to(mask, self._shape)

    def first(self, fails: bool, without: str | None = None) -> Values | None:
        """The first values at which the hypotheses hold, but for `without`, and the conclusion fails if it is to."""
        mask = self._mask(fails, without)
        return self._at(int(numpy.argmax(mask))) if mask.any() else None

    def smallest(self, fails: bool, without: str | None = None) -> Values | None:
        """The same with the smallest sum; of several with the smallest last value."""
        places = numpy.flatnonzero(self._mask(fails, without))
        if not len(places):
            return None
        found = numpy.unravel_index(places, self._shape)
        columns = [numpy.broadcast_to(v, self._shape)[found] for v in self._values.values()]
        order = numpy.lexsort((*columns, numpy.sum(columns, axis=0)))
        return self._at(int(places[order[0]]))

    def _at(self, place: int) -> Values:
        return {
            name: int(numpy.broadcast_to(value, self._shape).flat[place])
            for name, value in self._values.items()
        }


class Candidates:
    """Values at which a theorem is looked at under one design; each batch of them is evaluated once."""

    def __init__(self, theorem: Theorem, parameters: Mapping[str, int], design: Any = None):
        self.theorem, self.parameters, self.design = theorem, parameters, design
        self._fields = [p for p in parameters if p in theorem.setting.fields]
        self._lengths = [p for p in parameters if p in theorem.lengths]
        self._most = _MOST_POINTS if len(self._lengths) <= 3 else _FEWER_POINTS
        self._waiting = self._realistic()
        self._evaluated: list[Batch] = []
        self._small_batch: Batch | None = None

    def witness(self) -> Values | None:
        """Values at which all hypotheses hold together, or None where no candidate has them."""
        values = self._found(fails=False)
        if values and all(self.theorem.at(values, self.design).hypotheses.values()):
            return values
        return None

    def counterexample(self, without: str | None = None) -> Values | None:
        """Values at which the theorem fails, its hypothesis `without` left out; confirmed on plain integers."""
        found = self._found(True, without) or self._sampled(without)
        if found and fails_at(self.theorem, found, self.design, without):
            return found
        return None

    def _found(self, fails: bool, without: str | None = None) -> Values | None:
        """The most readable values in the batches."""
        for batch in self._batches():
            if (found := batch.first(fails, without)) is not None:
                return found
        return self._small().smallest(fails, without)

    def _batches(self) -> Iterator[Batch]:
        """The batches of realistic configurations: those evaluated already, then the next ones."""
        yield from self._evaluated
        for axes in self._waiting:
            batch = Batch.product(self.theorem, self.design, axes)
            self._evaluated.append(batch)
            yield batch

    def _realistic(self) -> Iterator[Axes]:
        """Configurations a person would write, the most readable first, each with many lengths."""
        room = int(self._most ** (1 / max(1, len(self._lengths))))
        axis = list(_LENGTHS) if room >= len(_LENGTHS) else _thinned(_LENGTHS, room)
        lengths = {n: [v for v in axis if v >= self.parameters[n]] for n in self._lengths}
        # With many lengths there are few values of each, so that more configurations add little.
        seen = set()
        for configuration in self.theorem.setting.realistic[: 2 if len(lengths) > 4 else None]:
            key = tuple(configuration[f] for f in self._fields)
            if key not in seen:
                seen.add(key)
                yield {**{f: [configuration[f]] for f in self._fields}, **lengths}

    def _small(self) -> Batch:
        """All small values together, as many as there is room for."""
        if self._small_batch is None:
            least = self.parameters
            axes: Axes = {f: [v for v in _SMALL_FIELD if v >= least[f]] for f in self._fields}
            axes |= {n: [v for v in _SMALL_LENGTH if v >= least[n]] for n in self._lengths}
            while _points(axes) > 2 * self._most:
                longest = max(axes, key=lambda p: len(axes[p]))
                axes[longest] = axes[longest][:-1]
            self._small_batch = Batch.product(self.theorem, self.design, axes)
        return self._small_batch

    def _sampled(self, without: str | None) -> Values | None:
        """A failure in samples of small values, made smaller while the theorem still fails."""
        for seed in range(_SAMPLES):
            batch = Batch.rows(self.theorem, self.design, _sample(self.parameters, seed))
            if (found := batch.smallest(True, without)) is not None:
                return self.lowered(found, without)
        return None

    def lowered(self, values: Values, without: str | None = None) -> Values:
        """Lower values at which the theorem fails as well: several changed at once by sampling, then each by itself."""
        while True:
            below = _sample_below(self.parameters, values)
            lower = Batch.rows(self.theorem, self.design, below).smallest(True, without)
            if lower is None or sum(lower.values()) >= sum(values.values()):
                return self._each_lowered(values, without)
            values = lower

    def _each_lowered(self, values: Values, without: str | None) -> Values:
        """Each value as low as it can be for the theorem still to fail, the others unchanged."""
        before = None
        while values != before:
            before = values
            for name, least in self.parameters.items():
                axes: Axes = {n: [v] for n, v in values.items()}
                axes[name] = range(least, values[name] + 1)
                batch = Batch.product(self.theorem, self.design, axes)
                values = batch.first(True, without) or values
        return values


def witness(theorem: Theorem, parameters: Mapping[str, int], design: Any = None) -> Values | None:
    """Values at which all hypotheses hold together, or None where no candidate has them."""
    return Candidates(theorem, parameters, design).witness()


def counterexample(
    theorem: Theorem,
    parameters: Mapping[str, int],
    design: Any = None,
    without: str | None = None,
) -> Values | None:
    """Values at which the theorem fails, its hypothesis `without` left out; confirmed on plain integers."""
    return Candidates(theorem, parameters, design).counterexample(without)


def fails_at(
    theorem: Theorem, values: Mapping[str, int], design: Any = None, without: str | None = None
) -> bool:
    """Whether, on plain integers, the hypotheses hold (but for `without`) and the conclusion does not."""
    statement = theorem.at(values, design)
    held = all(t for name, t in statement.hypotheses.items() if name != without)
    return bool(held) and not statement.conclusion
