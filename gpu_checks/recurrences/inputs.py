"""Random inputs whose state fades slowly by construction, so that a misplaced one cannot hide.

Half-lives are log-spaced: error after a resume fades as 2^(-distance / half-life).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gpu_checks.recurrences.convolution import TAPS
from gpu_checks.recurrences.tokens import CHUNK, Shape, Tokens

SHORTEST_HALF_LIFE, LONGEST_HALF_LIFE = 32, 4096  # tokens


@dataclass
class Source:
    """Numbers of a seed for one stream; the first tokens are the same however many are asked for."""

    shape: Shape
    tokens: int
    seed: int = 0
    _draws: int = field(default=0, init=False)

    def _drawn(self, function, tokens: int, size: int) -> Tensor:
        # Each draw has a generator of its own, and goes by tokens first, so that a longer stream only adds.
        self._draws += 1
        generator = torch.Generator().manual_seed(1000 * self.seed + self._draws)
        whole = -(-tokens // CHUNK) * CHUNK
        drawn = function(
            (whole, self.shape.layers, self.shape.heads, size),
            generator=generator,
            dtype=torch.float64,
        )
        return drawn[:tokens].movedim(0, 2)[None]

    def normal(self, size: int) -> Tensor:
        """Standard normal inputs [1, layers, heads, tokens, size]."""
        return self._drawn(torch.randn, self.tokens, size)

    def uniform(self, size: int) -> Tensor:
        """Uniform inputs in [0, 1), shaped as the normal ones."""
        return self._drawn(torch.rand, self.tokens, size)

    def taps(self, channels: int) -> Tensor:
        """Weights of a convolution [1, layers, heads, taps, channels], scaled by what they sum over."""
        return self._drawn(torch.randn, TAPS, channels) / TAPS**0.5

    def rates(self, channels: int = 1) -> Tensor:
        """Log decays a token of every head and channel [heads, 1, channels], their half-lives log-spaced."""
        count = self.shape.heads * channels
        low, high = math.log2(SHORTEST_HALF_LIFE), math.log2(LONGEST_HALF_LIFE)
        half_lives = torch.logspace(low, high, count, base=2, dtype=torch.float64)
        return (-math.log(2) / half_lives).view(self.shape.heads, 1, channels)

    def convolved(self, decay: Tensor, gate: Tensor) -> Tokens:
        """Normal queries, keys and values with a convolution over all of them."""
        key, value = self.shape.key, self.shape.value
        parts = (self.normal(key), self.normal(key), self.normal(value))
        return Tokens(*parts, decay, gate, self.taps(2 * key + value))
