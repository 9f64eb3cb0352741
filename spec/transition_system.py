"""Transition systems over named integers: what their events are, and a shortest way to a harmful state.

An event is a function of a state and whole-number parameters that gives whether it may happen and the state after it,
written with the arithmetic of `spec.numbers`: it runs on integers here and on terms in `spec.smt.spacer`.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from typing import Any

from spec.numbers import Truth

Event = Callable[..., tuple[Truth, Any]]


@dataclass(frozen=True)
class System:
    """A transition system.

    `state`: a dataclass of numbers; `starts`: whether a state is an initial one; `events` by name;
    `harm`: whether a state is one that must not be reached.
    """

    state: type
    starts: Callable[[Any], Truth]
    events: Mapping[str, Event]
    harm: Callable[[Any], Truth]


@dataclass(frozen=True)
class Step:
    """An event that happened, its parameters, and the state after it."""

    event: str
    parameters: Mapping[str, int]
    after: Any


def parameters(event: Event) -> tuple[str, ...]:
    """The names of an event's parameters."""
    return tuple(inspect.signature(event).parameters)[1:]


def shortest_trace(
    system: System, start: Any, values: Sequence[int], most_events: int
) -> list[Step] | None:
    """A shortest way from `start` to harm, parameters out of `values`; None where `most_events` do not lead there."""
    if not system.starts(start):
        raise ValueError(f"{start} is no initial state")
    ways, seen = deque([(start, list[Step]())]), {astuple(start)}
    while ways:
        state, way = ways.popleft()
        if system.harm(state):
            return way
        for step in _steps(system, state, values) if len(way) < most_events else ():
            if astuple(step.after) not in seen:
                seen.add(astuple(step.after))
                ways.append((step.after, [*way, step]))
    return None


def _steps(system: System, state: Any, values: Sequence[int]) -> Iterator[Step]:
    for name, event in system.events.items():
        names = parameters(event)
        for chosen in product(values, repeat=len(names)):
            given = dict(zip(names, chosen, strict=True))
            allowed, after = event(state, **given)
            if allowed:
                yield Step(name, given, after)
