"""The inputs of a recurrence and the state it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

# A state by its parts: `window`, the last inputs of the convolution [..., tokens, channels], and
# `matrix`, the sum over all that was consumed [..., key, value].  A recurrence may have only one of them.
State = Mapping[str, Tensor]

CHUNK = 64  # tokens that the chunked form takes at a time


def _copied(part: Tensor) -> Tensor:
    """The same numbers in memory of their own: libraries choose a kernel by strides and alignment too."""
    return part.clone(memory_format=torch.contiguous_format)


class Tokens(NamedTuple):
    """The inputs of one layer: each [..., tokens, dimension], or [..., dimension] for one token.

    `query`, `key`, `value`: before the convolution; `decay`: log of the factor that the state is multiplied by, of
    dimension 1 or one a key channel; `gate`: the strength of a write, of dimension 1.  `taps` [..., taps, channels]
    are the convolution's weights, the same for every token.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    decay: Tensor
    gate: Tensor
    taps: Tensor

    @property
    def length(self) -> int:
        """How many tokens these are."""
        return self.query.shape[-2]

    def each(self, function: Callable[[Tensor], Tensor]) -> Tokens:
        """A function of every part but the taps."""
        return Tokens._make([*map(function, self[:-1]), self.taps])

    def token(self, position: int) -> Tokens:
        """One token."""
        return self.each(lambda part: _copied(part[..., position, :]))

    def span(self, start: int, end: int) -> Tokens:
        """The tokens from `start` up to `end`."""
        return self.each(lambda part: _copied(part[..., start:end, :]))

    def windows(self, starts: Tensor, length: int) -> Tokens:
        """For each of `starts` [n] the `length` tokens from there, of a stream [1, ..., tokens, dimension]: [n, ...]."""
        index = starts[:, None] + torch.arange(length, device=starts.device)
        return self.each(lambda part: part[0][..., index, :].movedim(-3, 0))


class Shape(NamedTuple):
    """Sizes of the layers: how many, heads in each, key and value channels of a head."""

    layers: int = 2
    heads: int = 4
    key: int = 16
    value: int = 16
