"""Transition systems: the search for the shortest way to a wrong state, and how such a way is shrunk.

`Model` is what is searched: states, the moves that lead from one to another, and what is wrong with a state.  States
that share a key are one, so that a search can end: where no new state is left, every longer trace has been searched.
A `System` is one whose events are functions of a state and whole-number parameters, written with the arithmetic of
`spec.numbers`: it runs on integers here and on terms in `spec.smt.spacer`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from typing import Any, Protocol

from spec.numbers import Truth

Event = Callable[..., tuple[Truth, Any]]


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a state: of what kind it is, what it ends with, and its length (tokens)."""

    kind: Any
    ending: Any
    tokens: int


@dataclass(frozen=True)
class Trace:
    """Moves that end with something wrong, of what kind it is, and the special events that it takes."""

    moves: tuple[Any, ...]
    kind: Any
    causes: frozenset[str]
    ending: Any
    tokens: int


@dataclass(frozen=True)
class Run:
    """The traces of one model; `events` searched through, `closed`: whether no longer one can add any.

    `untried`: what can happen and was not tried, in words.
    """

    traces: tuple[Trace, ...]
    events: int
    closed: bool
    untried: tuple[str, ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether no order of any length is left that was not searched."""
        return self.closed and not self.untried


class Model(Protocol):
    """A transition system whose states are searched; a state is hashable."""

    @property
    def untried(self) -> tuple[str, ...]:
        """What can happen and is none of its moves, in words."""

    def starts(self) -> Iterable[tuple[tuple[Any, ...], Any]]:
        """The initial states, each with the moves that led to it."""

    def ways(self, state: Any) -> Iterable[tuple[Any, Hashable]]:
        """The ways in which a state can go on, each with the key that distinguishes it from every state that goes on differently."""

    def successors(self, state: Any, way: Any) -> Iterable[tuple[Any, Any]]:
        """The moves of one way, and the state after each."""

    def special(self, state: Any, move: Any) -> str | None:
        """What makes a move more than what happens in any case."""

    def wrong(self, state: Any) -> Wrong | None:
        """What is wrong with the state after a move."""

    def judged(self, state: Any) -> Any:
        """The state without what was judged, which goes on."""

    def is_end(self, move: Any) -> bool:
        """Whether nothing comes after a move."""


class Replayable(Model, Protocol):
    """A model whose moves can be made one by one, also at other lengths than it would choose."""

    def start(self) -> Any:
        """The state before the first move."""

    def is_possible(self, state: Any, move: Any) -> bool:
        """Whether a move makes sense in a state."""

    def apply(self, state: Any, move: Any) -> Any:
        """The state after a move."""


class Move(Protocol):
    """A move with a length; `reaches`: whether its tokens are the length that it leads to."""

    @property
    def tokens(self) -> int: ...
    @property
    def reaches(self) -> bool: ...
    def earlier(self, tokens: int) -> Move:
        """The same move at a length that is so many tokens less."""


@dataclass(frozen=True)
class _Node:
    """A state with how it came to be, and the ways in which it is the first one to go on."""

    state: Any
    moves: tuple[Any, ...]
    causes: frozenset[str]
    ways: tuple[Any, ...]


class _Reached:
    """The keys of the states reached so far, each with the special events by which."""

    def __init__(self) -> None:
        self._causes: dict[Hashable, list[frozenset[str]]] = {}

    def is_new(self, key: Hashable, causes: frozenset[str]) -> bool:
        """Whether no state like this one was reached before by the same special events, or by fewer."""
        reached = self._causes.setdefault(key, [])
        if any(known <= causes for known in reached):
            return False
        reached.append(causes)
        return True


def shortest_traces(
    model: Model, most_events: int, wanted: Collection[Any] = (), most_traces: int | None = None
) -> Run:
    """The shortest trace of every kind and set of special events, of at most so many events, breadth-first.

    Where kinds are `wanted`, it ends with the shortest traces of any of them; else once there are `most_traces`.
    """
    found: list[Trace] = []
    reached, events = _Reached(), 0
    frontier = [_start(model, moves, state) for moves, state in model.starts()]

    def is_enough() -> bool:
        return any(f.kind in wanted for f in found) or len(found) >= (most_traces or math.inf)

    while frontier and events < most_events and not is_enough():
        events += 1
        following, wrong = [], []
        for node in frontier:
            for way in node.ways:
                for move, after in model.successors(node.state, way):
                    special = model.special(node.state, move)
                    causes = node.causes if special is None else node.causes | {special}
                    if (problem := model.wrong(after)) is not None:
                        wrong.append(_trace((*node.moves, move), causes, problem))
                    elif not model.is_end(move):
                        state = model.judged(after)
                        if not reached.is_new(state, causes):
                            continue
                        ways = tuple(
                            w for w, key in model.ways(state) if reached.is_new(key, causes)
                        )
                        if ways:
                            following.append(_Node(state, (*node.moves, move), causes, ways))
        for trace in sorted(wrong, key=lambda t: (len(t.causes), t.tokens)):
            if not any(f.kind == trace.kind and f.causes <= trace.causes for f in found):
                found.append(trace)
        frontier = following
    return Run(tuple(found), events, not frontier, model.untried)


def _start(model: Model, moves: tuple[Any, ...], state: Any) -> _Node:
    causes = frozenset(c for m in moves if (c := model.special(state, m)) is not None)
    return _Node(state, moves, causes, tuple(way for way, _ in model.ways(state)))


def _trace(moves: tuple[Any, ...], causes: frozenset[str], problem: Wrong) -> Trace:
    return Trace(moves, problem.kind, causes, problem.ending, problem.tokens)


def followed(model: Replayable, moves: Sequence[Any]) -> Trace | None:
    """The trace up to the first wrong state that moves lead to; None where there is none or they are impossible."""
    state, causes = model.start(), frozenset[str]()
    for number, move in enumerate(moves, 1):
        if not model.is_possible(state, move):
            return None
        special = model.special(state, move)
        causes = causes if special is None else causes | {special}
        state = model.apply(state, move)
        if (problem := model.wrong(state)) is not None:
            return _trace(tuple(moves[:number]), causes, problem)
        state = model.judged(state)
    return None


def shrunk(model: Replayable, trace: Trace) -> Trace:
    """The trace with no length left that can be less by itself or together with those behind it.

    It ends wrong in the same way, by the same special events.
    """
    step = 1 << max(trace.tokens.bit_length() - 1, 0)
    while step:
        shorter = next(_shorter(model, trace, step), None)
        if shorter is None:
            step //= 2
        else:
            trace = shorter
    return trace


def _shorter(model: Replayable, trace: Trace, step: int) -> Iterator[Trace]:
    for moves in _candidates(trace.moves, step):
        found = followed(model, moves)
        if found is None or (found.kind, found.causes) != (trace.kind, trace.causes):
            continue
        if len(found.moves) == len(moves) and found.tokens < trace.tokens:
            yield found


def _candidates(moves: tuple[Any, ...], step: int) -> Iterator[tuple[Any, ...]]:
    """The moves with a length, and perhaps every length behind it, less by a step (tokens)."""
    for index, move in enumerate(moves):
        if move.tokens > step:
            before, behind = moves[:index], moves[index + 1 :]
            moved = tuple(m.earlier(step) if m.reaches else m for m in behind)
            yield (*before, move.earlier(step), *moved)
            yield (*before, move.earlier(step), *behind)


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
    if system.harm(start):
        return []
    traces = shortest_traces(_Harm(system, start, values), most_events, most_traces=1).traces
    return [*traces[0].moves] if traces else None


@dataclass(frozen=True)
class _Harm:
    """A system from one state on, as a model whose wrong states are the harmful ones."""

    system: System
    start: Any
    values: Sequence[int]
    untried: tuple[str, ...] = ()

    def starts(self) -> Iterable[tuple[tuple[Any, ...], Any]]:
        yield (), self.start

    def ways(self, state: Any) -> Iterable[tuple[Any, Hashable]]:
        yield None, astuple(state)

    def successors(self, state: Any, way: Any) -> Iterator[tuple[Step, Any]]:
        for name, event in self.system.events.items():
            names = parameters(event)
            for chosen in product(self.values, repeat=len(names)):
                given = dict(zip(names, chosen, strict=True))
                allowed, after = event(state, **given)
                if allowed:
                    yield Step(name, given, after), after

    def special(self, state: Any, move: Any) -> None:
        return None

    def wrong(self, state: Any) -> Wrong | None:
        return Wrong("harm", state, 0) if self.system.harm(state) else None

    def judged(self, state: Any) -> Any:
        return state

    def is_end(self, move: Any) -> bool:
        return False
