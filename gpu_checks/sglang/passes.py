"""The forward passes of one request on a recurrence: each gives the states that it leaves to be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpu_checks.phases import drafted, verified
from gpu_checks.recurrences import Recurrence, State, Tokens
from gpu_checks.sglang.buffer import Snapshot
from spec.sglang.checkpoints import flushed_checkpoint
from spec.sglang.releases import Design
from spec.sglang.scheduler import PROMPT, STEP, Pass

Computed = Mapping[int, Snapshot]  # by the depth (tokens) under which the rules know it


class Passes:
    """The passes of a request, its tokens a stream [1, layers, heads, tokens, dimension]."""

    def __init__(self, design: Design, c: Any, recurrence: Recurrence, stream: Tokens):
        self._design, self._c, self._recurrence, self._stream = design, c, recurrence, stream
        self.state: State = recurrence.empty(stream)
        self._length = 0

    def run(self, launched: Pass) -> Computed:
        """Run a pass, and the steps that led to it and kept nothing."""
        if launched.kind == STEP:
            return self._decode(launched.end)
        self._step_to(launched.start)
        if launched.kind == PROMPT:
            return self._extend(launched.end)
        return self._verify(launched.end)

    def _step_to(self, length: int) -> None:
        if length > self._length:
            span = self._stream.span(self._length, length)
            self.state, _ = self._recurrence.scan(self.state, span)
            self._length = length

    def _extend(self, end: int) -> Computed:
        """Kernels leave a state every `mamba_chunk_size` tokens."""
        computed = {self._length: self.state}
        while self._length < end:
            reached = min(self._length + self._c.mamba_chunk_size, end)
            span = self._stream.span(self._length, reached)
            self.state, _ = self._recurrence.extend(self.state, span)
            self._length = reached
            computed[reached] = self.state
        return {depth: Snapshot(depth, state) for depth, state in computed.items()}

    def _decode(self, end: int) -> Computed:
        self._step_to(end)
        return {end: Snapshot(end, self.state)}

    def _verify(self, end: int) -> Computed:
        """A state after each drafted token; that of the last accepted one is committed."""
        start, accepted = self._length, end - self._length
        drafts = drafted(
            self._stream, start, accepted, max(accepted, int(self._c.speculative_num_draft_tokens))
        )
        computed, _ = verified(self._recurrence, self.state, drafts, start)
        self.state, self._length = computed[end], end
        return {depth: Snapshot(depth, state) for depth, state in computed.items()}


class PendingPasses(Passes):
    """Passes whose decode steps leave their inputs pending until a flush: a snapshot copies the state flushed last.

    Source: ReplaySSM, see `spec/sglang/rules/flush.py`.
    """

    def __init__(self, design: Design, c: Any, recurrence: Recurrence, stream: Tokens):
        super().__init__(design, c, recurrence, stream)
        self._flushed = Snapshot(0, self.state)

    def _extend(self, end: int) -> Computed:
        """An extend leaves nothing pending."""
        computed = super()._extend(end)
        self._flushed = computed[end]
        return computed

    def _decode(self, end: int) -> Computed:
        self._length = end
        depth = int(flushed_checkpoint(self._design, self._c, end).state)
        if depth > self._flushed.consumed:
            pending = self._stream.span(self._flushed.consumed, depth)
            state, _ = self._recurrence.scan(self._flushed.state, pending)
            self._flushed = Snapshot(depth, state)
        return {end: self._flushed}
