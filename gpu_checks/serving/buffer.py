"""The snapshot slots of a request as tensors, kept in step with what the rules say of them."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from gpu_checks.recurrences import State
from spec.sglang.life import Slots

ENTRIES = (0, 1)


class NotComputed(Exception):
    """The rules want a state written that the forward pass did not compute; says its depth."""


def poisoned(like: State) -> State:
    """A slot that nobody wrote: NaN, so that nothing read from it can pass for a state."""
    return {part: torch.full_like(value, torch.nan) for part, value in like.items()}


class Buffer:
    """The two entries of a request's ping-pong buffer.

    `follow` writes what a change of `Slots` says: the state that has consumed so many tokens goes into the entry
    whose number changed; an entry that is freed or handed out afresh is poisoned.
    """

    def __init__(self, like: State):
        self._like = like
        self._entries = [poisoned(like) for _ in ENTRIES]

    def follow(self, before: Slots, after: Slots, computed: Mapping[int, State]) -> None:
        """Copy into each entry that changed; `computed` are states by the tokens they have consumed."""
        for entry in ENTRIES:
            depth = int(after.state(entry))
            if depth == int(before.state(entry)):
                continue
            if depth < 0:
                self._entries[entry] = poisoned(self._like)
                continue
            if depth not in computed:
                raise NotComputed(f"no forward pass computed the state of {depth} tokens")
            self._entries[entry] = {k: v.clone() for k, v in computed[depth].items()}

    def holding(self, slots: Slots, depth: int) -> State:
        """A copy of the entry whose state has consumed `depth` tokens."""
        entry = next(e for e in ENTRIES if int(slots.state(e)) == depth)
        return {part: value.clone() for part, value in self._entries[entry].items()}
