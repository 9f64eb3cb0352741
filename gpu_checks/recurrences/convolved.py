"""A matrix recurrence behind a short convolution over queries, keys and values: what most families are."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import silu

from gpu_checks.recurrences import convolution, linear_attention
from gpu_checks.recurrences.tokens import State, Tokens

Features = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def empty(tokens: Tokens) -> State:
    """The state before the first token of a stream."""
    channels = _mixed(tokens)
    key, value = tokens.key.shape[-1], tokens.value.shape[-1]
    return {
        "window": convolution.empty(channels),
        "matrix": channels.new_zeros(*channels.shape[:-2], key, value),
    }


def _mixed(tokens: Tokens) -> Tensor:
    return torch.cat([tokens.query, tokens.key, tokens.value], -1)


def _convolved(
    state: State, tokens: Tokens, features: Features
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
    window, mixed = convolution.convolve(state["window"], _mixed(tokens), tokens.taps)
    sizes = [part.shape[-1] for part in (tokens.query, tokens.key, tokens.value)]
    return window, features(*silu(mixed).split(sizes, -1))


def step(state: State, token: Tokens, features: Features, *, delta: bool) -> tuple[State, Tensor]:
    """One token through convolution, `features` and the matrix."""
    as_one = token.each(lambda part: part.unsqueeze(-2))
    window, mixed = _convolved(state, as_one, features)
    query, key, value = (part.squeeze(-2) for part in mixed)
    matrix, output = linear_attention.step(
        state["matrix"], query, key, value, token.decay, token.gate, delta=delta
    )
    return {"window": window, "matrix": matrix}, output


def chunk(state: State, tokens: Tokens, features: Features, *, delta: bool) -> tuple[State, Tensor]:
    """One chunk of tokens through convolution, `features` and the matrix."""
    window, mixed = _convolved(state, tokens, features)
    matrix, outputs = linear_attention.chunk(
        state["matrix"], *mixed, tokens.decay, tokens.gate, delta=delta
    )
    return {"window": window, "matrix": matrix}, outputs
