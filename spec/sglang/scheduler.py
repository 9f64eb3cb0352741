"""A request between its events: the passes launched for it, the results known, what it has donated.

An event is what a scheduler can do next: launch a chunk of the prompt, decode steps or a verify, run another request's
batch in between, mix a chunk of another prompt into the next step's batch, run out of slots, or let the request finish.
Under the overlap scheduler a pass is launched before the result of the pass before it is processed; if another
request's batch runs in between, the previous result is processed with no step in flight.  `slot_buffer.py` defines what
an event does to the slots; here is only the order of events, on plain integers.  All lengths are tokens from the start of the sequence.
Source: SGLang 0.5.17 to 0.5.23, `managers/scheduler.py` (`event_loop_overlap`, `event_loop_normal`,
`stash_chunked_request`), `managers/scheduler_components/batch_result_processor.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from spec.records import replace
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import (
    Checkpoint,
    branching_checkpoint,
    decode_checkpoint,
    extend_checkpoint,
)
from spec.sglang.releases import Design
from spec.sglang.slot_buffer import Slots

PROMPT, STEP, VERIFY = "extend", "decode", "verify"
NOTHING = Checkpoint(False, True, 0, 0)  # what a pass leaves that keeps no state


@dataclass(frozen=True)
class Pass:
    """A launched forward pass that brings its request from `start` to `end`; `entry`: where it writes, if it does.

    `mixed`: its batch holds steps and a chunk of a prompt; a step writes no checkpoint then.
    """

    kind: str
    start: int
    end: int
    entry: int = 0
    mixed: bool = False


@dataclass(frozen=True)
class Write:
    """A state that a pass wrote into its entry: the depth it is booked under, the tokens it has consumed."""

    by: Pass
    recorded: int
    state: int


@dataclass(frozen=True)
class Donation:
    """A donated checkpoint, with what had been written into the slots that the request had then."""

    checkpoint: Checkpoint
    writes: tuple[Write, ...]


@dataclass(frozen=True)
class Request:
    """A request of `length` launched tokens, `committed` of them known when a verify is planned.

    `waiting`: passes without a result, the oldest first; `alone`: whether another batch was launched behind them;
    `allocation_fails`: whether the next second slot cannot be had; `mixes`: whether the next step runs in one batch with a
    chunk of another prompt, or the next chunk with others' steps; `writes`: what was written into the
    slots it has; `donated`: its donations so far, in order; `stopped`: whether an assertion of the engine ended it.
    """

    slots: Slots
    length: int
    committed: int
    waiting: tuple[Pass, ...] = ()
    alone: bool = False
    allocation_fails: bool = False
    mixes: bool = False
    writes: tuple[Write, ...] = ()
    donated: tuple[Donation, ...] = ()
    stopped: bool = False


def as_few_as_accept(tokens: int, most: int) -> Iterator[int]:
    """The tokens that each verify accepts if as few verifies as possible accept `tokens`: full ones, then the rest."""
    full, rest = divmod(tokens, most)
    yield from repeat(most, full)
    if rest:
        yield rest


class Scheduler:
    """The events of one request under a design and a configuration; each gives the request after it."""

    def __init__(self, design: Design, c: Any):
        self.design, self.c = design, c
        self.ahead = int(bool(c.overlap))
        self.grid = int(design.grid("decode", c))
        self.verify_grid = int(design.grid("verify", c))

    def admit(self, prefix: int = 0) -> Request:
        """A new request that is given the state of its first `prefix` tokens."""
        return Request(slot_buffer.admitted(self.c), prefix, prefix)

    def extend(self, r: Request, end: int, branching: int | None = None) -> Request:
        """Launch the prompt up to `end`; where a chunk of it went before, that one's checkpoint is donated first.

        `branching`: the branching point (tokens) at which the request has to keep a state, if it has one.
        """
        r = self._settled(r, 0)
        if branching is None:
            checkpoint = extend_checkpoint(self.design, self.c, r.length, end)
        else:
            checkpoint = branching_checkpoint(self.design, self.c, r.length, end, branching)
        if checkpoint.fault:
            return replace(self._donating(r, checkpoint), length=end, stopped=True)
        slots = slot_buffer.prompt_launched(self.design, self.c, r.slots, checkpoint, r.mixes)
        launched = Pass(PROMPT, r.length, end, int(r.slots.next), r.mixes)
        unwritten = r.mixes and not self.design.writes_mixed_prompts
        r = replace(r, slots=slots, mixes=False)
        return self._launched(r, launched, NOTHING if unwritten else checkpoint)

    def decode(self, r: Request, to: int) -> Request:
        """Launch decode steps until the one at `to`, each result processed when the scheduler would."""
        for length in self.steps_that_matter(r.length, to):
            r = self._step(r, length)
        return r

    def _step(self, r: Request, length: int) -> Request:
        """Launch the step at a length, behind steps of which none writes, labels or swaps."""
        r = self._before_a_launch(r)
        if length > r.length + 1:
            r = replace(r, length=length - 1, waiting=(Pass(STEP, length - 2, length - 1),))
            r = self._before_a_launch(r)
        launch = slot_buffer.mixed_launched if r.mixes else slot_buffer.step_launched
        slots = launch(self.design, self.c, r.slots, length, r.allocation_fails)
        checkpoint = decode_checkpoint(self.design, self.c, length)
        fails = r.allocation_fails and not checkpoint.saved
        launched = Pass(STEP, r.length, length, int(slots.written), r.mixes)
        r = replace(r, slots=slots, allocation_fails=fails, mixes=False)
        return self._launched(r, launched, NOTHING if launched.mixed else checkpoint)

    def verify(self, r: Request, accepted: int) -> Request:
        """Launch a verify that accepts `accepted` tokens."""
        r = self._before_a_launch(r)
        slots, entry = self._of_verifies("verify_planned", r.slots, r.committed, r.allocation_fails)
        slots = self._of_verifies("verify_launched", slots, entry, r.length, accepted)
        checkpoint = self._of_verifies("verify_checkpoint", r.length, accepted)
        r = replace(r, slots=slots, allocation_fails=False)
        launched = Pass(VERIFY, r.length, r.length + accepted, int(entry))
        return self._launched(r, launched, checkpoint)

    def verify_on(self, r: Request, tokens: int) -> Request:
        """Launch as few verifies as can accept `tokens` tokens together: full ones, then one of the rest."""
        most, to = int(self.c.speculative_num_draft_tokens), r.length + tokens
        while r.length < to:
            r = self._past_idle_verifies(r, to)
            r = self.verify(r, next(as_few_as_accept(to - r.length, most)))
        return r

    def _past_idle_verifies(self, r: Request, to: int) -> Request:
        """The request behind the full verifies on its way for which no slot is planned, written or labelled."""
        most, here = int(self.c.speculative_num_draft_tokens), r.length // self.verify_grid
        far = min(to, (here + 1) * self.verify_grid - 2 * most)
        idle = (far - r.length - 1) // most
        if idle <= 0:
            return r
        settled = self._before_a_launch(r)
        near = [
            p for p in settled.waiting if p.kind == PROMPT or p.start // self.verify_grid != here
        ]
        if near or r.allocation_fails:
            return r
        length = r.length + idle * most
        last = Pass(VERIFY, length - most, length, int(settled.slots.next))
        return replace(settled, length=length, committed=last.start, waiting=(last,), alone=False)

    def other_batch(self, r: Request) -> Request:
        """Launch another request's batch: what was launched before has its results processed with nothing ahead."""
        return replace(r, alone=True)

    def mixed_batch(self, r: Request) -> Request:
        """Let the next step, or chunk of the prompt, run in one batch with others' (`--enable-mixed-chunk`).

        Source: SGLang 0.5.17 to 0.5.23, `managers/schedule_batch.py` (`mix_with_running`): the rows of running requests
        have no track mask, and up to 0.5.22 those of prompts have none either; their result is processed by
        `process_batch_result_prefill`, which does nothing to slots.
        """
        return replace(r, mixes=True)

    def allocation_failure(self, r: Request) -> Request:
        """Let the next allocation of a second slot fail."""
        return replace(r, allocation_fails=True)

    def ends_with(self, r: Request) -> Pass:
        """The pass at whose result the request finishes, if it does so now."""
        return self._last_results(r).waiting[0]

    def settled(self, r: Request, finishes: bool) -> Request:
        """The request once the results are processed that come before it finishes, or before its next launch."""
        return self._last_results(r) if finishes else self._before_a_launch(r)

    def finish(self, r: Request, retained: int | None = None, grammar: bool = False) -> Request:
        """Finish at the next result, whatever is in flight behind it.

        A verify ends with `retained` of its tokens: a stop token counts all that were accepted, a grammar only those.
        """
        r = self._last_results(r)
        last = r.waiting[0]
        slots, key = r.slots, r.length
        if last.kind == STEP:
            slots = self._step_completed(slots, last, r.waiting[1:], finishes=True)
        elif last.kind == VERIFY:
            accepted = last.end - last.start
            kept = accepted if retained is None else retained
            counted = kept if grammar else accepted
            slots = slot_buffer.verify_completed(
                self.design, self.c, slots, last.entry, last.start, accepted, counted, True
            )
            key = last.start + counted
            if not grammar and self.design.key_ends_at_the_stop:
                # The stop token is in the key, though no verify has consumed it.
                key = min(key, last.start + kept + 1)
        elif self.c.speculative_num_draft_tokens:
            key = last.end
        donated = slot_buffer.finished(self.design, self.c, slots, key)
        return replace(self._donating(r, donated), slots=slots, waiting=())

    def _of_verifies(self, rule: str, *arguments: Any) -> Any:
        """The result of a rule of verifies in `slot_buffer.py`; a search may cache it, as the same is asked repeatedly."""
        return getattr(slot_buffer, rule)(self.design, self.c, *arguments)

    def _step_completed(
        self, slots: Slots, step: Pass, behind: Sequence[Pass], finishes: bool = False
    ) -> Slots:
        """The slots after the result of a step, with the passes launched behind it."""
        if step.mixed:
            return slots
        mixed = any(later.mixed for later in behind)
        return slot_buffer.step_completed(
            self.design, self.c, slots, step.end, len(behind), finishes, mixed
        )

    @staticmethod
    def _donating(r: Request, checkpoint: Checkpoint) -> Request:
        return replace(r, donated=(*r.donated, Donation(checkpoint, r.writes)))

    def _last_results(self, r: Request) -> Request:
        return self._settled(r, 1) if r.alone else r

    def _launched(self, r: Request, launched: Pass, checkpoint: Checkpoint) -> Request:
        committed = launched.end if launched.kind == PROMPT else r.committed
        writes = r.writes
        if checkpoint.saved:
            depths = int(checkpoint.recorded), int(checkpoint.state)
            writes = (*writes, Write(launched, *depths))
        return replace(
            r,
            length=launched.end,
            committed=committed,
            waiting=(*r.waiting, launched),
            alone=False,
            writes=writes,
        )

    def _before_a_launch(self, r: Request) -> Request:
        return self._settled(r, 0 if r.alone else self.ahead)

    def _settled(self, r: Request, most: int) -> Request:
        """The request with results processed, the oldest first, until at most `most` are waiting."""
        while len(r.waiting) > most:
            r = self._result(r)
        return r

    def _result(self, r: Request) -> Request:
        done, *behind = r.waiting
        r = replace(r, waiting=tuple(behind))
        if done.kind == PROMPT:
            kept = r.slots.kept
            slots, donated = slot_buffer.prompt_completed(self.design, self.c, r.slots)
            r = self._donating(r, donated)
            left = tuple(w for w in r.writes if w.by.entry != kept) if donated.saved else r.writes
            return replace(r, slots=slots, writes=left)
        if done.kind == STEP:
            return replace(r, slots=self._step_completed(r.slots, done, behind))
        accepted = done.end - done.start
        slots = self._of_verifies(
            "verify_completed", r.slots, done.entry, done.start, accepted, accepted
        )
        return replace(r, slots=slots, committed=done.end)

    def steps_that_matter(self, length: int, to: int) -> Iterator[int]:
        """The steps beyond `length` to launch one by one: the first, each boundary and the one after it, the last."""
        boundaries = range(length // self.grid * self.grid, to + 1, self.grid)
        after = {boundary + step for boundary in boundaries for step in (0, 1)}
        yield from sorted(n for n in {length + 1, *after, to} if length < n <= to)
