"""What can happen next to a request, with the lengths at which something can change: those around its grids."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from spec.sglang.designs import current
from spec.sglang.request import PROMPT, VERIFY, Pass, Request, Scheduler
from spec.sglang.rules import grids, lookup

NEVER_CHUNKED = -1
MOST_BOUNDARIES = 8
# Events without which a request is alone in the world, with slots to be had.
SPECIAL = ("match", "other_batch", "mixed_batch", "allocation_failure", "grammar", "chunk")


@dataclass(frozen=True)
class Move:
    """One event.

    `tokens`: the length that is reached (match, extend, decode), what is accepted, by as few verifies as can be
    (verify), or retained (finish); `branching`: the depth (tokens) an extend was told to keep a state at; `grammar`:
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

    A prompt that is cut or resumed is followed up to its own donation: what it leaves in the slots is what an uncut
    one leaves.
    """

    def __init__(self, scheduler: Scheduler, only_slots: bool = False, mixes: bool = False):
        design, c = scheduler.design, scheduler.c
        self.scheduler, self.c = scheduler, c
        self.page = int(grids.tree_page(c))
        self.verifies = int(c.speculative_num_draft_tokens)
        self.extend_grid = int(design.grid("extend", c))
        self.track = int(design.grid("verify" if self.verifies else "decode", c))
        self.only_slots, self.mixes = only_slots, mixes
        chunks = {int(grids.cache_chunk_size(c)), int(c.mamba_chunk_size)}
        others = set() if only_slots else {self.page, *chunks}
        self.grids = sorted({self.extend_grid, self.track, *others})
        self.node = math.lcm(self.extend_grid, self.page)
        self.period = math.lcm(self.page, *self.grids)

    def starts(self) -> Iterator[Move]:
        """A request with nothing to resume from, and ones that resume where a node can have a state."""
        yield Move("match", 0)
        if not self.only_slots:
            yield Move("match", self.node)

    def after(self, r: Request) -> Iterator[Move]:
        """Everything that can come next, the shortest first."""
        last = r.waiting[-1].kind if r.waiting else None
        if last is None or (last == PROMPT and self.may_be_cut(r.waiting[0])):
            yield from self._extends(r)
        if last is None:
            if self.mixes and not self.verifies and not r.mixes:
                yield Move("mixed_batch")
            return
        yield from self._ends(r)
        if last == PROMPT and r.waiting[0].start:
            return
        lazy = self.c.strategy == "extra_buffer_lazy"
        if self.c.overlap and not r.alone:
            yield Move("other_batch")
        if self.mixes and not self.verifies and not r.mixes:
            yield Move("mixed_batch")
        if lazy and not r.allocation_fails:
            yield Move("allocation_failure")
        yield from self._verifies(r) if self.verifies else self._steps(r)

    def may_be_cut(self, chunk: Pass) -> bool:
        """Whether another chunk of the prompt can follow this one; a prompt is cut once, its slots are new then."""
        chunked = self.c.chunked_prefill_size != NEVER_CHUNKED
        return chunked and not self.only_slots and chunk.start in (0, self.node)

    def _extends(self, r: Request) -> Iterator[Move]:
        ends = {r.length + 1, *(r.length + self.extend_grid + d for d in (-1, 0, 1))}
        for grid in self.grids:
            first, second = self._boundaries(r.length, grid)
            ends |= {first - 1, first, first + 1, second - 1, second}
        node, _ = self._boundaries(r.length, self.page)
        ends.add(node + self.extend_grid)
        boundary, _ = self._boundaries(r.length, self.track)
        ends |= {boundary - k * self.verifies + d for k in (1, 2) for d in (-1, 0, 1)}
        for end in sorted(e for e in ends if e > r.length):
            yield Move("extend", end)
            if not r.waiting and not self.only_slots:
                yield from (Move("extend", end, branching=b) for b in self._told(r, end))

    def _told(self, r: Request, end: int) -> list[int]:
        """The depths (tokens) at which a tree that knows more of the prompt tells it to keep a state."""
        next_grids = self._boundaries(r.length, self.extend_grid)
        hits = {-(-depth // self.page) * self.page for depth in (r.length + 1, *next_grids)}
        hits.add((end - 1) // self.page * self.page)
        point = current(self.scheduler.design.branching_point)
        points = {int(point(self.extend_grid, hit)) for hit in hits}
        told = sorted(p for p in points if lookup.is_told(p, r.length) and p < end)
        return [*told[:2], *told[-1:]]

    def _steps(self, r: Request) -> Iterator[Move]:
        undisturbed = not (r.alone or r.allocation_fails or r.mixes)
        if r.waiting[-1].kind != PROMPT and undisturbed:
            return  # two runs of steps with nothing in between are one
        lengths = {b + d for b in self._boundaries(r.length, self.track) for d in (-1, 0, 1)}
        for length in sorted(n for n in lengths if n > r.length):
            yield Move("decode", length)

    def _verifies(self, r: Request) -> Iterator[Move]:
        boundary, _ = self._boundaries(r.length, self.track)
        near = boundary - 2 * self.verifies
        if r.length < near - 1:
            if r.length % self.track <= 2 * self.verifies:
                yield Move("verify", self.verifies)
            for length in (near - 1, near, boundary - self.verifies, boundary - 1):
                yield Move("verify", length - r.length)
            return
        reach = {boundary + d - r.length for d in (-1, 0, 1)}
        for accepted in sorted({self.verifies, *(n for n in reach if 1 <= n < self.verifies)}):
            yield Move("verify", accepted)

    def _ends(self, r: Request) -> Iterator[Move]:
        last = self.scheduler.ends_with(r)
        if last.kind != VERIFY:
            yield Move("finish")
            return
        accepted = last.end - last.start
        near = {
            b + d - last.start for b in self._boundaries(last.start, self.track) for d in (-1, 0, 1)
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
