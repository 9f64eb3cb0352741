"""A case told step by step: what each event leaves behind, and the ticks of the grids it is drawn over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generators.cases import Case, Event
from spec.sglang.configuration import Configuration
from spec.sglang.rules import grids

# A ruler has no more ticks of one grid than this; of a finer grid every so many are drawn.
MOST_TICKS = 256


@dataclass(frozen=True)
class Ticks:
    """The depths (tokens) of one grid along the ruler; `every`: of so many multiples one is drawn."""

    name: str
    step: int
    depths: tuple[int, ...]
    every: int = 1


@dataclass(frozen=True)
class Step:
    """An event and what it leaves: sequence length, state and node depth, replayed tokens; None where nothing new."""

    event: Event
    begin: int
    state_depth: int | None
    node_depth: int | None
    replayed: int | None
    says: str


@dataclass(frozen=True)
class Timeline:
    """A case ready to be shown; all numbers are tokens."""

    case: Case
    engine: str
    length: int
    ticks: tuple[Ticks, ...]
    steps: tuple[Step, ...]


def _configuration(case: Case) -> Configuration:
    """The configuration of a case, the engine's defaults where it does not matter."""
    names = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")
    given = {name: case.configuration.get(name) for name in names}
    return replace(Configuration(), **{k: v for k, v in given.items() if v is not None})


def _ticks(name: str, step: int, length: int) -> Ticks:
    every = max(1, length // step // MOST_TICKS)
    return Ticks(name, step, tuple(range(step, length + 1, step * every)), every)


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"


def _does(event: Event) -> str:
    known = {
        "extend": f"the prompt is extended by {_tokens(event.tokens)}",
        "decode": f"{_tokens(event.tokens)} decoded, one a step",
        "verify": f"a verify accepts {_tokens(event.tokens)}",
        "other_batch": "another request's batch is launched in between",
        "result": "the result of a launched step is processed",
        "finish": "the request finishes and its checkpoint is donated",
        "match": "a follower matches a cached prefix",
        "split": "a node of the tree is split",
        "evict": "a node of the tree is evicted",
        "allocation_failure": "a second slot cannot be allocated",
    }
    return known.get(event.event, event.event)


def _says(event: Event, replayed: int | None) -> str:
    """One sentence about an event."""
    parts = [_does(event)]
    if event.snapshot_depth is not None:
        where = "" if event.slot is None else f" into slot {event.slot}"
        parts.append(f"a state of {_tokens(event.snapshot_depth)} is written{where}")
    if event.node_depth is not None:
        verb = "is given" if event.event == "match" else "hangs on"
        parts.append(f"it {verb} the node of depth {event.node_depth}")
    if replayed:
        what = "replayed" if replayed > 0 else "skipped"
        parts.append(f"{_tokens(abs(replayed))} {what}")
    return "; ".join(parts)


def _steps(case: Case) -> Sequence[Step]:
    """The steps; an event that reaches the case's node has the case's state on it."""
    node, state, begin, steps = case.depths["node"], None, 0, []
    for event in case.trace:
        state = event.snapshot_depth if event.snapshot_depth is not None else state
        reached = event.node_depth is not None and event.node_depth == node
        here = case.depths["state"] if reached else state
        replayed = case.depths["replayed"] if reached else None
        says = _says(event, replayed)
        if case.outcome == "fault" and event is case.trace[-1]:
            says += "; an assertion of the engine stops it"
        steps.append(Step(event, begin, here, event.node_depth, replayed, says))
        begin = max(begin, event.seq_len)
    return steps


def timeline(case: Case, design: str) -> Timeline:
    """The timeline of a case found in a design."""
    c = _configuration(case)
    depths = [n for n in case.depths.values() if n is not None]
    length = max([event.seq_len for event in case.trace] + depths)
    page = grids.tree_page(c)
    length = max(-(-length // page) * page, 1)
    ticks = (
        _ticks("tree page", page, length),
        _ticks("chunk", c.mamba_chunk_size, length),
        _ticks("interval", c.mamba_track_interval, length),
    )
    return Timeline(
        case, case.configuration.get("engine") or design, length, ticks, tuple(_steps(case))
    )
