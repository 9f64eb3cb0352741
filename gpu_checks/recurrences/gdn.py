"""Gated DeltaNet: the delta rule with one decay a head, keys of length one (Qwen3-Next)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from gpu_checks.recurrences import convolved
from gpu_checks.recurrences.inputs import Source
from gpu_checks.recurrences.recurrence import Recurrence
from gpu_checks.recurrences.tokens import State, Tokens


def unit_length(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys of length one, queries scaled as in attention."""
    query, key = normalize(query, dim=-1), normalize(key, dim=-1)
    return query * query.shape[-1] ** -0.5, key, value


def step(state: State, token: Tokens) -> tuple[State, Tensor]:
    """One token."""
    return convolved.step(state, token, unit_length, delta=True)


def chunk(state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """One chunk of tokens."""
    return convolved.chunk(state, tokens, unit_length, delta=True)


def draw(source: Source) -> Tokens:
    """Tokens whose decay varies around the rate of their head."""
    decay = source.rates() * 2 * source.uniform(1)
    gate = torch.sigmoid(source.normal(1))
    return source.convolved(decay, gate)


GDN = Recurrence("gdn", step, chunk, draw, convolved.empty)
