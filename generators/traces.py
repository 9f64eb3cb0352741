"""Searches the orders of events in one request's life for checkpoints that end wrong, the shortest first.

States of the request that differ by a whole period of all grids, and in nothing else, are one: where no new state
is left, every longer trace has been searched as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from generators.causes import code_of, is_wrong
from generators.codes import Code
from generators.moves import Move, Moves
from spec.records import replace
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.designs import Design
from spec.sglang.life import UNWRITTEN
from spec.sglang.request import PROMPT, VERIFY, Donation, Pass, Request, Scheduler, Write

NEVER = 1 << 62  # a depth (tokens) beyond all that a trace reaches


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
    """The traces of one configuration; `events` searched through, `closed`: whether no longer one can add any.

    `untried`: what can happen to a request and was not tried, in words.
    """

    traces: tuple[Trace, ...]
    events: int
    closed: bool
    untried: tuple[str, ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether no order of any length is left that was not searched."""
        return self.closed and not self.untried


def _with_its_grids(design: Design, c: Any) -> Design:
    """The design with the grids of one configuration worked out."""

    def grid(reader: str) -> Any:
        tokens = design.grid(reader, c)
        return lambda c: tokens

    return replace(design, **{f"{r}_grid": grid(r) for r in ("extend", "decode", "verify")})


class _Remembering(Scheduler):
    """A scheduler that works out once what the same verify does to the same slots, and the same steps to a request."""

    def __init__(self, design: Design, c: Any):
        super().__init__(design, c)
        self._known: dict[Any, Any] = {}
        self._steps: list[tuple[int, Request]] = []  # with what came of each, of the last request
        self._stepped: Request | None = None

    def decode(self, r: Request, to: int) -> Request:
        """The request after its decode steps; those that were just launched of the same one go on."""
        if self._stepped is not r:
            self._stepped, self._steps = r, []
        lengths = list(self.steps_that_matter(r.length, to))
        known = takewhile(
            lambda pair: pair[0] == pair[1][0], zip(lengths, self._steps, strict=False)
        )
        self._steps = [step for _, step in known]
        for length in lengths[len(self._steps) :]:
            before = self._steps[-1][1] if self._steps else r
            self._steps.append((length, self._step(before, length)))
        return self._steps[-1][1] if self._steps else r

    def _of_verifies(self, rule: str, *arguments: Any) -> Any:
        asked = rule, *arguments
        if asked not in self._known:
            self._known[asked] = super()._of_verifies(rule, *arguments)
        return self._known[asked]


@dataclass(frozen=True)
class _Node:
    """A request with how it came to be; whether it is the first one to finish, and to go on, as it does."""

    request: Request
    moves: tuple[Move, ...] = ()
    causes: frozenset[str] = frozenset()
    finishes: bool = True
    goes: bool = True


