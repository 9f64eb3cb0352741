"""A case told step by step: what each event leaves behind, and the ticks of the grids it is drawn over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from generators.cases.file_format import Case, Event
from generators.explain.walkthrough import Donated, Standing, walked
from spec.sglang.configuration import Configuration
from spec.sglang.rules import grids

# A ruler has no more ticks of one grid than this; of a finer grid every so many are drawn.
MOST_TICKS = 256
_LAUNCHES = ("extend", "decode", "verify", "match")


@dataclass(frozen=True)
class Ticks:
    """The depths (tokens) of one grid along the ruler; `every`: of so many multiples one is drawn."""

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
    says: str
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


def _verifies(event: Event, most: int | None) -> str:
    if most and event.tokens > most:
        return f"{_tokens(event.tokens)} accepted by verifies of {most} at most"
    return f"a verify accepts {_tokens(event.tokens)}"


def _does(event: Event, begin: int, most_accepted: int | None) -> str:
    ahead = _tokens(begin - event.seq_len) if begin > event.seq_len else ""
    known = {
        "extend": f"the prompt is extended by {_tokens(event.tokens)}",
        "decode": f"{_tokens(event.tokens)} decoded, one a step",
        "verify": _verifies(event, most_accepted),
        "other_batch": "another request's batch is launched in between",
        "result": f"the result of a verify is processed: {_tokens(event.tokens)} of it retained, as the request ends",
        "finish": "the request finishes" + (f", {ahead} launched beyond it" if ahead else ""),
        "match": "a follower matches a cached prefix",
        "split": "a node of the tree is split",
        "evict": "a node of the tree is evicted",
        "mixed_batch": "what is launched next shares its batch: a step with a chunk of another prompt, or a prompt with others' steps",
        "allocation_failure": "a second slot cannot be allocated",
    }
    return known.get(event.event, event.event)


def _writes(event: Event, standing: Standing | None) -> tuple[tuple[int | None, int], ...]:
    """Slot and depth of each state that an event wrote; the case itself names the last one only."""
    if standing is not None:
        return standing.written
    return () if event.snapshot_depth is None else ((event.slot, event.snapshot_depth),)


def _writing(slot: int | None, depth: int) -> str:
    where = "" if slot is None else f" into slot {slot}"
    return f"a state of {_tokens(depth)} is written{where}"


def _donation(donated: Donated) -> str:
    holds = "nobody wrote" if donated.state is None else f"holds {_tokens(donated.state)}"
    return f"slot {donated.slot}, labelled {donated.label}, which {holds}, is donated"


def _says(case: Case, step: Step) -> str:
    """One sentence about an event."""
    event, donated = step.event, step.standing.donated if step.standing else None
    most_accepted = case.configuration.get("speculative_num_draft_tokens")
    parts = [_does(event, step.begin, most_accepted), *(_writing(*one) for one in step.written)]
    if donated is not None:
        known = "" if event.event == "finish" else "the prompt's result is processed: "
        parts.append(known + _donation(donated))
    elif event.event == "finish":
        parts.append("its checkpoint is donated")
    if event.node_depth is not None:
        verb = "is given" if event.event == "match" else "hangs on"
        parts.append(f"it {verb} the node of depth {event.node_depth}")
    if step.replayed:
        what = "replayed" if step.replayed > 0 else "skipped"
        parts.append(f"{_tokens(abs(step.replayed))} {what}")
    if case.outcome == "fault" and event is case.trace[-1]:
        parts.append("an assertion of the engine stops it")
    return "; ".join(parts)


def _steps(case: Case, design: str) -> Iterator[Step]:
    """The steps; an event that reaches the case's node has the case's state on it."""
    standings = walked(case, design) or (None,) * len(case.trace)
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
        yield replace(step, says=_says(case, step))
        begin = max(begin, step.reaches)


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
        case, case.configuration.get("engine") or design, length, ticks, tuple(_steps(case, design))
    )
