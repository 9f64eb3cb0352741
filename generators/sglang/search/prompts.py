"""Which prompts are tried: where a request resumes, where its prompt is cut and ends, where it is asked to keep a state.

What an extend leaves, and where it ends, is all that the rest of a request's life sees of its prompt.  So the rules are
run on every prompt of the first periods, and of those that leave and end alike one is tried, the shortest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy

from spec.sglang.checkpoints import Checkpoint, branching_checkpoint, extend_checkpoint, node_of
from spec.sglang.releases import Design, current
from spec.sglang.rules import grids, lookup

Depths = numpy.ndarray

_EVERY_LENGTH = 300  # tokens up to which prompts of every length are run; beyond, those at and beside the grids' multiples
_LONGEST = 200_000  # tokens of a prompt
_MOST, _AT_ONCE = 3_000_000, 300_000  # prompts that are run from one kind of start, and together
_WAYS = 1 << 8  # of what an extend can leave
_NO_DEPTH = -1


@dataclass(frozen=True)
class Ends:
    """What is distinguished of where a prompt ends (tokens): each of `places`, else behind which multiple of `track`.

    From `first` on lengths count from whole periods of `period`; of the multiples `most` are distinguished.  Where a prompt that
    leaves something wrong ends counts only if what is launched next, over at most `ahead` tokens, can overwrite that.
    """

    track: int
    first: int
    period: int
    most: int
    ahead: int
    places: Depths

    def kinds(self, ends: Depths, right: Depths) -> Depths:
        """A number for each end, the same where no event to come can tell the ends apart."""
        base = numpy.maximum(0, (ends - self.first) // self.period * self.period)
        known = ends - base
        behind = -1 - numpy.minimum(known // self.track, self.most)
        apart = numpy.where(numpy.isin(known, self.places), known, behind)
        overwrites = ends % self.track + self.ahead >= self.track
        return numpy.where(numpy.logical_or(right, overwrites), apart, -2 - self.most)


class Prompts:
    """The prompts to try in one configuration.

    `resumed`: depths (tokens) that a request may resume from, the `starts` those worth trying; `cuts`: whether prompts may
    be cut, and then also at the depths `before`; `is_whole`: whether no prompt was left out because there are too many.
    """

    def __init__(
        self,
        design: Design,
        c: Any,
        ends: Ends,
        resumed: Collection[int] = (),
        cuts: bool = False,
        before: Collection[int] = (),
    ):
        self.design, self.c, self._ends = design, c, ends
        self._page, self._grid = int(grids.tree_page(c)), int(design.grid("extend", c))
        self._stride = int(current(design.extend_row_stride)(c))
        self._chunk, self._rows = int(grids.cache_chunk_size(c)), int(c.mamba_chunk_size)
        self._is_nested = self._stride == self._rows and not (
            self._grid % self._page or self._grid % self._chunk or self._chunk % self._rows
        )
        period = math.lcm(self._page, self._grid, self._chunk, self._stride, self._rows)
        last = ends.first + self._grid + 2 * period
        self.is_whole = last <= _LONGEST
        self._period, last = min(period, _LONGEST), min(last, _LONGEST)
        beside = numpy.concatenate([ends.places + d for d in (-1, 0, 1)])
        lengths = numpy.union1d(self._beside(self._seen_of_a_start(), last), beside)
        self._lengths = lengths[lengths > 0]
        self._further = self._beside({self._grid, self._stride}, min(self._grid + period, last))
        is_asked = bool(resumed) or cuts
        self._points, self._hits = self._asked(last if is_asked else 0)
        self._tried: defaultdict[tuple[int, bool], dict[tuple[int, int], None]] = defaultdict(dict)
        self._known = numpy.empty(0, dtype=numpy.int64)
        self._try(numpy.array([0]), is_cut=False)
        alone = self._known
        self._try(_sorted(resumed), is_cut=False)
        if cuts:
            resuming, self._known = self._known, alone
            cut = self._beside(self._seen_of_a_start(), min(ends.first + period, last))
            cut = numpy.union1d(cut, _sorted(before))
            cut = numpy.union1d(cut, self._starts_of(ends.places))
            came_from = self._reached(numpy.array([0]), cut)
            self._try(_sorted(came_from), True, came_from)
            self._known = numpy.union1d(self._known, resuming)
            further = {
                end: came
                for end, came in self._reached(_sorted(resumed), cut).items()
                if end not in came_from
            }
            self._try(_sorted(further), True, came_from | further)
        self.starts = sorted(start for start, is_cut in self._tried if start and not is_cut)

    @property
    def most(self) -> int:
        """How many multiples are distinguished behind which a prompt may end."""
        return self._ends.most

    @property
    def ways(self) -> set[tuple[int, int]]:
        """All that prompts leave, and where they end, each as a number (`Ends.kinds`)."""
        return {divmod(way, _WAYS)[::-1] for way in self._known.tolist()}

    def after(self, length: int, is_cut: bool) -> list[tuple[int, int | None]]:
        """The ends to try of a prompt that goes on at a length, each with the depth at which it is asked to keep a state.

        `is_cut`: whether a chunk of it went before.
        """
        tried = self._tried.get((length, is_cut), {})
        return [(end, None if depth == _NO_DEPTH else depth) for end, depth in sorted(tried)]

    def _seen_of_a_start(self) -> set[int]:
        """The grids whose multiples are what the rules of an extend see of where it starts, on grids that are not nested
        those of their common unit.
        """
        seen = {self._page, self._grid, self._chunk, self._stride, self._rows}
        return seen if self._is_nested else {math.gcd(*(n for n in seen if n > 1))}

    def _starts_of(self, places: Depths) -> Depths:
        """The depths from which an extend to each of some places passes none, or just some, whole grids."""
        if self._is_nested and self._grid > 2 * self._ends.ahead + 4:
            return places[:0]
        whole = numpy.array([1, *range(self._grid, self._period + 1, self._grid)])
        starts: Depths = numpy.unique(places[:, None] - whole)
        return starts[starts > 0]

    def _beside(self, of: set[int], last: int) -> Depths:
        """The lengths to run: all up to the last one, or where these are many the multiples and those beside them."""
        if last <= _EVERY_LENGTH or of == {1}:
            return numpy.arange(1, last + 1)
        multiples = [numpy.arange(n, last + 1, n) for n in of if n > 1]
        around = [m + d for m in multiples for d in (-1, 0, 1)]
        lengths: Depths = reduce(numpy.union1d, around, numpy.array([1]))
        return lengths[lengths > 0]

    def _asked(self, last: int) -> tuple[Depths, Depths]:
        """The depths to keep a state at, and for each the fewest tokens that the tree must know for it."""
        hits = numpy.arange(self._page, last + 1, self._page)
        if not len(hits):
            return hits, hits
        point = current(self.design.branching_point)
        points, first = numpy.unique(
            numpy.broadcast_to(point(self._grid, hits), hits.shape), return_index=True
        )
        most = _MOST // (len(self._lengths) + len(self._further))
        self.is_whole &= len(points) <= most
        return points[:most], hits[first][:most]

    def _left(self, checkpoint: Checkpoint, starts: Depths, ends: Depths) -> Depths:
        """A number for what each extend leaves: whatever a donation or a code can see of it."""
        node = node_of(self.design, self.c, checkpoint)
        state, depth = checkpoint.state, checkpoint.recorded
        seen = (
            True,
            node > 0,
            node == state,
            state == depth,
            depth % self._page == 0,
            numpy.logical_and(depth % self._page != 0, starts % self._page == 0),
            depth > ends,
        )
        left = sum(numpy.asarray(fact).astype(numpy.int64) << n for n, fact in enumerate(seen))
        left = numpy.where(checkpoint.saved, left, 0)
        left = numpy.where(checkpoint.fault, _WAYS - 1, left)
        return numpy.broadcast_to(left, ends.shape)

    @staticmethod
    def _is_right(left: Depths) -> Depths:
        return numpy.logical_and(left & 7 != 3, left != _WAYS - 1)

    def _runs(
        self, starts: Depths, ends: Depths, is_cut: bool
    ) -> Iterator[tuple[int, Depths, Depths]]:
        """What is left, and which of it can be, for starts along the first axis: asked nothing, then asked for each depth."""
        checkpoint = extend_checkpoint(self.design, self.c, starts, ends)
        yield _NO_DEPTH, self._left(checkpoint, starts, ends), ends > starts
        if is_cut:
            return
        for point, hit in zip(self._points.tolist(), self._hits.tolist(), strict=True):
            possible = numpy.logical_and(
                lookup.is_branching_point(point, starts), ends > max(hit, point)
            )
            if possible.any():
                checkpoint = branching_checkpoint(self.design, self.c, starts, ends, point)
                yield point, self._left(checkpoint, starts, ends), possible

    def _try(
        self, starts: Depths, is_cut: bool, came_from: dict[int, tuple[int, bool]] | None = None
    ) -> None:
        """Choose of the prompts that go on at these depths the first ones that leave and end as none before."""
        width = len(self._lengths) + len(self._further)
        runs = width * (1 if is_cut else 1 + len(self._points))
        if len(starts) * runs > _MOST:
            starts, self.is_whole = starts[: max(1, _MOST // runs)], False
        rows = max(1, _AT_ONCE // width)
        for at in range(0, len(starts), rows):
            some = starts[at : at + rows, None]
            lengths = numpy.broadcast_to(self._lengths, (len(some), len(self._lengths)))
            ends = numpy.sort(numpy.concatenate([lengths, some + self._further], axis=1), axis=1)
            for asked, left, possible in self._runs(some, ends, is_cut):
                index = numpy.flatnonzero(possible)
                kinds = self._ends.kinds(ends, self._is_right(left))
                ways, first = numpy.unique((kinds * _WAYS + left).flat[index], return_index=True)
                new = ~numpy.isin(ways, self._known)
                self._known = numpy.concatenate([self._known, ways[new]])
                for where in index[first[new]].tolist():
                    start, end = int(some[where // ends.shape[1], 0]), int(ends.flat[where])
                    self._tried[start, is_cut][end, asked] = None
                    self._lead_to(start, came_from or {})

    def _lead_to(self, start: int, came_from: dict[int, tuple[int, bool]]) -> None:
        """Try the chunks as well that a start is reached by."""
        while start in came_from:
            end = start
            start, is_cut = came_from[end]
            at = numpy.array([[start]]), numpy.array([[end]])
            asked = next(
                t for t, left, can in self._runs(*at, is_cut) if (can & self._is_right(left)).any()
            )
            self._tried[start, is_cut][end, asked] = None
            if not is_cut:
                return

    def _reached(self, starts: Depths, cuts: Depths) -> dict[int, tuple[int, bool]]:
        """The depths that chunks lead to which leave nothing wrong, by fewest chunks, each with where the last one starts."""
        came_from: dict[int, tuple[int, bool]] = {}
        is_cut = False
        while len(starts) and len(cuts):
            if len(starts) * len(cuts) > _MOST:
                starts, self.is_whole = starts[: _MOST // len(cuts)], False
            some, ends = starts[:, None], numpy.broadcast_to(cuts, (len(starts), len(cuts)))
            right = numpy.zeros(ends.shape, dtype=bool)
            for _, left, possible in self._runs(some, ends, is_cut):
                right |= possible & self._is_right(left)
            reached = right.any(axis=0)
            by = starts[right.argmax(axis=0)]
            came_from |= {
                end: (start, is_cut)
                for end, start in zip(cuts[reached].tolist(), by[reached].tolist(), strict=True)
            }
            starts, cuts, is_cut = cuts[reached], cuts[~reached], True
        return came_from


def _sorted(depths: Collection[int]) -> Depths:
    return numpy.array(sorted(depths), dtype=numpy.int64)
