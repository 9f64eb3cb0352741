"""Lightning attention: a sum without the delta rule, without a convolution, whose decay never varies (MiniMax)."""

from __future__ import annotations

import torch
from torch import Tensor

from gpu_checks.recurrences import drawing, linear
from gpu_checks.recurrences.base import Recurrence, Shape, State, Tokens


def step(state: State, token: Tokens) -> tuple[State, Tensor]:
    """One token."""
    matrix, output = linear.step(state["matrix"], *token[:-1], delta=False)
    return {"matrix": matrix}, output


def chunk(state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """Many tokens."""
    matrix, outputs = linear.chunk(state["matrix"], *tokens[:-1], delta=False)
    return {"matrix": matrix}, outputs


def draw(generator: torch.Generator, shape: Shape, tokens: int) -> Tokens:
    """Tokens whose decay is the rate of their head."""
    query, key = (drawing.normal(generator, shape, tokens, shape.key) for _ in range(2))
    scale = shape.key**-0.5
    value = drawing.normal(generator, shape, tokens, shape.value)
    gate = torch.ones_like(value[..., :1])
    none = drawing.taps(generator, shape, 0)
    return Tokens(query * scale, key * scale, value, drawing.rates(shape) * gate, gate, none)


def empty(tokens: Tokens) -> State:
    """The state before the first token of a stream."""
    key, value = tokens.key, tokens.value
    return {"matrix": value.new_zeros(*value.shape[:-2], key.shape[-1], value.shape[-1])}


LIGHTNING = Recurrence("lightning", step, chunk, draw, empty)
