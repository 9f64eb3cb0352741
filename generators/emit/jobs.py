"""Cases that are to be replayed on numbers: their names, and what a replay needs of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from generators.cases.file_format import Case, Event


class NotReplayed(Exception):
    """A case has nothing to resume from, or needs what a replay does not serve; its text is the reason."""


@dataclass(frozen=True)
class ReplayJob:
    """A case under its name: its design, its events, the depths (tokens) of the node it resumes at and of its state.

    `recurrences`: the layers that it is a case of; `grammar`: whether a grammar ends its request, and not a stop token;
    `pending`: whether tokens are pending between two flush steps.
    """

    name: str
    design: Any
    configuration: Any
    events: tuple[Event, ...]
    node: int
    state: int
    recurrences: tuple[str, ...]
    grammar: bool = False
    pending: bool = False


def named(cases: Iterable[tuple[Case, str]]) -> dict[str, tuple[Case, str]]:
    """Cases, each with the name of its design, by names of their own: the id, with the design where several have it.

    What is found twice in one design is one case.
    """
    distinct: dict[tuple[str, str], Case] = {}
    for case, design in cases:
        distinct.setdefault((case.id, design), case)
    count = Counter(id for id, _ in distinct)
    return {
        id if count[id] == 1 else f"{id}-{design}": (case, design)
        for (id, design), case in distinct.items()
    }
