"""Kimi Delta Attention: the delta rule with a decay of its own for every key channel (Kimi Linear)."""

from __future__ import annotations

import torch

from gpu_checks.recurrences import convolved, drawing, gdn
from gpu_checks.recurrences.base import Recurrence, Shape, Tokens


def draw(generator: torch.Generator, shape: Shape, tokens: int) -> Tokens:
    """Tokens whose decay varies around the rate of each channel."""
    spread = 2 * drawing.uniform(generator, shape, tokens, shape.key)
    decay = drawing.rates(shape, shape.key) * spread
    gate = torch.sigmoid(drawing.normal(generator, shape, tokens, 1))
    return drawing.convolved(generator, shape, tokens, decay, gate)


# The forms are those of Gated DeltaNet: a decay of many channels is all that differs.
KDA = Recurrence("kda", gdn.step, gdn.chunk, draw, convolved.empty)