class TraceSearch:
    """Breadth-first over the events of one request under a design and a configuration."""

    def __init__(self, design: Design, c: Any, only_slots: bool = False, mixes: bool = False):
        self.design, self.c = design, c
        design = _with_its_grids(design, c)
        self.scheduler = _Remembering(design, c)
        self.moves = Moves(self.scheduler, only_slots, mixes)
        self._known_outcomes: dict[Any, Any] = {}

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
                    elif after.moves[-1].event != "finish":
                        after = replace(after, request=replace(after.request, donated=()))
                        if not self._is_new(after.request, after.causes):
                            continue
                        finishes = bool(after.request.waiting) and self._is_new(
                            self.key(after.request, True), after.causes
                        )
                        goes = self._is_new(self.key(after.request, False), after.causes)
                        if finishes or goes:
                            following.append(replace(after, finishes=finishes, goes=goes))
            for trace in sorted(wrong, key=lambda t: (len(t.causes), t.tokens)):
                if not any(f.code is trace.code and f.causes <= trace.causes for f in found):
                    found.append(trace)
            frontier = following
        return Found(tuple(found), events, not frontier, self.moves.untried)

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
        r = node.request
        if node.finishes and r.waiting:
            ended = self.scheduler.settled(r, True)
            for move in self.moves.ends(r):
                yield self._after(node, move, ended)
        if node.goes:
            settled = self.scheduler.settled(r, False)
            for move in self.moves.after(r):
                launches = move.event in ("verify", "decode")
                yield self._after(node, move, settled if launches else r)

    def _after(self, node: _Node, move: Move, settled: Request | None = None) -> _Node:
        """The node after an event; `settled`: its request with the results processed that come before that event."""
        special = move.special(node.request)
        causes = node.causes if special is None else node.causes | {special}
        request = move.apply(self.scheduler, settled or node.request)
        return _Node(request, (*node.moves, move), causes)

    def _trace(self, node: _Node) -> Trace | None:
        """The trace to the first wrong one of the checkpoints just donated."""
        for donation in node.request.donated:
            checkpoint = donation.checkpoint
            if is_wrong(self.design, self.c, checkpoint):
                code = code_of(self.c, donation)
                return Trace(node.moves, code, node.causes, checkpoint, node.request.length)
        return None

    def _is_new(self, key: Any, causes: frozenset[str]) -> bool:
        """Whether no state like this one was reached before by the same special events, or by fewer."""
        reached = self._reached.setdefault(key, [])
        if any(known <= causes for known in reached):
            return False
        reached.append(causes)
        return True

    def key(self, r: Request, finishes: bool) -> Any:
        """What tells this state of a request from every other that goes on differently, or that finishes differently.

        The results that come first in any case are taken as processed.  Depths count from `base`, a whole number of
        periods, which is 0 in the first ones.  A label that no key can cut any more counts by what it would be donated
        as, a state that no label to come can name as stale (docs/theory.md).
        """
        r = self.scheduler.settled(r, finishes)
        if codes := [code for d in r.donated if (code := self._code(d)) is not None]:
            return finishes, codes[0]
        moves, slots = self.moves, r.slots
        verify = finishes and r.waiting[0].kind == VERIFY
        done = next((p.start for p in r.waiting if p.kind != PROMPT), r.length)
        base = moves.base(done)
        reach = done - moves.verifies  # every label to come is beyond it
        in_reach = reach // moves.page * moves.page
        # Entries are named by where the next snapshot goes: the two are alike.
        turned = int(slots.next)
        first, second = int(slots.first), int(slots.second)
        states = (second, first) if turned else (first, second)

        def state(depth: int) -> Any:
            if depth < 0:
                return "none", depth
            return depth - base if depth >= in_reach else "stale"

        def label(depth: int) -> Any:
            if depth <= 0:
                return "none", depth
            return depth - base if depth > done else self._outcomes(depth, states, r.writes)

        told = [
            (
                *(w.recorded - base, state(w.state), w.by.kind, w.by.start % moves.page == 0),
                w.by.entry ^ turned if r.waiting and r.waiting[0].kind == PROMPT else None,
            )
            for w in r.writes
            if w.recorded > reach
        ]
        return (
            finishes,
            bool(slots.donates),
            None if verify else moves.place(r, base),
            None if finishes else (r.alone, r.allocation_fails, r.mixes),
            *map(state, states),
            *map(label, (int(slots.label), int(slots.previous))),
            *(int(e) ^ turned for e in (slots.kept, slots.written, slots.written_before)),
            tuple(told),
            *(self._waits(p, base, turned) for p in (r.waiting[:1] if verify else r.waiting)),
            moves.plans(r.waiting[-1].start) if r.waiting and not finishes else None,
        )

    def _outcomes(self, label: int, states: tuple[int, ...], writes: tuple[Write, ...]) -> Any:
        """What a label is donated as with the states that its slot can hold: those there are, none, a later one."""
        booked = tuple(w for w in writes if w.recorded == label)
        right = tuple(s for s in states if any(w.recorded == w.state == s for w in writes))
        known = label, states, booked, right
        if known not in self._known_outcomes:
            later = Write(Pass(VERIFY, 0, 0), NEVER, NEVER)
            self._known_outcomes[known] = tuple(
                self._code(Donation(Checkpoint(True, True, label, s, label), (*writes, later)))
                for s in (*states, UNWRITTEN, NEVER)
            )
        return self._known_outcomes[known]

    def _code(self, donation: Donation) -> str | None:
        wrong = is_wrong(self.design, self.c, donation.checkpoint)
        return code_of(self.c, donation).id if wrong else None

    def _waits(self, p: Pass, base: int, turned: int) -> Any:
        if p.kind != VERIFY:
            return p.kind, p.mixed, p.kind == PROMPT and self.moves.goes_on(p)
        start = p.start - base
        ends = [(None if d is None else d + start, *o) for d, *o in self.moves.ends_of(p)]
        return p.entry ^ turned, frozenset(ends)
