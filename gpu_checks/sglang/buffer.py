"""The snapshot slots of a request as tensors, kept in step with what the rules say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from gpu_checks.recurrences import State
from spec.sglang.slot_buffer import UNWRITTEN, Slots

ENTRIES = (0, 1)


class NotComputed(Exception):
    """The rules want a state written that the forward pass did not compute; says its depth."""


@dataclass(frozen=True)
class Snapshot:
    """A state, and the tokens that it has consumed."""

    consumed: int
    state: State

    def copy(self) -> Snapshot:
        """The same in memory of its own."""
        return Snapshot(self.consumed, {part: value.clone() for part, value in self.state.items()})


def poisoned(like: State) -> Snapshot:
    """A slot that nobody wrote: NaN, so that nothing read from it can pass for a state."""
    nan = {part: torch.full_like(value, torch.nan) for part, value in like.items()}
    return Snapshot(UNWRITTEN, nan)


class Buffer:
    """The two entries of a request's ping-pong buffer, of which `Slots` say what they should hold."""

    def __init__(self, slots: Slots, like: State):
        self._slots, self._like = slots, like
        self._entries = [poisoned(like) for _ in ENTRIES]

    def follow(self, slots: Slots, computed: Mapping[int, Snapshot]) -> None:
        """Copy what was computed into each entry whose state is another one now; an entry that has none is poisoned.

        `computed` is by the depth (tokens) under which the rules know it.
        """
        before, self._slots = self._slots, slots
        for entry in ENTRIES:
            depth = int(slots.state(entry))
            if depth == int(before.state(entry)):
                continue
            if depth >= 0 and depth not in computed:
                raise NotComputed(f"no forward pass computed the state of {depth} tokens")
            written = computed[depth].copy() if depth >= 0 else poisoned(self._like)
            self._entries[entry] = written

    def holding(self, depth: int) -> Snapshot:
        """A copy of the entry that holds the state of `depth` (tokens) by the rules; poison for one that nobody wrote."""
        if depth == UNWRITTEN:
            return poisoned(self._like)
        entry = next(e for e in ENTRIES if int(self._slots.state(e)) == depth)
        return self._entries[entry].copy()
