"""The short causal convolution in front of a recurrence, and the window of inputs that it carries along."""

from __future__ import annotations

import torch
from torch import Tensor

TAPS = 4  # tokens that an output sees, its own included


def convolve(window: Tensor, inputs: Tensor, taps: Tensor) -> tuple[Tensor, Tensor]:
    """Many tokens: the window after them and the sums over `taps` tokens.

    `window` [..., taps - 1, channels] are the inputs before, oldest first; `inputs` [..., tokens, channels];
    `taps` [..., taps, channels].  Each output adds up in the same order however many tokens there are.
    """
    seen = torch.cat([window, inputs], -2)
    length, count = inputs.shape[-2], taps.shape[-2]
    outputs = seen[..., :length, :] * taps[..., :1, :]
    for tap in range(1, count):
        outputs = outputs + seen[..., tap : tap + length, :] * taps[..., tap : tap + 1, :]
    return seen[..., length:, :].clone(), outputs


def empty(inputs: Tensor) -> Tensor:
    """The window before the first token of `inputs` [..., tokens, channels]: zeros."""
    return inputs.new_zeros(*inputs.shape[:-2], TAPS - 1, inputs.shape[-1])
