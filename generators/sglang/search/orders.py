"""Orders of events in one request's life as cases: their classes, events and depths."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from generators.cases.codes import Code
from generators.cases.file_format import Case, Event, spelled
from generators.sglang import codes
from generators.sglang.search.equivalence import numbers_of_a_life
from generators.sglang.search.moves import Move
from generators.sglang.search.request_life import RequestLife
from generators.sglang.search.tree_orders import tree_cases, trees_left_out
from spec.sglang.checkpoints import node_of
from spec.sglang.configuration import Configuration
from spec.sglang.engine import ENGINE, FIELD_NAMES
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.sglang.scheduler import VERIFY, Scheduler
from spec.sglang.slot_buffer import UNWRITTEN
from spec.transition_system import Run, Trace, shrunk

ALONE = "alone"


@dataclass(frozen=True)
class OrderClass:
    """One way an order of events goes wrong: by which code, on what kind of slots, by which special events."""

    code: Code
    strategy: str
    overlap: bool
    speculates: bool
    causes: frozenset[str]

    def document(self) -> dict[str, Any]:
        """The class as JSON."""
        return {
            "strategy": self.strategy,
            "overlap": self.overlap,
            "speculates": self.speculates,
            "cause": "+".join(sorted(self.causes)) or ALONE,
        }

    def holds(self, other: OrderClass) -> bool:
        """Whether the other one is this one with more special events than it takes."""
        kinds = (self.code, self.strategy, self.overlap, self.speculates)
        theirs = (other.code, other.strategy, other.overlap, other.speculates)
        return kinds == theirs and self.causes < other.causes


def class_of(design: Design, c: Any, trace: Trace) -> OrderClass:
    """The class of a trace in a configuration."""
    return OrderClass(
        trace.kind,
        c.strategy,
        bool(c.overlap),
        bool(c.speculative_num_draft_tokens),
        trace.causes,
    )


def events_of(design: Design, c: Any, trace: Trace) -> tuple[Event, ...]:
    """The moves of a trace as events of a case."""
    scheduler = Scheduler(design, c)
    request, events = scheduler.admit(), list[Event]()
    for move in trace.moves:
        before = request
        if move.event == "finish":
            events += _end(scheduler, before, move)
        request = move.apply(scheduler, request)
        if move.event != "finish":
            written = [w for w in request.writes if w not in before.writes]
            events.append(
                Event(
                    move.event,
                    request.length - (before.length if move.event != "match" else 0),
                    request.length,
                    snapshot_depth=max(written[-1].state, 0) if written else None,
                    slot=written[-1].by.entry if written else None,
                    node_depth=move.tokens if move.event == "match" else None,
                )
            )
    return (*events[:-1], _with_node(design, c, events[-1], trace))


def _end(scheduler: Scheduler, request: Any, move: Move) -> Iterator[Event]:
    """The result at which a request ends, and its finish."""
    last = scheduler.ends_with(request)
    length = last.end
    if last.kind == VERIFY:
        length = last.start + move.tokens
        yield Event("result", move.tokens, length)
    yield Event("finish", 0, length)


def _with_node(design: Design, c: Any, event: Event, trace: Trace) -> Event:
    node = None if trace.ending.fault else int(node_of(design, c, trace.ending))
    return Event(event.event, event.tokens, event.seq_len, event.snapshot_depth, event.slot, node)


def depths_of(design: Design, c: Any, trace: Trace) -> dict[str, int | None]:
    """The depths (tokens) that a trace ends with; a state that nobody wrote has none."""
    checkpoint = trace.ending
    if checkpoint.fault:
        return {"state": int(checkpoint.recorded), "node": None, "replayed": None}
    node = int(node_of(design, c, checkpoint))
    if checkpoint.state == UNWRITTEN:
        return {"state": None, "node": node, "replayed": None}
    return {"state": int(checkpoint.state), "node": node, "replayed": int(checkpoint.state) - node}


def outcome_of(trace: Trace) -> str:
    """What becomes of the checkpoint that a trace ends with."""
    if trace.ending.fault:
        return "fault"
    return "overwritten" if trace.kind is codes.SLOT_OVERWRITTEN else "misplaced"


def case_of(
    design: Design,
    values: dict[str, Any],
    trace: Trace,
    failure_class: OrderClass,
    members: int | None,
) -> Case:
    """A trace in one configuration as a case."""
    c = Configuration(**values)
    shown = {**values, "recurrence": None, "page_size_given": None}
    if not failure_class.speculates:
        shown |= {"speculative_num_draft_tokens": None, "speculative_algorithm": None}
    if "chunk" not in failure_class.causes:
        shown["chunked_prefill_size"] = None
    kind = "-".join(
        [
            failure_class.strategy.replace("_", "-"),
            "overlap" if failure_class.overlap else "without-overlap",
            *(["speculative"] if failure_class.speculates else []),
            *sorted(cause.replace("_", "-") for cause in failure_class.causes or (ALONE,)),
        ]
    )
    return Case(
        id=f"{trace.kind.name}-{kind}-{spelled(values)}",
        code=trace.kind.id,
        outcome=outcome_of(trace),
        configuration={
            **{name: shown[name] for name in FIELD_NAMES},
            "engine": ENGINE.requirement(design.release),
        },
        trace=events_of(design, c, trace),
        depths=depths_of(design, c, trace),
        klass=failure_class.document(),
        members=members,
    )


def further_orders(
    design: Design, configurations: Iterable[Mapping[str, Any]]
) -> tuple[list[Case], tuple[str, ...]]:
    """The cases of the tree of these configurations, and what of it was not searched, in words."""
    shown = list(configurations)
    return tree_cases(design, shown), trees_left_out(design, shown)


# What a request's life reads of a design only by the numbers it gives.
_READ_AS_NUMBERS = ("extend_grid", "decode_grid", "verify_grid", "extend_row_stride")


def _read_by_a_life(design: Design, c: Any) -> Any:
    """All that the life of a request reads of a design and a configuration."""
    rule = design.extend_rule_under_dcp if c.dcp_size > 1 else design.extend_rule
    unread: dict[str, Any] = {
        "name": "",
        "release": "",
        "guards": (),
        "tree_core": "",
        "tree_cores": (),
        "writes_mixed_prompts": True,
        "undoes_mixed_allocations": True,
    }
    unread |= dict.fromkeys(("flush_grid", "window_grid", *_READ_AS_NUMBERS), grids.track_interval)
    unread |= {
        "algorithms_without_checkpoints": design.algorithms_without_checkpoints
        & {c.speculative_algorithm}
    }
    return (
        replace(design, extend_rule=rule, extend_rule_under_dcp=rule, **unread),
        *(c.strategy, c.overlap, *numbers_of_a_life(design, c).values()),
    )


def first_orders(
    design: Design,
    c: Any,
    wanted: Collection[Code],
    events: int,
    known: dict[Any, Run],
    mixes: bool = False,
) -> Run:
    """The shortest orders, of at most so many events, that break one configuration under a wanted code.

    `mixes`: whether steps share batches with pieces of prompts; `known`: what was found before, by all that a request's life reads; what is found now is entered.
    """
    key = (_read_by_a_life(design, c), mixes)
    if key not in known:
        life = RequestLife(design, c, only_slots=True, mixes=mixes)
        run = life.run(events, wanted)
        traces = (shrunk(life, trace) for trace in run.traces if trace.kind in wanted)
        known[key] = replace(run, traces=tuple(traces))
    return known[key]


def cases_of(design: Design, c: Any, found: Run) -> list[Case]:
    """The orders that were found in one configuration as cases."""
    values = {name: getattr(c, name) for name in FIELD_NAMES}
    return [case_of(design, values, trace, class_of(design, c, trace), 1) for trace in found.traces]
