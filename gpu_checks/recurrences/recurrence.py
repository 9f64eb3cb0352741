"""What a recurrence is: a step over one token, a form over a chunk of them, and where its inputs come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gpu_checks.recurrences.inputs import Source
from gpu_checks.recurrences.tokens import CHUNK, Shape, State, Tokens


@dataclass(frozen=True)
class Recurrence:
    """One recurrence: its two forms, and how its tokens and its first state are made.

    `step(state, token)` consumes one token, `chunk(state, tokens)` at most `CHUNK`; both give the state after them
    and the outputs.  `draw(source)` gives a stream [1, layers, heads, tokens, dimension] in float64.
    """

    name: str
    step: Callable[[State, Tokens], tuple[State, Tensor]]
    chunk: Callable[[State, Tokens], tuple[State, Tensor]]
    draw: Callable[[Source], Tokens]
    empty: Callable[[Tokens], State]

    def stream(
        self,
        tokens: int,
        shape: Shape = Shape(),
        seed: int = 0,
        dtype: torch.dtype = torch.float64,
        device: str | torch.device = "cpu",
    ) -> Tokens:
        """A stream of inputs: the same tokens for a seed, whatever the length, the dtype and the device."""
        drawn = self.draw(Source(shape, tokens, seed))
        return Tokens(*(part.to(device=device, dtype=dtype).contiguous() for part in drawn))

    def scan(self, state: State, tokens: Tokens) -> tuple[State, Tensor]:
        """The step form over many tokens, one after the other."""
        outputs = []
        for position in range(tokens.length):
            state, output = self.step(state, tokens.token(position))
            outputs.append(output)
        return state, torch.stack(outputs, -2)

    def extend(self, state: State, tokens: Tokens) -> tuple[State, Tensor]:
        """The chunked form over many tokens, `CHUNK` at a time: what a chunk gives does not depend on how many follow."""
        outputs = []
        for start in range(0, tokens.length, CHUNK):
            end = min(start + CHUNK, tokens.length)
            state, output = self.chunk(state, tokens.span(start, end))
            outputs.append(output)
        return state, torch.cat(outputs, -2)
