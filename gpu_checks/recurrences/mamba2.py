"""Mamba2 (SSD): a sum without the delta rule; a write is as strong as its time step (Falcon-H1, Bamba, Nemotron-H).

Upstream's B is the key here, C the query, x the value and dt the gate.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import softplus

from gpu_checks.recurrences import convolved
from gpu_checks.recurrences.inputs import Source
from gpu_checks.recurrences.recurrence import Recurrence
from gpu_checks.recurrences.tokens import State, Tokens


def as_they_are(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """SSD does nothing to what comes out of the convolution."""
    return query, key, value


def step(state: State, token: Tokens) -> tuple[State, Tensor]:
    """One token."""
    return convolved.step(state, token, as_they_are, delta=False)


def chunk(state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """One chunk of tokens."""
    return convolved.chunk(state, tokens, as_they_are, delta=False)


def draw(source: Source) -> Tokens:
    """Tokens whose decay is the rate of their head times their time step, which is about one."""
    time_step = softplus(source.normal(1) + 0.5413)
    return source.convolved(source.rates() * time_step, time_step)


MAMBA2 = Recurrence("mamba2", step, chunk, draw, convolved.empty)
