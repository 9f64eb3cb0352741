"""Producers with a rule of a user's own, of which no period is known: they are looked at around the grids.

Source of the lengths: a rule that speaks of its grid, of a page or of a verify can change there and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from generators.cases.codes import Code
from generators.cases.file_format import Event
from generators.search.configurations import WrongCheckpoint
from generators.search.user_design.load import own_rules
from generators.sglang import codes
from generators.sglang.search import producers
from generators.sglang.search.producers import GridProducer, wrong_depths
from spec.numbers import Number, Truth, both, negation
from spec.sglang.checkpoints import (
    Checkpoint,
    decode_checkpoint,
    extend_checkpoint,
    flushed_checkpoint,
    misplaced,
    node_of,
    verify_checkpoint,
)
from spec.sglang.releases import Design
from spec.sglang.rules import grids

Lengths = dict[str, Number]


def _steps(design: Design, c: Any) -> Iterator[Lengths]:
    """Steps around the boundaries of the decode grid and of the tree page."""
    grid, page = design.grid("decode", c), grids.tree_page(c)
    whole = (page + grid - 1) // grid * grid
    for boundary in (grid, 2 * grid, page, whole, whole + grid):
        for beside in (-1, 0, 1):
            yield {"seq_len": boundary + beside}


def _verifies(design: Design, c: Any) -> Iterator[Lengths]:
    """Verifies that pass, reach or just miss a boundary of the verify grid."""
    grid, page = design.grid("verify", c), grids.tree_page(c)
    whole, most = (page + grid - 1) // grid * grid, c.speculative_num_draft_tokens
    one = page // page
    for boundary in (grid, 2 * grid, whole, whole + grid):
        for accepted in (one, 2 * one, most):
            for before in (one, accepted, accepted + one):
                yield {"pre": boundary - before, "accepted": accepted}


@dataclass(frozen=True)
class _Kind:
    """What a producer looks like at any lengths: its checkpoint, lengths worth a look, what else it can go wrong by."""

    checkpoint: Callable[..., Checkpoint]
    least: Mapping[str, int]
    candidates: Callable[[Design, Any], Iterator[Lengths]]
    of_the_state: Code


_KINDS = {
    "decode": _Kind(decode_checkpoint, {"seq_len": 1}, _steps, codes.DECODE_STATE),
    "verify": _Kind(verify_checkpoint, {"pre": 1, "accepted": 1}, _verifies, codes.VERIFY_STEP),
    "flush": _Kind(flushed_checkpoint, {"seq_len": 1}, _steps, codes.FLUSH),
}


@dataclass(frozen=True)
class OwnClass:
    """One way a producer with a rule of the user's own can go wrong."""

    producer: GridProducer
    code: Code

    @property
    def name(self) -> str:
        """The class in a case's name."""
        return self.producer.name if self.code is self.producer.code else self.code.name

    @property
    def least(self) -> Mapping[str, int]:
        """The lengths (tokens) that it depends on, each with its least value."""
        return _KINDS[self.producer.name].least

    def matches(self, design: Design, c: Any, **lengths: Number) -> Truth:
        """Whether the checkpoint at these lengths (tokens) is wrong in this way."""
        checkpoint = _KINDS[self.producer.name].checkpoint(design, c, **lengths)
        wrong = both(self._possible(c, lengths), misplaced(design, c, checkpoint))
        if self.producer.code is _KINDS[self.producer.name].of_the_state:
            return wrong
        right_state = checkpoint.state == checkpoint.recorded
        of_the_grid = self.code is self.producer.code
        return both(wrong, right_state if of_the_grid else negation(right_state))

    def _possible(self, c: Any, lengths: Mapping[str, Number]) -> Truth:
        possible = [self.producer.applies(c), *(lengths[n] >= low for n, low in self.least.items())]
        if "accepted" in lengths:
            possible.append(lengths["accepted"] <= c.speculative_num_draft_tokens)
        return both(*possible)

    def shortest(self, design: Design, c: Any, size: int) -> tuple[numpy.ndarray, list[Lengths]]:
        """For each of `size` configurations which of the candidates (-1: none) is the shortest to go wrong; these."""
        best, ends = numpy.full(size, -1), numpy.zeros(size, dtype=object)
        candidates = list(_KINDS[self.producer.name].candidates(design, c))
        for index, lengths in enumerate(candidates):
            hit = numpy.broadcast_to(self.matches(design, c, **lengths), (size,)).astype(bool)
            end = numpy.broadcast_to(sum(lengths.values()), (size,))
            better = hit & ((best < 0) | (end < ends))
            best[better], ends[better] = index, end[better]
        return best, candidates

    def find(self, design: Design, c: Any, lengths: Mapping[str, int]) -> WrongCheckpoint:
        """The trace and depths of the checkpoint at these lengths."""
        checkpoint = _KINDS[self.producer.name].checkpoint(design, c, **lengths)
        node, state = int(node_of(design, c, checkpoint)), int(checkpoint.state)
        end = sum(lengths.values())
        before = lengths.get("pre", 1)
        prompt = extend_checkpoint(design, c, 0, before)
        event = "verify" if "pre" in lengths else "decode"
        trace = (
            Event("extend", before, before, int(prompt.state) if prompt.saved else None),
            Event(event, end - before, end, snapshot_depth=state),
            Event("finish", 0, end, node_depth=node),
        )
        return WrongCheckpoint("misplaced", trace, wrong_depths(checkpoint, node))


def own_classes(design: Design) -> list[OwnClass]:
    """Every way in which a producer that a rule of the user's own decides can go wrong."""
    own = set(own_rules(design))
    return [
        OwnClass(producer, code)
        for producer in producers.GRID_PRODUCERS
        if not own.isdisjoint(producer.rests_on)
        for code in dict.fromkeys((producer.code, _KINDS[producer.name].of_the_state))
    ]


def with_a_period(design: Design) -> list[GridProducer]:
    """The producers that the design's grids decide: those of whose other rules none is a user's own."""
    own = set(own_rules(design))
    return [producer for producer in producers.GRID_PRODUCERS if own.isdisjoint(producer.rests_on)]
