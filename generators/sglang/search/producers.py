"""What the grid rules alone decide about one producer: which configurations it breaks, and the trace that shows it.

Decode, verify and flush depend on a *period*: of that many successive checkpoints one is right.
An extend depends on where its prefix stands: on the tree page or off it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from generators.cases.codes import Code
from generators.cases.file_format import Event
from generators.search.configurations import WrongCheckpoint
from generators.sglang import codes
from spec.numbers import Number, Truth, both, choose, divides, gcd, negation
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
from spec.sglang.slot_buffer import is_lazy

# All that an extend of the modelled releases depends on.
GEOMETRY = ("page_size", "dcp_size", "mamba_chunk_size")


def wrong_depths(checkpoint: Checkpoint, node: int) -> dict[str, int | None]:
    """The depths of a checkpoint that is attached to `node`, all in tokens."""
    if checkpoint.fault:
        return {"state": int(checkpoint.recorded), "node": None, "replayed": None}
    state = int(checkpoint.state)
    return {"state": state, "node": int(node), "replayed": state - int(node)}


@dataclass(frozen=True)
class GridProducer:
    """A producer whose checkpoints lie on a grid: the case is decided by its period.

    `rests_on`: the rules of a design, its grid apart, that the period is derived from.
    """

    name: str
    code: Code
    rests_on: tuple[str, ...]
    applies: Callable[[Any], Truth]
    period: Callable[[Design, Any], Number]
    first_wrong: Callable[[Design, Any], Number]
    checkpoint: Callable[[Design, Any, Number], Checkpoint]
    trace: Callable[[Design, Any, int], tuple[Event, ...]]

    def breaks(self, design: Design, c: Any) -> tuple[Truth, Number]:
        """Where the producer stores a checkpoint under the wrong prefix, and the period there."""
        seq_len, period = self.first_wrong(design, c), self.period(design, c)
        wrong = misplaced(design, c, self.checkpoint(design, c, seq_len))
        return both(self.applies(c), wrong, period > 1), period

    def find(self, design: Design, c: Any) -> WrongCheckpoint | None:
        """The first wrong checkpoint of one configuration."""
        wrong, _ = self.breaks(design, c)
        if not wrong:
            return None
        seq_len = int(self.first_wrong(design, c))
        checkpoint = self.checkpoint(design, c, seq_len)
        node = int(node_of(design, c, checkpoint))
        trace = self.trace(design, c, seq_len)
        finish = Event("finish", 0, trace[-1].seq_len, node_depth=node)
        return WrongCheckpoint("misplaced", (*trace, finish), wrong_depths(checkpoint, node))


def first_off_the_tree(page: Number, grid: Number) -> Number:
    """The shallowest multiple of `grid` above one tree page that is no multiple of it, if the next one is none."""
    first = (page // grid + 1) * grid
    return choose(divides(page, first), first + grid, first)


def _decode_trace(design: Design, c: Any, seq_len: int) -> tuple[Event, ...]:
    return (
        Event("extend", 1, 1),
        Event("decode", seq_len - 1, seq_len, snapshot_depth=seq_len),
    )


def _verify_trace(design: Design, c: Any, seq_len: int) -> tuple[Event, ...]:
    """One verify that accepts all its tokens crosses the depth, and ends on it.

    A lazy request that ends with the very verify that saved a state gives it up, so that one more stands behind.
    """
    accepted = min(int(c.speculative_num_draft_tokens), seq_len - 1)
    before = seq_len - accepted
    donated = extend_checkpoint(design, c, 0, before)
    depth = int(donated.recorded) if donated.saved else None
    behind = (Event("verify", 1, seq_len + 1),) if is_lazy(c) else ()
    return (
        Event("extend", before, before, snapshot_depth=depth),
        Event("verify", accepted, seq_len, snapshot_depth=seq_len),
        *behind,
    )


def _flush_period(design: Design, c: Any) -> Number:
    flush = design.grid("flush", c)
    return flush // gcd(design.grid("decode", c), flush)


def _flush_first_wrong(design: Design, c: Any) -> Number:
    """The shallowest decode snapshot that can be attached to a node and is taken at no flush step."""
    flush, grid = design.grid("flush", c), design.grid("decode", c)
    first = (grids.tree_page(c) + grid - 1) // grid * grid
    return choose(divides(flush, first), first + grid, first)


_INSERT = ("insert_guard", "node_depth")
_DECODE = ("decode_snapshots", "decode_state", *_INSERT)
DECODE = GridProducer(
    "decode",
    codes.DECODE_GRID,
    _DECODE,
    lambda c: True,
    lambda design, c: grids.period(c, design.grid("decode", c)),
    lambda design, c: first_off_the_tree(grids.tree_page(c), design.grid("decode", c)),
    decode_checkpoint,
    _decode_trace,
)
VERIFY = GridProducer(
    "verify",
    codes.VERIFY_GRID,
    ("verify_crosses", "verify_point", "verify_saved_step", *_INSERT),
    lambda c: c.speculative_num_draft_tokens > 0,
    lambda design, c: grids.period(c, design.grid("verify", c)),
    lambda design, c: first_off_the_tree(grids.tree_page(c), design.grid("verify", c)),
    lambda design, c, seq_len: verify_checkpoint(design, c, seq_len - 1, 1),
    _verify_trace,
)
FLUSH = GridProducer(
    "flush",
    codes.FLUSH,
    ("flush_state", *_DECODE),
    lambda c: True,
    _flush_period,
    _flush_first_wrong,
    flushed_checkpoint,
    _decode_trace,
)


GRID_PRODUCERS = (DECODE, VERIFY, FLUSH)


@dataclass(frozen=True)
class ExtendClass:
    """One way an extend can go wrong: by which code, from what kind of prefix, under which depth rule."""

    code: Code
    prefix_on_page: bool
    rule: str

    def matches(self, design: Design, c: Any, prefix: Number, end: Number) -> Truth:
        """Whether the extend from `prefix` to `end` (tokens) goes wrong in this way."""
        return self.describes(design, c, prefix, extend_checkpoint(design, c, prefix, end))

    def describes(self, design: Design, c: Any, prefix: Number, checkpoint: Checkpoint) -> Truth:
        """Whether a checkpoint that an extend from `prefix` (tokens) takes is wrong in this way."""
        on_page = divides(grids.tree_page(c), prefix)
        wrong = misplaced(design, c, checkpoint)
        right_row = checkpoint.state == checkpoint.recorded
        if self.code is codes.EXTEND_ASSERTION:
            fails = checkpoint.fault
        elif self.code is codes.EXTEND_ROW:
            fails = both(wrong, negation(right_row))
        else:
            fails = both(wrong, right_row)
        return both(
            self.rule_applies(design, c),
            on_page if self.prefix_on_page else negation(on_page),
            fails,
        )

    def rule_applies(self, design: Design, c: Any) -> Truth:
        """Whether the configuration uses the depth rule of this class."""
        if design.extend_rule is design.extend_rule_under_dcp:
            return True
        under_dcp = self.rule == design.extend_rule_under_dcp.name
        return c.dcp_size > 1 if under_dcp else c.dcp_size == 1

    def document(self, design: Design, c: Any) -> dict[str, Any]:
        """The class as JSON; `period` where the grid itself is wrong."""
        document = {"rule": self.rule, "prefix_on_page": self.prefix_on_page}
        if self.code is codes.EXTEND_GRID:
            document["period"] = int(grids.period(c, design.grid("extend", c)))
        return document


def extend_classes(design: Design) -> list[ExtendClass]:
    """Every way an extend of this design can go wrong."""
    rules = {design.extend_rule.name, design.extend_rule_under_dcp.name}
    return [
        ExtendClass(code, on_page, rule)
        for rule in sorted(rules)
        for on_page in (True, False)
        for code in (
            codes.EXTEND_GRID if on_page else codes.EXTEND_PREFIX,
            codes.EXTEND_ROW,
            codes.EXTEND_ASSERTION,
        )
    ]


def extend_candidates(design: Design, c: Any) -> list[tuple[Number, Number]]:
    """Prefixes and ends (tokens) at which an extend can first go wrong, the shortest of each kind among them."""
    page, chunk, state = grids.tree_page(c), grids.cache_chunk_size(c), c.mamba_chunk_size
    grid = design.grid("extend", c)
    one = page // page  # an array where the page is one
    prefixes = [one - one, one, c.page_size, state, chunk, page, page + one, page + state]
    above = page // grid * grid
    lengths = [grid, grid + one, grid + state, grid + chunk, above + grid, above + grid + grid]
    lengths += [above + grid + one, page + one, page + chunk + one, (grid + one) // 2]
    return [(prefix, prefix + length) for prefix in prefixes for length in lengths]


# Pairs of prefix and end looked at in one go, and the longest extend (tokens) that is made shorter.
_PAIRS = 300_000
_LONGEST_SHRUNK = 4_096


def shrink_extend(
    design: Design, c: Any, failure_class: ExtendClass, prefix: int, end: int
) -> tuple[int, int]:
    """The shortest extend (prefix and end, tokens) that goes wrong in the same way: events first, then tokens."""
    if end > _LONGEST_SHRUNK:
        return prefix, end
    first = _first_failure(
        design, c, failure_class, numpy.zeros(end, dtype=int), numpy.arange(1, end + 1)
    )
    if first is not None:
        return first
    low = 1
    while low <= end:
        high = min(end, low + max(0, _PAIRS // end - 1))
        ends = numpy.repeat(numpy.arange(low, high + 1), numpy.arange(low, high + 1))
        prefixes = numpy.concatenate([numpy.arange(e) for e in range(low, high + 1)])
        if (first := _first_failure(design, c, failure_class, prefixes, ends)) is not None:
            return first
        low = high + 1
    return prefix, end


def _first_failure(
    design: Design, c: Any, failure_class: ExtendClass, prefixes: numpy.ndarray, ends: numpy.ndarray
) -> tuple[int, int] | None:
    hit = numpy.broadcast_to(failure_class.matches(design, c, prefixes, ends), ends.shape).astype(
        bool
    )
    where = int(numpy.argmax(hit))
    return (int(prefixes[where]), int(ends[where])) if hit[where] else None


def find_extend(
    design: Design, c: Any, failure_class: ExtendClass, prefix: int, end: int
) -> WrongCheckpoint:
    """The trace and depths of an extend that goes wrong in the way of `failure_class`."""
    checkpoint = extend_checkpoint(design, c, prefix, end)
    node = int(node_of(design, c, checkpoint)) if checkpoint.saved else 0
    events = []
    if prefix:
        before = extend_checkpoint(design, c, 0, prefix)
        depth = int(before.recorded) if before.saved else None
        events.append(Event("extend", prefix, prefix, snapshot_depth=depth))
    if checkpoint.fault:
        events.append(Event("extend", end - prefix, end))
        return WrongCheckpoint("fault", tuple(events), wrong_depths(checkpoint, 0))
    events.append(Event("extend", end - prefix, end, snapshot_depth=int(checkpoint.state)))
    events.append(Event("finish", 0, end, node_depth=node))
    return WrongCheckpoint("misplaced", tuple(events), wrong_depths(checkpoint, node))
