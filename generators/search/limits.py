"""How far a search goes, and how it reports its progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

MOST_EVENTS = 8
Progress = Callable[[str, int, int], None]


def silent(text: str, done: int, total: int) -> None:
    """Report no progress."""


@dataclass(frozen=True)
class SearchLimits:
    """Events of a trace, a time (of `time.monotonic`, seconds) to stop at, classes to find; None: no limit.

    `mixes`: whether a step may share its batch with a chunk of another prompt.
    """

    events: int = MOST_EVENTS
    until: float | None = None
    cases: int | None = None
    mixes: bool = False

    def met(self, found: int) -> bool:
        """Whether, with so many classes found, no more is to be searched."""
        late = self.until is not None and time.monotonic() > self.until
        return late or (self.cases is not None and found >= self.cases)
