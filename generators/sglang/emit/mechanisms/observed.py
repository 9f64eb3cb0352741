"""Predictions for what lies outside the model: what was seen on each release.

Source: the emitted tests' own runs on the released wheels 0.5.17 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from generators.sglang.emit.mechanisms.base import NotComparable
from spec.sglang.releases import Design

FOREIGN = -2  # a state that consumed other tokens than the request starts with
NOT_DRIVEN = None  # the release has no such code, or keeps it where the test does not look

Seen = Any  # as a test records it; "fault" where an assertion of the engine stops it


def resumed(node: int, state: int | None = None) -> Seen:
    """That a request goes on from `node` tokens with a state that has consumed `state`, or as many."""
    return {"node": node, "state": node if state is None else state}


def by_release(seen: Seen, others: Mapping[str, Seen]) -> Callable[[Design], Seen]:
    """What is seen on a design; `others`: where it is not the same on all, by release or, as `0.5.23+insert-guard`, by design."""

    def observe(design: Design) -> Seen:
        name = design.name.removeprefix("sglang-")
        found = others.get(name, others.get(design.release, seen))
        if found is NOT_DRIVEN:
            raise NotComparable
        return found

    return observe


def resumes_rightly(seen: Seen) -> bool:
    """Whether a request goes on from as many tokens as its state has consumed."""
    return seen != "fault" and bool(seen["node"] == seen["state"])
