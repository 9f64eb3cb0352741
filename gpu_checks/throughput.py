"""Decode steps in tokens per second, held against the memory floor: the time to read and write the state once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from gpu_checks.recurrences import Recurrence
from gpu_checks.recurrences.tokens import Shape


@dataclass(frozen=True)
class Load:
    """How much is run: requests in a batch, the layers, steps that are timed, bytes of the buffer that is copied."""

    requests: int
    shape: Shape
    steps: int
    copied: int


LOADS = {
    "cpu": Load(4, Shape(2, 4, 32, 32), 32, 1 << 26),
    "cuda": Load(32, Shape(12, 32, 128, 128), 64, 1 << 32),
}


@dataclass(frozen=True)
class Speed:
    """Measured tokens a second, those that the copy bandwidth allows, and bytes of state a request has."""

    tokens_per_second: float
    floor_tokens_per_second: float
    state_bytes: int


def _seconds(work: Callable[[], object], device: str) -> float:
    """Seconds that the work takes, the device idle before and after."""
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def copy_bandwidth(load: Load, device: str) -> float:
    """Bytes read and written a second by a copy within the device's memory."""
    source = torch.zeros(load.copied // 4, dtype=torch.float32, device=device)
    target = torch.zeros_like(source)
    return 2 * load.copied / _seconds(lambda: target.copy_(source), device)


def speed(recurrence: Recurrence, load: Load, bandwidth: float, device: str) -> Speed:
    """Decode steps of a batch of requests in float32; `bandwidth` in bytes a second."""
    drawn = recurrence.stream(load.steps, load.shape, dtype=torch.float32, device=device)
    stream = drawn.each(lambda part: part.expand(load.requests, *part.shape[1:]).clone())
    state = recurrence.empty(stream)
    size = sum(value.numel() * value.element_size() for value in state.values())
    seconds = _seconds(lambda: recurrence.scan(state, stream), device)
    tokens = load.requests * load.steps
    floor_seconds = load.steps * 2 * size / bandwidth
    return Speed(tokens / seconds, tokens / floor_seconds, size // load.requests)
