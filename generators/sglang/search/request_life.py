"""One request's life as a model whose orders of events are searched for checkpoints that end wrong.

States of the request that differ by a whole period of all grids, and in nothing else, are one: where no new state
is left, every longer trace has been searched as well.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from itertools import takewhile
from typing import Any

from generators.cases.codes import Code
from generators.sglang.search.classify import code_of, is_wrong
from generators.sglang.search.moves import Move, Moves
from spec.records import replace
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.releases import Design
from spec.sglang.scheduler import PROMPT, VERIFY, Donation, Pass, Request, Scheduler, Write
from spec.sglang.slot_buffer import UNWRITTEN
from spec.transition_system import Run, Trace, Wrong, followed, shortest_traces

NEVER = 1 << 62  # a depth (tokens) beyond all that a trace reaches


def _with_its_grids(design: Design, c: Any) -> Design:
    """The design with the grids of one configuration worked out."""

    def grid(producer: str) -> Any:
        tokens = design.grid(producer, c)
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


class RequestLife:
    """What can happen to one request under a design and a configuration: a model whose states are requests.

    `only_slots`: the moves are those that can make a difference to slots; `mixes`: whether a step may share its batch
    with a chunk of another prompt.
    """

    def __init__(self, design: Design, c: Any, only_slots: bool = False, mixes: bool = False):
        self.design, self.c = design, c
        design = _with_its_grids(design, c)
        self.scheduler = _Remembering(design, c)
        self.moves = Moves(self.scheduler, only_slots, mixes)
        self._known_outcomes: dict[Any, Any] = {}

    def run(
        self, most_events: int, wanted: Collection[Code] = (), most_traces: int | None = None
    ) -> Run:
        """The shortest trace of every code and set of special events; see `shortest_traces`."""
        return shortest_traces(self, most_events, wanted, most_traces)

    def follow(self, moves: tuple[Move, ...]) -> Trace | None:
        """The trace up to the first wrong checkpoint of some events; None where there is none or they are impossible."""
        return followed(self, moves)

    @property
    def untried(self) -> tuple[str, ...]:
        """What can happen to a request and is none of its moves, in words."""
        return self.moves.untried

    def start(self) -> Request:
        """A request that is admitted with nothing to resume from."""
        return self.scheduler.admit()

    def starts(self) -> Iterator[tuple[tuple[Move, ...], Request]]:
        """A request with nothing to resume from, and ones that resume where a node can have a state."""
        for move in self.moves.starts():
            start = self.start()
            yield ((move,), self.apply(start, move)) if move.tokens else ((), start)

    def ways(self, r: Request) -> Iterator[tuple[bool, Hashable]]:
        """To finish, where a result is waited for, and to go on."""
        if r.waiting:
            yield True, self.key(r, True)
        yield False, self.key(r, False)

    def successors(self, r: Request, finishes: bool) -> Iterator[tuple[Move, Request]]:
        """The finishes of a request, or all else that can come next."""
        settled = self.scheduler.settled(r, finishes)
        for move in self.moves.ends(r) if finishes else self.moves.after(r):
            launches = finishes or move.event in ("verify", "decode")
            yield move, move.apply(self.scheduler, settled if launches else r)

    def special(self, r: Request, move: Move) -> str | None:
        """What makes this event more than a request that runs alone from its first token to its end."""
        return move.special(r)

    def wrong(self, r: Request) -> Wrong | None:
        """The first wrong one of the checkpoints just donated."""
        for donation in r.donated:
            if is_wrong(self.design, self.c, donation.checkpoint):
                return Wrong(code_of(self.c, donation), donation.checkpoint, r.length)
        return None

    def judged(self, r: Request) -> Request:
        """The request without its donations so far."""
        return replace(r, donated=()) if r.donated else r

    def is_end(self, move: Move) -> bool:
        """A finish ends a request."""
        return move.event == "finish"

    def is_possible(self, r: Request, move: Move) -> bool:
        """Whether its lengths make sense for a request."""
        return move.is_possible(self.scheduler, r)

    def apply(self, r: Request, move: Move) -> Request:
        """The request after an event."""
        return move.apply(self.scheduler, r)

    def key(self, r: Request, finishes: bool) -> Any:
        """What distinguishes this state of a request from every other that goes on differently, or that finishes differently.

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

        noted = [
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
            tuple(noted),
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
