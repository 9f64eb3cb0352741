"""Searches the orders of events in one request's life for checkpoints that end wrong, the shortest first.

States of the request that differ by a whole period of all grids, and in nothing else, are one: where no new state
is left, every longer trace has been searched as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from generators.causes import code_of, is_wrong
from generators.codes import Code
from generators.moves import Move, Moves
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.designs import Design
from spec.sglang.request import PROMPT, VERIFY, Pass, Request, Scheduler


@dataclass(frozen=True)
class Trace:
    """Events that end with a wrong checkpoint, its code, and the special events it takes."""

    moves: tuple[Move, ...]
    code: Code
    causes: frozenset[str]
    checkpoint: Checkpoint
    tokens: int


@dataclass(frozen=True)
class Found:
    """The traces of one configuration; `events` searched through, `closed`: whether no longer one can add any."""

    traces: tuple[Trace, ...]
    events: int
    closed: bool


@dataclass(frozen=True)
class _Node:
    request: Request
    moves: tuple[Move, ...] = ()
    causes: frozenset[str] = frozenset()


class TraceSearch:
    """Breadth-first over the events of one request under a design and a configuration."""

    def __init__(self, design: Design, c: Any, only_slots: bool = False, mixes: bool = False):
        self.design, self.c = design, c
        self.scheduler = Scheduler(design, c)
        self.moves = Moves(self.scheduler, only_slots, mixes)

    def run(
        self, most_events: int, wanted: Collection[Code] = (), most_traces: int | None = None
    ) -> Found:
        """The shortest trace of every code and set of causes, of at most so many events.

        Where codes are `wanted`, it ends with the shortest traces of any of them; else once there are `most_traces`.
        """
        found: list[Trace] = []
        frontier = [self._start(move) for move in self.moves.starts()]
        self._reached: dict[Any, list[frozenset[str]]] = {}
        events = 0

        def is_enough() -> bool:
            return any(f.code in wanted for f in found) or len(found) >= (most_traces or math.inf)

        while frontier and events < most_events and not is_enough():
            events += 1
            following, wrong = [], []
            for node in frontier:
                for after in self._successors(node):
                    donated = after.request.donated
                    trace = self._trace(after) if donated else None
                    if trace is not None:
                        wrong.append(trace)
                    elif after.moves[-1].event != "finish" and self._is_new(after):
                        following.append(replace(after, request=replace(after.request, donated=())))
            for trace in sorted(wrong, key=lambda t: (len(t.causes), t.tokens)):
                if not any(f.code is trace.code and f.causes <= trace.causes for f in found):
                    found.append(trace)
            frontier = following
        return Found(tuple(found), events, not frontier)

    def follow(self, moves: tuple[Move, ...]) -> Trace | None:
        """The trace up to the first wrong checkpoint of some events; None where there is none or they are impossible."""
        node = _Node(self.scheduler.admit())
        for move in moves:
            if not move.is_possible(self.scheduler, node.request):
                return None
            request = replace(node.request, donated=())
            node = self._after(replace(node, request=request), move)
            if (trace := self._trace(node)) is not None:
                return trace
        return None

    def _start(self, move: Move) -> _Node:
        start = _Node(self.scheduler.admit())
        return self._after(start, move) if move.tokens else start

    def _successors(self, node: _Node) -> Iterator[_Node]:
        for move in self.moves.after(node.request):
            yield self._after(node, move)

    def _after(self, node: _Node, move: Move) -> _Node:
        special = move.special(node.request)
        causes = node.causes if special is None else node.causes | {special}
        request = move.apply(self.scheduler, node.request)
        return _Node(request, (*node.moves, move), causes)

    def _trace(self, node: _Node) -> Trace | None:
        """The trace to the first wrong one of the checkpoints just donated."""
        for donation in node.request.donated:
            checkpoint = donation.checkpoint
            if is_wrong(self.design, self.c, checkpoint):
                code = code_of(self.c, donation)
                return Trace(node.moves, code, node.causes, checkpoint, node.request.length)
        return None

    def _is_new(self, node: _Node) -> bool:
        """Whether no state like this one was reached before by the same special events, or by fewer."""
        reached = self._reached.setdefault(self._key(node.request), [])
        if any(causes <= node.causes for causes in reached):
            return False
        reached.append(node.causes)
        return True

    def _key(self, r: Request) -> Any:
        """What tells this state of a request from every other that goes on differently."""
        period = self.moves.period
        base = r.length // period * period
        slots, done = r.slots, r.waiting[0].start if r.waiting else r.length
        named = [depth for depth in (slots.label, slots.previous) if depth > 0]
        old = sorted({int(d) for d in named if d <= done})

        def relative(depth: Any) -> Any:
            """A depth beyond what has a result, else which of the named ones it is; no other can become right."""
            if depth <= 0:
                return "none", int(depth)
            has_a_node = depth >= self.moves.page
            if depth > done:
                return int(depth) - base, has_a_node
            if depth in old:
                return "old", old.index(depth), depth % self.moves.page, has_a_node
            return "stale"

        # Entries are named by where the next snapshot goes: the two are alike.
        turned = int(slots.next)
        states = [slots.first, slots.second]
        depths = (*(states if not turned else states[::-1]), slots.label, slots.previous)
        entries = (e ^ turned for e in (slots.kept, slots.written, slots.written_before))
        return (
            *(r.length - base, r.alone, r.allocation_fails, r.mixes, bool(slots.donates)),
            *map(relative, depths),
            *map(int, entries),
            *((r.committed - base,) if self.moves.verifies else ()),
            *(self._waits(p, base, turned) for p in r.waiting),
        )

    def _waits(self, p: Pass, base: int, turned: int) -> Any:
        if p.kind == VERIFY:
            return p.start - base, p.end - base, p.entry ^ turned
        return p.kind, p.mixed, p.kind == PROMPT and self.moves.may_be_cut(p)
