"""One request: its forward passes on a recurrence, and its life in the slots by the rules of `spec/sglang/life.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_checks.phases import verified
from gpu_checks.recurrences import Recurrence, State, Tokens
from gpu_checks.serving.buffer import Buffer
from spec.sglang import life
from spec.sglang.checkpoints import Checkpoint, extend_checkpoint, flushed_checkpoint, node_of
from spec.sglang.designs import Design
from spec.sglang.rules import verify as verify_rules


class EngineFault(Exception):
    """An assertion of the engine stops the request; says at how many tokens."""


@dataclass(frozen=True)
class Donation:
    """A state handed to the tree: depths (tokens) of its node and of what it has consumed, and the state itself."""

    node: int
    depth: int
    state: State


Result = Callable[
    [int, bool], None
]  # called with later steps launched, and whether the request ends


class Request:
    """A request on one recurrence, its tokens a stream [1, layers, heads, tokens, dimension]."""

    def __init__(self, design: Design, c: Any, recurrence: Recurrence, stream: Tokens):
        self._design, self._c, self._recurrence, self._stream = design, c, recurrence, stream
        self._state = recurrence.empty(stream)
        self._slots = life.admitted(c)
        self._buffer = Buffer(self._state)
        self.length = 0  # tokens launched
        self.committed = 0  # tokens whose result is known
        self.donations: list[Donation] = []

    def _become(self, slots: life.Slots, computed: Mapping[int, State]) -> None:
        self._buffer.follow(self._slots, slots, computed)
        self._slots = slots

    def _donate(self, checkpoint: Checkpoint) -> None:
        node = int(node_of(self._design, self._c, checkpoint))
        if checkpoint.saved and node:
            depth = int(checkpoint.state)
            self.donations.append(Donation(node, depth, self._buffer.holding(self._slots, depth)))

    def extend(self, end: int) -> Result:
        """Launch an extend up to `end` tokens; kernels keep a state every `mamba_chunk_size` tokens."""
        prefix, computed = self.length, {self.length: self._state}
        self.committed = end
        while self.length < end:
            reached = min(self.length + self._c.mamba_chunk_size, end)
            span = self._stream.span(self.length, reached)
            self._state, _ = self._recurrence.chunk(self._state, span)
            self.length = reached
            computed[reached] = self._state
        checkpoint = extend_checkpoint(self._design, self._c, prefix, end)
        if checkpoint.fault:
            raise EngineFault(f"an assertion of the engine stops the extend from {prefix} to {end}")
        self._become(life.prompt_launched(self._design, self._c, self._slots, checkpoint), computed)

        def result(lookahead: int, finishes: bool) -> None:
            after, donated = life.prompt_completed(self._design, self._c, self._slots)
            self._donate(donated)
            self._become(after, {})

        return result

    def decode(self, allocation_fails: bool = False) -> Result:
        """Launch one decode step."""
        self._state, _ = self._recurrence.step(self._state, self._stream.token(self.length))
        self.length += 1
        seq_len = self.length
        after = life.step_launched(self._design, self._c, self._slots, seq_len, allocation_fails)
        self._become(*self._snapshot(after, seq_len))

        def result(lookahead: int, finishes: bool) -> None:
            after = life.step_completed(
                self._design, self._c, self._slots, seq_len, lookahead, finishes
            )
            self._become(after, {})
            self.committed = seq_len

        return result

    def _snapshot(self, after: life.Slots, seq_len: int) -> tuple[life.Slots, dict[int, State]]:
        """What a decode step writes into its slot: the state it has reached."""
        return after, {seq_len: self._state}

    def verify(self, drafts: Tokens, accepted: int, allocation_fails: bool = False) -> Result:
        """Launch a verify of `drafts`, of which `accepted` are right; the state of that step is committed."""
        pre = self.length
        states, _ = verified(self._recurrence, self._state, drafts)
        computed = {
            int(verify_rules.state_depth(pre, step)): state for step, state in enumerate(states)
        }
        planned, entry = life.verify_planned(
            self._design, self._c, self._slots, self.committed, allocation_fails
        )
        self._become(planned, {})
        self._become(
            life.verify_launched(self._design, self._c, self._slots, entry, pre, accepted), computed
        )
        self.length = pre + accepted
        self._state = computed[self.length]

        def result(lookahead: int, finishes: bool) -> None:
            after = life.verify_completed(
                self._design, self._c, self._slots, entry, pre, accepted, accepted, finishes
            )
            self._become(after, {})
            self.committed = pre + accepted

        return result

    def finish(self, key_length: int) -> None:
        """End with a key of `key_length` tokens, and donate."""
        self._donate(life.finished(self._design, self._c, self._slots, key_length))


class PendingRequest(Request):
    """A request whose decode steps leave their inputs pending until a flush: a snapshot copies the state flushed last.

    Source: ReplaySSM, see `spec/sglang/rules/flush.py`.
    """

    def __init__(self, design: Design, c: Any, recurrence: Recurrence, stream: Tokens):
        super().__init__(design, c, recurrence, stream)
        self._flushed = (0, self._state)  # tokens consumed, state

    def extend(self, end: int) -> Result:
        """Launch an extend; it leaves nothing pending."""
        result = super().extend(end)
        self._flushed = (self.length, self._state)
        return result

    def _snapshot(self, after: life.Slots, seq_len: int) -> tuple[life.Slots, dict[int, State]]:
        depth = int(flushed_checkpoint(self._design, self._c, seq_len).state)
        done, base = self._flushed
        if depth > done:
            pending = self._stream.span(done, depth)
            self._flushed = done, base = depth, self._recurrence.scan(base, pending)[0]
        if after is not self._slots and int(after.state(after.written)) == seq_len:
            after = after.put(after.written, done)
        return after, {done: base}
