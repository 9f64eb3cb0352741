"""A case step by step: what each event leaves behind, and the ticks of the grids it is drawn over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from generators.cases import wording
from generators.cases.domain import engine_of_names
from generators.cases.file_format import Case, Event
from generators.engines import engine

# A ruler has no more ticks of one grid than this; of a finer grid only some are drawn.
MOST_TICKS = 256
_LAUNCHES = ("extend", "decode", "verify", "match")


Held = tuple[int, int]


@dataclass(frozen=True)
class Donated:
    """A donation: the depth (tokens) of its label, the tokens its state has consumed (None: nobody wrote it), its slot."""

    label: int
    state: int | None
    slot: int


@dataclass(frozen=True)
class Standing:
    """How things stand after an event.

    `written`: the states that it wrote, in order, `overwritten`: those that it wrote over, each as slot and tokens
    consumed; `held`: what slots 0 and 1 hold, as words; `donated`: the last of what it donated.
    """

    written: tuple[Held, ...]
    overwritten: tuple[Held, ...]
    held: tuple[str, str]
    donated: Donated | None


@dataclass(frozen=True)
class Ticks:
    """The depths (tokens) of one grid along the ruler; `every`: one of that number of multiples is drawn."""

    name: str
    step: int
    depths: tuple[int, ...]
    every: int = 1


@dataclass(frozen=True)
class Step:
    """An event and what it leaves: sequence length, state and node depth, replayed tokens; None where nothing new.

    `begin`: the length before it; `written`: slot (None: not known) and depth of each state that it wrote; `standing`:
    how the slots stand after it, None where that is not known.
    """

    event: Event
    begin: int
    state_depth: int | None
    node_depth: int | None
    replayed: int | None
    sentence: str
    written: tuple[tuple[int | None, int], ...]
    standing: Standing | None

    @property
    def held(self) -> tuple[Any, ...]:
        """What each slot holds after it; where that is not known, the one slot that the case names, if it does."""
        return self.standing.held if self.standing else (self.event.slot,)

    @property
    def reaches(self) -> int:
        """The length that it brings the request to, where it launches tokens."""
        return self.event.seq_len if self.event.event in _LAUNCHES else self.begin


@dataclass(frozen=True)
class Timeline:
    """A case ready to be shown; all numbers are tokens."""

    case: Case
    engine: str
    length: int
    ticks: tuple[Ticks, ...]
    steps: tuple[Step, ...]

    @property
    def configuration(self) -> list[tuple[str, Any]]:
        """The fields of the configuration that matter to the case, with their values."""
        return [(k, v) for k, v in self.case.configuration.items() if v is not None]

    @property
    def slots(self) -> tuple[int, ...]:
        """The slots whose contents are known."""
        return (0, 1) if self.steps[0].standing else ()


def _ticks(name: str, step: int, length: int) -> Ticks:
    every = max(1, length // step // MOST_TICKS)
    return Ticks(name, step, tuple(range(step, length + 1, step * every)), every)


def _writes(event: Event, standing: Standing | None) -> tuple[tuple[int | None, int], ...]:
    """Slot and depth of each state that an event wrote; the case itself names the last one only."""
    if standing is not None:
        return standing.written
    return () if event.snapshot_depth is None else ((event.slot, event.snapshot_depth),)


def _sentence(case: Case, step: Step, most_accepted: int | None) -> str:
    """One sentence about an event."""
    event, donated = step.event, step.standing.donated if step.standing else None
    parts = [wording.clause(event, step.begin, most_accepted)]
    parts += [wording.written(*one) for one in step.written]
    if donated is not None:
        known = "" if event.event == "finish" else "the prompt's result is processed: "
        parts.append(known + wording.inserted(donated.slot, donated.label, donated.state))
    elif event.event == "finish":
        parts.append("its checkpoint is inserted")
    if event.node_depth is not None:
        verb = "at which it resumes" if event.event == "match" else "to which it is attached"
        parts.append(f"the node {verb} is that of {wording.tokens(event.node_depth)}")
    if step.replayed:
        what = "replayed" if step.replayed > 0 else "skipped"
        parts.append(f"{wording.tokens(abs(step.replayed))} {what}")
    if case.outcome == "fault" and event is case.trace[-1]:
        parts.append("an assertion of the engine stops it")
    return "; ".join(parts)


def _steps(case: Case, design: str) -> Iterator[Step]:
    """The steps; an event that reaches the case's node has the case's state on it."""
    explaining = engine(engine_of_names({**case.configuration, "design": design})).explain
    standings = explaining.walked(case, design) or (None,) * len(case.trace)
    most_accepted = explaining.most_accepted(case)
    node, state, begin = case.depths["node"], None, 0
    for event, standing in zip(case.trace, standings, strict=True):
        written = _writes(event, standing)
        state = written[-1][1] if written else state
        reached = event.node_depth is not None and event.node_depth == node
        step = Step(
            event,
            begin,
            case.depths["state"] if reached else state,
            event.node_depth,
            case.depths["replayed"] if reached else None,
            "",
            written,
            standing,
        )
        yield replace(step, sentence=_sentence(case, step, most_accepted))
        begin = max(begin, step.reaches)


def timeline(case: Case, design: str) -> Timeline:
    """The timeline of a case found in a design."""
    of = engine(engine_of_names({**case.configuration, "design": design}))
    grids = of.explain.grids(case)
    depths = [n for n in case.depths.values() if n is not None]
    length = max([event.seq_len for event in case.trace] + depths)
    page = grids[0][1]
    length = max(-(-length // page) * page, 1)
    ticks = tuple(_ticks(name, step, length) for name, step in grids)
    return Timeline(
        case, case.configuration.get("engine") or design, length, ticks, tuple(_steps(case, design))
    )
