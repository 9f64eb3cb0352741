"""Kimi Delta Attention: the delta rule with a decay of its own for every key channel (Kimi Linear)."""

from __future__ import annotations

import torch

from gpu_checks.recurrences import convolved, gdn
from gpu_checks.recurrences.inputs import Source
from gpu_checks.recurrences.recurrence import Recurrence
from gpu_checks.recurrences.tokens import Tokens


def draw(source: Source) -> Tokens:
    """Tokens whose decay varies around the rate of each channel."""
    spread = 2 * source.uniform(source.shape.key)
    decay = source.rates(source.shape.key) * spread
    gate = torch.sigmoid(source.normal(1))
    return source.convolved(decay, gate)


# The forms are those of Gated DeltaNet: a decay of many channels is all that differs.
KDA = Recurrence("kda", gdn.step, gdn.chunk, draw, convolved.empty)
