"""Lightning attention: a sum without the delta rule, without a convolution, whose decay never varies (MiniMax)."""

from __future__ import annotations

import torch
from torch import Tensor

from gpu_checks.recurrences import linear_attention
from gpu_checks.recurrences.inputs import Source
from gpu_checks.recurrences.recurrence import Recurrence
from gpu_checks.recurrences.tokens import State, Tokens


def step(state: State, token: Tokens) -> tuple[State, Tensor]:
    """One token."""
    matrix, output = linear_attention.step(state["matrix"], *token[:-1], delta=False)
    return {"matrix": matrix}, output


def chunk(state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """One chunk of tokens."""
    matrix, outputs = linear_attention.chunk(state["matrix"], *tokens[:-1], delta=False)
    return {"matrix": matrix}, outputs


def draw(source: Source) -> Tokens:
    """Tokens whose decay is the rate of their head."""
    query, key = (source.normal(source.shape.key) for _ in range(2))
    scale = source.shape.key**-0.5
    value = source.normal(source.shape.value)
    gate = torch.ones_like(value[..., :1])
    none = source.taps(0)
    return Tokens(query * scale, key * scale, value, source.rates() * gate, gate, none)


def empty(tokens: Tokens) -> State:
    """The state before the first token of a stream."""
    key, value = tokens.key, tokens.value
    return {"matrix": value.new_zeros(*value.shape[:-2], key.shape[-1], value.shape[-1])}


LIGHTNING = Recurrence("lightning", step, chunk, draw, empty)
