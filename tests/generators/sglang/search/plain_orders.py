"""A plain search of a request's orders of events, to hold the real one against.

It knows no key of a state, no groups of configurations and no chosen lengths: every length up to a bound, every count
that a verify can accept or a finish retain, absolute depths, steps and verifies one by one.  Only requests that are
equal in everything are looked at once.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from math import lcm
from random import Random
from typing import Any

from generators.cases.codes import Code
from generators.common.processes import cores
from generators.sglang.search.classify import code_of, is_wrong
from generators.sglang.search.moves import NEVER_CHUNKED, Move
from generators.sglang.search.request_life import RequestLife
from spec.records import replace
from spec.sglang.configuration import Configuration
from spec.sglang.proposals import PROPOSALS
from spec.sglang.releases import RELEASES, Design, current, design_named
from spec.sglang.rules import grids, lookup
from spec.sglang.scheduler import PROMPT, VERIFY, Request, Scheduler, Write


@dataclass(frozen=True)
class PlainTrace:
    """Events that end with a wrong checkpoint, each step and verify its own."""

    moves: tuple[Move, ...]
    kind: Code
    causes: frozenset[str]

    @property
    def events(self) -> int:
        """How many events it has; what a request resumes from is none."""
        return len(self.moves) - 1


class PlainSearch:
    """Breadth-first over all that can happen to one request of at most so many tokens."""

    def __init__(
        self, design: Design, c: Any, starts: tuple[int, ...], tokens: int, mixes: bool = False
    ):
        self.design, self.c, self.tokens, self.mixes = design, c, tokens, mixes
        self.scheduler, self.starts = Scheduler(design, c), starts
        self.page, self.verifies = int(grids.tree_page(c)), int(c.speculative_num_draft_tokens)

    def run(self, most_states: int) -> tuple[list[PlainTrace], bool]:
        """A shortest trace of every code and smallest set of causes; and whether all was looked at.

        Where there are more states than that, it ends with what was found.
        """
        found: list[PlainTrace] = []
        reached: dict[Request, list[frozenset[str]]] = {}
        frontier: list[tuple[Request, tuple[Move, ...], frozenset[str]]] = [
            (self.scheduler.admit(start), (Move("match", start),), causes)
            for start in self.starts
            for causes in [frozenset({"match"} if start else ())]
        ]
        while frontier:
            following = []
            for request, moves, causes in frontier:
                for move in self._after(request):
                    special = move.special(request)
                    theirs = causes if special is None else causes | {special}
                    after = move.apply(self.scheduler, request)
                    code = self._wrong(after)
                    if code is not None:
                        found.append(PlainTrace((*moves, move), code, theirs))
                        continue
                    after = replace(after, donated=(), writes=self._told(after))
                    before = reached.setdefault(after, [])
                    if after.waiting and not any(known <= theirs for known in before):
                        before.append(theirs)
                        following.append((after, (*moves, move), theirs))
                if len(reached) > most_states:
                    return _least(found), False
            frontier = following
        return _least(found), True

    def _wrong(self, r: Request) -> Code | None:
        wrong = [d for d in r.donated if is_wrong(self.design, self.c, d.checkpoint)]
        return code_of(self.c, wrong[0]) if wrong else None

    def _told(self, r: Request) -> tuple[Write, ...]:
        """The writes that a code can still be told from: of a depth that is or can be labelled, or of a state held."""
        start = next((p.start for p in r.waiting if p.kind != PROMPT), r.length)
        named = {r.slots.label, r.slots.previous}
        held = {r.slots.first, r.slots.second}
        return tuple(
            w
            for w in r.writes
            if w.recorded > start - self.verifies or w.recorded in named or w.state in held
        )

    def _after(self, r: Request) -> Iterator[Move]:
        last = r.waiting[-1].kind if r.waiting else None
        if last in (None, PROMPT):
            yield from self._extends(r)
        if last is None:
            return
        yield from self._ends(r)
        if self.c.overlap and not r.alone:
            yield Move("other_batch")
        if self.mixes and not self.verifies and not r.mixes:
            yield Move("mixed_batch")
        if self.c.strategy == "extra_buffer_lazy" and not r.allocation_fails:
            yield Move("allocation_failure")
        for accepted in range(1, min(self.verifies, self.tokens - r.length) + 1):
            yield Move("verify", accepted)
        if not self.verifies and r.length < self.tokens:
            yield Move("decode", r.length + 1)

    def _extends(self, r: Request) -> Iterator[Move]:
        if r.waiting and self.c.chunked_prefill_size == NEVER_CHUNKED:
            return
        for end in range(r.length + 1, self.tokens + 1):
            yield Move("extend", end)
            if not r.waiting:
                grid = self.design.grid("extend", self.c)
                point = current(self.design.branching_point)
                hits = range(self.page, end, self.page)
                for told in sorted({int(point(grid, hit)) for hit in hits}):
                    if lookup.is_branching_point(told, r.length):
                        yield Move("extend", end, branching=told)

    def _ends(self, r: Request) -> Iterator[Move]:
        last = self.scheduler.ends_with(r)
        if last.kind != VERIFY:
            yield Move("finish")
            return
        accepted = last.end - last.start
        for retained in range(1, accepted + 1):
            yield Move("finish", retained)
            if retained < accepted:
                yield Move("finish", retained, grammar=True)


@dataclass(frozen=True)
class Subject:
    """A design in a configuration, mixed batches or not."""

    design: Design
    c: Configuration
    mixes: bool


def drawn(rng: Random) -> Subject:
    """Any release or proposal in a configuration of small numbers, which the start-up guards may refuse."""
    name = rng.choice(RELEASES)
    proposals = [p for p in PROPOSALS if rng.random() < 0.2]
    drafts = rng.choice([0, 0, 0, 1, 1, 2, 2, 3, 4, 5])
    lazy = rng.random() < 0.4
    c = Configuration(
        page_size=rng.choice([1, 1, 2, 3, 4]),
        dcp_size=rng.choice([1, 1, 1, 2, 3]),
        mamba_track_interval=rng.randint(1, 9),
        mamba_chunk_size=rng.choice([1, 2, 2, 3, 4]),
        speculative_num_draft_tokens=drafts,
        speculative_algorithm=rng.choice(["EAGLE", "EAGLE", "DFLASH"]) if drafts else None,
        chunked_prefill_size=rng.choice([None, None, NEVER_CHUNKED]),
        strategy="extra_buffer_lazy" if lazy else "extra_buffer",
        overlap=lazy or rng.random() < 0.6,
    )
    design = design_named("+".join([f"sglang-{name}", *proposals]))
    return Subject(design, c, not drafts and rng.random() < 0.3)


TOKENS = (3, 4, 6, 9, 13, 20, 30)


@dataclass(frozen=True)
class Compared:
    """What the plain search finds and the search of orders does not find with as many events.

    `tokens`: the length up to which the plain search looked at everything (0: it had no room for the shortest);
    `classes`: how many it found, also among longer ones.
    """

    missed: tuple[PlainTrace, ...]
    tokens: int
    classes: int


def plain_traces(subject: Subject, most_states: int) -> tuple[list[PlainTrace], int]:
    """What the plain search finds, and the tokens up to which it looked at everything: as many as it has room for."""
    node = lcm(grids.tree_page(subject.c), subject.design.grid("extend", subject.c))
    found: list[PlainTrace] = []
    whole = 0
    for tokens in TOKENS:
        starts = tuple(range(0, tokens, node))
        search = PlainSearch(subject.design, subject.c, starts, tokens, subject.mixes)
        traces, ended = search.run(most_states)
        found = _least([*found, *traces])
        if not ended:
            break
        whole = tokens
    return found, whole


def compared(subject: Subject, most_states: int) -> Compared:
    """The plain search of so many states against the search of orders, of no more events than its traces have."""
    left, tokens = plain_traces(subject, most_states)
    classes, search = len(left), RequestLife(subject.design, subject.c, mixes=subject.mixes)
    longest = max((t.events for t in left), default=0)
    for events in range(1, longest + 1):
        if not left:
            break
        real = search.run(events).traces
        left = [t for t in left if not any(t.kind == r.kind and r.causes <= t.causes for r in real)]
    return Compared(tuple(left), tokens, classes)


def _least(found: list[PlainTrace]) -> list[PlainTrace]:
    """One trace, the first, of each code and set of causes that holds no smaller one."""
    kept: list[PlainTrace] = []
    for trace in sorted(found, key=lambda t: (len(t.causes), len(t.moves))):
        if not any(f.kind == trace.kind and f.causes <= trace.causes for f in kept):
            kept.append(trace)
    return kept


def of_seed(seed: int, most_states: int) -> tuple[int, Compared]:
    """A seed and the comparison of the configuration that is drawn with it."""
    return seed, compared(drawn(Random(seed)), most_states)


def main() -> int:
    """Compare on many seeds, print each difference as it is found and at the end what was compared; 1: a difference."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=10_000, help="seeds, a configuration each")
    parser.add_argument("--states", type=int, default=1_000, help="states of one plain search")
    parser.add_argument("--jobs", type=int, default=cores())
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.count)
    done, broken, classes, missed = 0, 0, 0, 0
    bounds: Counter[int] = Counter()
    with ProcessPoolExecutor(given.jobs) as pool:
        try:
            for seed, outcome in pool.map(of_seed, seeds, repeat(given.states), chunksize=10):
                done, broken = done + 1, broken + (outcome.classes > 0)
                classes += outcome.classes
                bounds[outcome.tokens] += 1
                missed += bool(outcome.missed)
                for trace in outcome.missed:
                    print(seed, trace.kind.id, sorted(trace.causes), trace.moves, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    print(f"{done} configurations, plain searches of up to {given.states} states")
    print(f"{broken} broken, in {classes} classes; {missed} with a class that was missed")
    for tokens, many in sorted(bounds.items()):
        print(f"{many} looked at whole up to {tokens} tokens")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
