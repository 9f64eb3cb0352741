"""Cold against warm through a real model's forward pass, in one extend and in decode steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gpu_checks.models import caches
from gpu_checks.models.tiny import VOCABULARY
from gpu_checks.resume_pairs import WINDOW, Pair

ALIGNED_TOLERANCE = 1e-3  # of a log-probability; docs/replay.md
MISALIGNED_LEAST = 0.05
BINS = ((0, 1), (1, 16), (16, WINDOW))  # tokens after the resume


@dataclass(frozen=True)
class Compared:
    """A warm run beside the cold one, by the distance from the resume; each list has an entry for each of `BINS`."""

    phase: str
    pair: Pair
    state_error: float
    log_probability: list[float]
    divergence: list[float]
    flips: list[int]

    @property
    def as_predicted(self) -> bool:
        """Whether an aligned run is equal within the tolerance, and another is beyond what a misaligned one must be."""
        largest = max(self.log_probability)
        if self.pair.node == self.pair.state:
            return largest <= ALIGNED_TOLERANCE
        return largest > MISALIGNED_LEAST and self.state_error > MISALIGNED_LEAST


def _compared(phase: str, pair: Pair, state_error: float, warm: Tensor, cold: Tensor) -> Compared:
    difference = (warm - cold).abs().amax(-1)
    divergence = (cold.exp() * (cold - warm)).sum(-1).clamp(min=0)  # Kullback-Leibler, nats
    flipped = warm.argmax(-1) != cold.argmax(-1)
    return Compared(
        phase,
        pair,
        state_error,
        [difference[a:b].max().item() for a, b in BINS],
        [divergence[a:b].max().item() for a, b in BINS],
        [int(flipped[a:b].sum()) for a, b in BINS],
    )


def _run(model: nn.Module, ids: Tensor, cache: Any, start: int, end: int, phase: str) -> Tensor:
    """The tokens from `start` up to `end`: in one forward pass, or one token at a time."""
    step = end - start if phase == "extend" else 1
    parts = [caches.forward(model, ids[:, a : a + step], cache, a) for a in range(start, end, step)]
    return torch.cat(parts)


def _cold(
    model: nn.Module, ids: Tensor, donor: Any, after: Tensor, node: int, phase: str
) -> Tensor:
    """The uninterrupted run: one forward pass over all, or the donor's own steps, which are `after` so far."""
    end = node + WINDOW
    if phase == "extend":
        return _run(model, ids, caches.empty(model), 0, end, phase)[node:]
    reached = node + len(after)
    if reached < end:
        after = torch.cat([after, _run(model, ids, donor, reached, end, phase)])
    return after[:WINDOW]


@torch.no_grad()
def compared(model: nn.Module, node: int, state: int) -> Iterator[Compared]:
    """The right state of a node and the one of `state` tokens (above it), each resumed in both phases.

    In decode both states are those of decode steps, so that the aligned run repeats the donor's own.
    """
    length = max(node + WINDOW, state)
    ids = torch.randint(3, VOCABULARY, (1, length), generator=torch.Generator().manual_seed(1))
    for phase in ("extend", "decode"):
        donor = caches.empty(model)
        if phase == "decode":
            _run(model, ids, donor, 0, node - 1, "extend")
        _run(model, ids, donor, donor.get_seq_length(), node, phase)
        right = caches.kept(donor)
        after = _run(model, ids, donor, node, state, phase)
        wrong = caches.kept(donor)
        cold = _cold(model, ids, donor, after, node, phase)
        for held, depth in ((right, node), (wrong, state)):
            given = caches.hit(donor, held, node)
            error = caches.state_error(given, right)
            warm = _run(model, ids, given, node, node + WINDOW, phase)
            yield _compared(phase, Pair(node, depth), error, warm, cold)
