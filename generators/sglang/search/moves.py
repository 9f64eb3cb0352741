"""What can happen next to a request, with the lengths at which something can change: those around its grids."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy

from generators.sglang.search.prompts import Ends, Prompts
from spec.sglang.checkpoints import verify_label
from spec.sglang.mixed_batches import mixing_is_possible
from spec.sglang.releases import current
from spec.sglang.rules import cuts, grids
from spec.sglang.scheduler import PROMPT, VERIFY, Pass, Request, Scheduler

NEVER_CHUNKED = cuts.WHOLE_PROMPTS
MOST_BOUNDARIES = 8
# Up to so many tokens of a verify every count that it can accept is tried, of more those at a bound of what it can do.
EVERY_COUNT = 8
NOT_EVERY_COUNT = (
    f"not shown for verifies of more than {EVERY_COUNT} tokens: of the counts that they can accept those "
    "at a bound of what they can do were tried"
)
# Of more multiples of a grid within reach than this the first ones are tried and, for a prompt, the last two; fewer where
# only slots are looked at.
MOST_MULTIPLES, MOST_OF_SLOTS = 16, 8
NOT_EVERY_BOUNDARY = "not shown for every boundary: of the many that lie in a period of all grids the first ones were tried, for a prompt the last as well"
NOT_EVERY_PROMPT = (
    "not shown for every prompt: of the many that its grids tell apart the shortest were tried"
)
NO_MIXED_VERIFIES = "not shown for verifies in mixed batches: none was tried"
# Events without which a request runs alone and every allocation of a slot succeeds.
SPECIAL = ("match", "other_batch", "mixed_batch", "allocation_failure", "grammar", "chunk")


@dataclass(frozen=True)
class Move:
    """One event.

    `tokens`: the length that is reached (match, extend, decode), what is accepted, by as few verifies as can be
    (verify), or retained (finish); `branching`: the depth (tokens) an extend was asked to keep a state at; `grammar`:
    whether it is a grammar that ends a verified request, and not a stop token.
    """

    event: str
    tokens: int = 0
    branching: int | None = None
    grammar: bool = False

    def apply(self, scheduler: Scheduler, r: Request) -> Request:
        """The request after this event."""
        if self.event == "match":
            return scheduler.admit(self.tokens)
        if self.event == "extend":
            return scheduler.extend(r, self.tokens, self.branching)
        if self.event == "decode":
            return scheduler.decode(r, self.tokens)
        if self.event == "verify":
            return scheduler.verify_on(r, self.tokens)
        if self.event == "other_batch":
            return scheduler.other_batch(r)
        if self.event == "mixed_batch":
            return scheduler.mixed_batch(r)
        if self.event == "allocation_failure":
            return scheduler.allocation_failure(r)
        return scheduler.finish(r, self.tokens or None, self.grammar)

    def special(self, r: Request) -> str | None:
        """What makes this event more than a request that runs alone from its first token to its end."""
        if self.event == "extend" and r.waiting:
            return "chunk"
        if self.event == "finish" and self.grammar:
            return "grammar"
        return self.event if self.event in SPECIAL else None

    @property
    def reaches(self) -> bool:
        """Whether its tokens are the length that it leads to."""
        return self.event in ("extend", "decode")

    def is_possible(self, scheduler: Scheduler, r: Request) -> bool:
        """Whether its lengths make sense for a request, and pass no more boundaries than a trace needs."""
        if self.event == "decode" and (self.tokens - r.length) // scheduler.grid > MOST_BOUNDARIES:
            return False
        if self.event == "verify" and self.tokens // scheduler.verify_grid > MOST_BOUNDARIES:
            return False
        if self.reaches:
            return self.tokens > r.length and (self.branching or r.length + 1) > r.length
        if self.event == "finish" and self.tokens:
            last = scheduler.ends_with(r)
            return self.tokens <= last.end - last.start
        return self.event != "verify" or self.tokens > 0

    def earlier(self, tokens: int) -> Move:
        """The same event at a length that is so many tokens less."""
        branching = None if self.branching is None else self.branching - tokens
        return replace(self, tokens=self.tokens - tokens, branching=branching)


class Moves:
    """The moves of one design and configuration; with `only_slots` those that can make a difference to slots.

    `mixes`: whether a step may share its batch with a chunk of another prompt.

    `period`: tokens after which all grids lie alike; `first`: the tokens from which on the rules of a life
    do not see the start of the sequence.
    """

    def __init__(self, scheduler: Scheduler, only_slots: bool = False, mixes: bool = False):
        design, c = scheduler.design, scheduler.c
        self.scheduler, self.c = scheduler, c
        self.page = int(grids.tree_page(c))
        self.verifies = int(c.speculative_num_draft_tokens)
        self.extend_grid = int(design.grid("extend", c))
        self.track = int(design.grid("verify" if self.verifies else "decode", c))
        self.only_slots, self.mixes = only_slots, mixes
        self.lazy = c.strategy == "extra_buffer_lazy"
        chunks = {int(grids.cache_chunk_size(c)), int(c.mamba_chunk_size)}
        others = set() if only_slots else {self.page, *chunks}
        self.grids = sorted({self.extend_grid, self.track, *others})
        self.node = math.lcm(self.extend_grid, self.page)
        self.period = math.lcm(self.page, *self.grids)
        self.first = self.verifies + 2 * self.page
        self._known_ends: dict[tuple[int, int], frozenset[Any]] = {}
        self.near = 3 * self.verifies  # of a boundary (tokens), where verifies are distinguished
        self.every_count = self.verifies <= EVERY_COUNT
        self.reach = self.first + self.extend_grid + self.period  # of a prompt, in tokens
        self.most = MOST_OF_SLOTS if only_slots else MOST_MULTIPLES
        self.every_boundary = (self.reach + self.near - 1) // self.track <= self.most
        self.every_boundary &= self.period // self.track < MOST_BOUNDARIES
        self.alike = math.lcm(self.node, *chunks)  # tokens after which nodes lie alike
        self.every_boundary &= only_slots or (self.first + self.alike) // self.node <= self.most
        self.around = self._around()  # a boundary: the places at which verifies may end
        self.prompts = self._prompts()

    def _prompts(self) -> Prompts:
        """Requests resume at the first nodes that can have a state, and before a boundary where a prompt can end beside it
        with no depth of the extend grid passed; cuts may be so as well.
        """
        last = self.reach + self.near
        boundaries = self._boundaries_to_try(last)
        places = {b + d for b in boundaries for d in (*self.around, -1, 0, 1)}
        ends = Ends(
            self.track,
            self.first,
            self.period,
            len(boundaries),
            max(1, 2 * self.verifies),
            numpy.array(sorted(place for place in places if place > 0)),
        )
        if self.only_slots:
            return Prompts(self.scheduler.design, self.c, ends)
        nodes = self._few(range(self.node, self.first + self.alike + 1, self.node))
        beside = {n // self.node * self.node for b in boundaries for n in (b, b - 1)} - {0}
        before = {b - d for b in boundaries for d in (self.near + 2, 1 + self.extend_grid)}
        cuts = self.c.chunked_prefill_size != NEVER_CHUNKED
        return Prompts(
            self.scheduler.design,
            self.c,
            ends,
            {*nodes, *beside},
            cuts,
            {b for b in before if b > 0},
        )

    def _boundaries_to_try(self, last: int) -> list[int]:
        """The depths at which a checkpoint is due, of many the first and last ones, and those on nodes and extend depths."""
        due = range(self.track, last, self.track)
        if len(due) <= self.most:
            return list(due)
        grids = {math.lcm(self.track, grid) for grid in (self.page, self.extend_grid)}
        beside = [self._few(range(grid, last, grid)) for grid in sorted(grids)]
        return sorted({*self._few(due), *(n for some in beside for n in some)})

    def _around(self) -> list[int]:
        if self.every_count:
            return list(range(-self.near - 1, self.verifies + 2))
        return [n * self.verifies + d for n in (-2, -1, 0) for d in (-1, 0)]

    @property
    def untried(self) -> tuple[str, ...]:
        """What can happen to a request and is none of these moves, in words."""
        mixes = self.mixes and bool(self.verifies)
        possible = mixing_is_possible(self.scheduler.design.release, self.c)
        return (
            *(() if self.every_count else (NOT_EVERY_COUNT,)),
            *(() if self.every_boundary else (NOT_EVERY_BOUNDARY,)),
            *(() if self.prompts.is_whole else (NOT_EVERY_PROMPT,)),
            *((NO_MIXED_VERIFIES,) if mixes and possible else ()),
        )

    def starts(self) -> Iterator[Move]:
        """A request with nothing to resume from, and ones that resume where a node can have a state."""
        yield Move("match", 0)
        yield from (Move("match", start) for start in self.prompts.starts)

    def after(self, r: Request) -> Iterator[Move]:
        """Everything but a finish that can come next, the shortest first."""
        last = r.waiting[-1].kind if r.waiting else None
        if last in (None, PROMPT):
            yield from self._extends(r)
        if last is None:
            if self.mixes and not self.verifies and not r.mixes:
                yield Move("mixed_batch")
            return
        if self.c.overlap and not r.alone:
            yield Move("other_batch")
        if self.mixes and not self.verifies and not r.mixes:
            yield Move("mixed_batch")
        if self.lazy and not r.allocation_fails:
            yield Move("allocation_failure")
        yield from self._verifies(r) if self.verifies else self._steps(r)

    def goes_on(self, chunk: Pass) -> bool:
        """Whether another chunk of the prompt is tried behind this one."""
        return bool(self.prompts.after(chunk.end, True))

    def is_far(self, length: int) -> bool:
        """Whether no verify behind a length, nor the one that led to it, can pass a boundary or be planned for one."""
        behind = length % self.track
        return behind >= self.verifies and behind + self.near < self.track

    def plans(self, committed: int) -> bool:
        """Whether a verify that is planned at this length takes a second slot."""
        if not (self.lazy and self.verifies):
            return False
        return bool(
            current(self.scheduler.design.verify_plans)(self.track, committed, self.verifies)
        )

    def base(self, length: int) -> int:
        """Whole periods below a length, none within the first ones."""
        return max(0, (length - self.first) // self.period * self.period)

    def ends_of(self, verify: Pass) -> frozenset[Any]:
        """What the result of a verify can do: the depth it labels, from its start on, and whether another is planned.

        First with all of its tokens, then with what a stop token or a grammar keeps of them.
        """
        start, accepted = verify.start, verify.end - verify.start
        known = start - self.base(start)
        if (known, accepted) not in self._known_ends:
            design, c = self.scheduler.design, self.c
            ends = set()
            for kept in range(1, accepted + 1):
                crossed, depth = verify_label(design, c, start, accepted, kept)
                label = int(depth) - start if crossed else None
                ends.add((label, self.plans(start + kept), kept == accepted, False))
            ends.add((None, False, False, label is not None and label > 2))
            self._known_ends[known, accepted] = frozenset(ends)
        return self._known_ends[known, accepted]

    def place(self, r: Request, base: int) -> int | str:
        """The length of a request, counted from `base`, or that it is far from every boundary."""
        idle = self.verifies and r.waiting and r.waiting[-1].kind == VERIFY
        if idle and self.is_far(r.length):
            return f"far behind {r.length // self.track * self.track - base}"
        return r.length - base

    def _extends(self, r: Request) -> Iterator[Move]:
        for end, branching in self.prompts.after(r.length, bool(r.waiting)):
            yield Move("extend", end, branching=branching)

    def _steps(self, r: Request) -> Iterator[Move]:
        undisturbed = not (r.alone or r.allocation_fails or r.mixes)
        if r.waiting[-1].kind != PROMPT and undisturbed:
            return  # two runs of steps with nothing in between are one
        first, _ = self._boundaries(r.length, self.track)
        boundaries = range(first, first + self.period + self.track, self.track)
        boundaries = boundaries[: min(self.most, MOST_BOUNDARIES)]
        lengths = {b + d for b in boundaries for d in (-1, 0, 1)}
        for length in sorted(n for n in lengths if n > r.length):
            yield Move("decode", length)

    def _verifies(self, r: Request) -> Iterator[Move]:
        boundary, _ = self._boundaries(r.length, self.track)
        if not self.is_far(r.length):
            yield from (Move("verify", accepted) for accepted in self._counts(r.length))
        else:
            yield Move("verify", 1)
        at_once = {-1, -self.verifies, -2 * self.verifies}
        for place in self.around:
            tokens = boundary + place - r.length
            if tokens > self.verifies and (place < -2 * self.verifies or place in at_once):
                yield Move("verify", tokens)

    def _counts(self, length: int) -> list[int]:
        """How many tokens the next verify may accept."""
        if self.every_count:
            return list(range(1, self.verifies + 1))
        boundaries = range(
            length // self.track * self.track, length + 4 * self.verifies + self.track, self.track
        )
        ends = {b + place - length for b in boundaries for place in self.around}
        ends |= {1, 2, self.verifies}
        return sorted(n for n in ends if 1 <= n <= self.verifies)

    def ends(self, r: Request) -> Iterator[Move]:
        """The ways to finish next."""
        last = self.scheduler.ends_with(r)
        if last.kind != VERIFY:
            yield Move("finish")
            return
        accepted = last.end - last.start
        passed = range((last.start - accepted) // self.track * self.track, last.end + 2, self.track)
        near = {
            b - last.start + of + d for b in passed for of in (0, accepted) for d in (-2, -1, 0, 1)
        }
        for retained in sorted({1, accepted, *(n for n in near if 1 <= n < accepted)}):
            yield Move("finish", retained)
            if retained < accepted:
                yield Move("finish", retained, grammar=True)

    @staticmethod
    def _boundaries(length: int, grid: int) -> tuple[int, int]:
        """The two multiples of a grid that lie beyond a length (tokens)."""
        following = (length // grid + 1) * grid
        return following, following + grid

    def _few(self, multiples: range) -> list[int]:
        """All of them, or where they are too many the first ones and the last two."""
        if len(multiples) <= self.most:
            return list(multiples)
        return [*multiples[: self.most - 2], *multiples[-2:]]
