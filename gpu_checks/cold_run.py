"""The cold run: one request from its first token to its last, never interrupted, its states kept where asked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor

from gpu_checks.recurrences import Recurrence, State, Tokens
from gpu_checks.recurrences.tokens import CHUNK


@dataclass(frozen=True)
class ColdRun:
    """What a cold run gave: all outputs [1, layers, heads, tokens, value], states by their depth (tokens)."""

    outputs: Tensor
    states: dict[int, State]

    def states_at(self, depths: Collection[int]) -> State:
        """The states of these depths as one batch, [n, ...] a part."""
        kept = [self.states[depth] for depth in depths]
        return {part: torch.cat([state[part] for state in kept]) for part in kept[0]}

    def windows(self, starts: Tensor, length: int) -> Tensor:
        """The outputs of `length` tokens from each of `starts` [n]: [n, layers, heads, length, value]."""
        index = starts[:, None] + torch.arange(length, device=starts.device)
        return self.outputs[0][..., index, :].movedim(-3, 0)


def by_steps(recurrence: Recurrence, stream: Tokens, depths: Collection[int]) -> ColdRun:
    """Decode steps alone, from the first token on."""
    state, kept, outputs = recurrence.empty(stream), {}, []
    if 0 in depths:
        kept[0] = state
    for position in range(stream.length):
        state, output = recurrence.step(state, stream.token(position))
        outputs.append(output)
        if position + 1 in depths:
            kept[position + 1] = state
    return ColdRun(torch.stack(outputs, -2), kept)


def by_chunks(recurrence: Recurrence, stream: Tokens, depths: Collection[int]) -> ColdRun:
    """One extend in chunks; where a depth is off their grid, its state is run to from the chunk before it."""
    state, kept, outputs = recurrence.empty(stream), {}, []
    for start in range(0, stream.length, CHUNK):
        end = min(start + CHUNK, stream.length)
        for depth in depths:
            if start < depth < end:
                kept[depth], _ = recurrence.chunk(state, stream.span(start, depth))
        if start in depths:
            kept[start] = state
        state, output = recurrence.chunk(state, stream.span(start, end))
        outputs.append(output)
    if stream.length in depths:
        kept[stream.length] = state
    return ColdRun(torch.cat(outputs, -2), kept)
