"""A gated short convolution: its window is all the state there is (LFM2)."""

from __future__ import annotations

import torch
from torch import Tensor

from gpu_checks.recurrences import convolution
from gpu_checks.recurrences.inputs import Source
from gpu_checks.recurrences.recurrence import Recurrence
from gpu_checks.recurrences.tokens import State, Tokens


def step(state: State, token: Tokens) -> tuple[State, Tensor]:
    """One token."""
    inputs = (token.key * token.value).unsqueeze(-2)
    window, mixed = convolution.convolve(state["window"], inputs, token.taps)
    return {"window": window}, token.query * mixed.squeeze(-2)


def chunk(state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """One chunk of tokens."""
    inputs = tokens.key * tokens.value
    window, mixed = convolution.convolve(state["window"], inputs, tokens.taps)
    return {"window": window}, tokens.query * mixed


def draw(source: Source) -> Tokens:
    """Queries, keys and values of the size of a value; nothing decays."""
    query, key, value = (source.normal(source.shape.value) for _ in range(3))
    gate = torch.ones_like(value[..., :1])
    taps = source.taps(source.shape.value)
    return Tokens(query, key, value, torch.zeros_like(gate), gate, taps)


def empty(tokens: Tokens) -> State:
    """The state before the first token of a stream."""
    return {"window": convolution.empty(tokens.value)}


SHORT_CONV = Recurrence("short_conv", step, chunk, draw, empty)
