"""Random inputs whose state fades slowly by construction, so that a misplaced one cannot hide.

Half-lives are log-spaced: error after a resume fades as 2^(-distance / half-life).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gpu_checks.recurrences.base import Shape, Tokens
from gpu_checks.recurrences.convolution import TAPS

SHORTEST_HALF_LIFE, LONGEST_HALF_LIFE = 32, 4096  # tokens


def normal(generator: torch.Generator, shape: Shape, tokens: int, size: int) -> Tensor:
    """Standard normal inputs [1, layers, heads, tokens, size]."""
    return torch.randn(
        1, shape.layers, shape.heads, tokens, size, generator=generator, dtype=torch.float64
    )


def uniform(generator: torch.Generator, shape: Shape, tokens: int, size: int) -> Tensor:
    """Uniform inputs in [0, 1), shaped as the normal ones."""
    return torch.rand(
        1, shape.layers, shape.heads, tokens, size, generator=generator, dtype=torch.float64
    )


def rates(shape: Shape, channels: int = 1) -> Tensor:
    """Log decays a token of every head and channel [heads, 1, channels], their half-lives log-spaced."""
    count = shape.heads * channels
    low, high = math.log2(SHORTEST_HALF_LIFE), math.log2(LONGEST_HALF_LIFE)
    half_lives = torch.logspace(low, high, count, base=2, dtype=torch.float64)
    return (-math.log(2) / half_lives).view(shape.heads, 1, channels)


def taps(generator: torch.Generator, shape: Shape, channels: int) -> Tensor:
    """Weights of a convolution [1, layers, heads, taps, channels], scaled by what they sum over."""
    return normal(generator, shape, TAPS, channels) / TAPS**0.5


def convolved(
    generator: torch.Generator, shape: Shape, tokens: int, decay: Tensor, gate: Tensor
) -> Tokens:
    """Normal queries, keys and values with a convolution over all of them."""
    query, key = (normal(generator, shape, tokens, shape.key) for _ in range(2))
    value = normal(generator, shape, tokens, shape.value)
    weights = taps(generator, shape, 2 * shape.key + shape.value)
    return Tokens(query, key, value, decay, gate, weights)
