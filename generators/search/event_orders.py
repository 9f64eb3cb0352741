"""Searches a domain for orders of events that end with a wrong checkpoint: one case for each way it can happen.

Configurations in which the same orders are possible are searched once (`groups`), the lengths are those around the
grids (`moves`), and the shortest trace of each class is shrunk to the fewest tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

from generators.cases.codes import Code
from generators.cases.domain import DOMAIN_FIELDS, Domain
from generators.cases.file_format import Case, CaseFile, Event, shortest_first, spelled
from generators.common.errors import Inconclusive
from generators.common.processes import cores, in_order
from generators.search.breadth_first import Found, Trace, TraceSearch
from generators.search.configurations import check_accepted, check_size, unmodelled
from generators.search.limits import Limits, Progress, silent
from generators.search.shrink import shrunk
from generators.search.user_design.load import own_rules
from generators.sglang import codes
from generators.sglang.search.equivalence import numbers_of_a_life, representatives
from generators.sglang.search.moves import Move
from generators.sglang.search.tree_orders import tree_cases, trees_left_out
from spec.sglang.checkpoints import node_of
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.sglang.scheduler import VERIFY, Scheduler
from spec.sglang.slot_buffer import UNWRITTEN

ALONE = "alone"
_OF_AN_OWN_GROUP = 3
_WORTH_A_PROCESS = 8  # groups that are searched before another process has started


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


@dataclass
class _Best:
    trace: Trace
    configuration: dict[str, Any]
    members: int = 0


@dataclass
class Orders:
    """What was found so far in a domain of so many configurations.

    `shown`: the configurations that stand for all, of which `searched` were; `closed`: whether no longer trace can add a
    state; `cut`: whether a search ended at the most cases wanted; `ended`: why the search ended before its time, if it
    was not asked to; `untried`: what can happen to a request and was not tried, in words.
    """

    configurations: int
    shown: tuple[dict[str, Any], ...]
    best: dict[OrderClass, _Best] = field(default_factory=dict)
    searched: int = 0
    closed: bool = True
    cut: bool = False
    ended: str | None = None
    untried: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        """How many searches it takes: one for each configuration that stands for others."""
        return len(self.shown)

    @property
    def complete(self) -> bool:
        """Whether every group was searched, through all its orders of so many events."""
        return self.searched == self.groups and not self.cut and not self.untried

    def notes(self, limits: Limits) -> tuple[str, ...]:
        """What the search of orders covered, in words."""
        groups = "one configuration was" if self.searched == 1 else f"{self.searched} were"
        covered = (
            f"orders: of each group of configurations with like grids one is searched; {groups}"
        )
        if self.searched < self.groups:
            ended = () if self.ended is None else (self.ended,)
            return (f"{covered}, of {self.groups}", *ended)
        if self.cut:
            return (f"{covered}, until {limits.cases} had been found",)
        further = ", and no longer trace reaches a new state" if self.closed else ""
        told = f"{covered}, to {limits.events} events, at lengths around the grids{further}"
        return told, *self.untried

    def offer(self, klass: OrderClass, trace: Trace, values: dict[str, Any], members: int) -> None:
        """Enter a trace; of one class the shortest one stays, the first of equals."""
        known = self.best.get(klass)
        if known is None:
            known = self.best[klass] = _Best(trace, values)
        elif (len(trace.moves), trace.tokens) < (len(known.trace.moves), known.trace.tokens):
            known.trace, known.configuration = trace, values
        known.members += members


def class_of(c: Any, trace: Trace) -> OrderClass:
    """The class of a trace in a configuration."""
    return OrderClass(
        trace.code,
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
    node = None if trace.checkpoint.fault else int(node_of(design, c, trace.checkpoint))
    return Event(event.event, event.tokens, event.seq_len, event.snapshot_depth, event.slot, node)


def depths_of(design: Design, c: Any, trace: Trace) -> dict[str, int | None]:
    """The depths (tokens) that a trace ends with; a state that nobody wrote has none."""
    checkpoint = trace.checkpoint
    if checkpoint.fault:
        return {"state": int(checkpoint.recorded), "node": None, "replayed": None}
    node = int(node_of(design, c, checkpoint))
    if checkpoint.state == UNWRITTEN:
        return {"state": None, "node": node, "replayed": None}
    return {"state": int(checkpoint.state), "node": node, "replayed": int(checkpoint.state) - node}


def outcome_of(trace: Trace) -> str:
    """What becomes of the checkpoint that a trace ends with."""
    if trace.checkpoint.fault:
        return "fault"
    return "overwritten" if trace.code is codes.SLOT_OVERWRITTEN else "misplaced"


def case_of(
    design: Design, values: dict[str, Any], trace: Trace, klass: OrderClass, members: int | None
) -> Case:
    """A trace in one configuration as a case."""
    c = SimpleNamespace(**values)
    shown = {**values, "recurrence": None, "page_size_given": None}
    if not klass.speculates:
        shown |= {"speculative_num_draft_tokens": None, "speculative_algorithm": None}
    if "chunk" not in klass.causes:
        shown["chunked_prefill_size"] = None
    kind = "-".join(
        [
            klass.strategy.replace("_", "-"),
            "overlap" if klass.overlap else "without-overlap",
            *(["speculative"] if klass.speculates else []),
            *sorted(cause.replace("_", "-") for cause in klass.causes or (ALONE,)),
        ]
    )
    return Case(
        id=f"{trace.code.name}-{kind}-{spelled(values)}",
        code=trace.code.id,
        outcome=outcome_of(trace),
        configuration={
            **{name: shown[name] for name in DOMAIN_FIELDS},
            "engine": f"sglang=={design.release}",
        },
        trace=events_of(design, c, trace),
        depths=depths_of(design, c, trace),
        klass=klass.document(),
        members=members,
    )


def find_orders(
    design: Design,
    domain: Domain,
    *,
    guards: bool = True,
    smallest: bool = False,
    limits: Limits = Limits(),
    jobs: int | None = None,
    progress: Progress = silent,
) -> Orders:
    """The orders of events that end with a wrong checkpoint.

    Stops at a limit, at Ctrl-C or where processes are killed, with what was found so far and `complete` false.  `jobs`:
    processes; None: one for each core, where there is work for them.
    """
    own = own_rules(design)
    most = _OF_AN_OWN_GROUP if own else 1
    configurations, todo = representatives(design, domain, guards, smallest, most)
    check_accepted(design, domain, configurations)
    found = Orders(configurations, tuple(values for values, _ in todo))
    jobs = min(cores(), 1 + len(todo) // _WORTH_A_PROCESS) if jobs is None else jobs
    work = partial(_search_one, design, limits)
    try:
        with in_order(work, [values for values, _ in todo], jobs) as runs:
            progress("", 0, found.groups)
            for values, members in todo:
                if limits.met(len(found.best)):
                    break
                run, traces = next(runs)
                for klass, trace in traces:
                    found.offer(klass, trace, values, members)
                found.closed = found.closed and run.is_all and not own
                found.cut = found.cut or not (run.closed or run.events == limits.events)
                found.untried = tuple(dict.fromkeys((*found.untried, *run.untried)))
                found.searched += 1
                progress(f"{len(found.best)} classes of orders", found.searched, found.groups)
    except KeyboardInterrupt:
        pass
    except Inconclusive as lost:
        found.ended = str(lost)
    return found


def _search_one(
    design: Design, limits: Limits, values: dict[str, Any]
) -> tuple[Found, list[tuple[OrderClass, Trace]]]:
    """What breaks one configuration, each the shortest of its class; and how far it was searched."""
    c = SimpleNamespace(**values)
    search = TraceSearch(design, c, mixes=limits.mixes)
    run = search.run(limits.events, most_traces=limits.cases)
    found = [shrunk(search, trace) for trace in run.traces]
    return replace(run, traces=()), [(class_of(c, trace), trace) for trace in found]


def search_orders(
    design: Design,
    domain: Domain,
    *,
    guards: bool = True,
    smallest: bool = False,
    limits: Limits = Limits(),
    jobs: int | None = None,
    progress: Progress = silent,
) -> CaseFile:
    """Every class of orders that ends with a wrong checkpoint, as cases.

    Raises `BadInput` for a domain too large to enumerate, `Vacuous` where the guards exclude all of it.
    """
    check_size(domain)
    found = find_orders(
        design,
        domain,
        guards=guards,
        smallest=smallest,
        limits=limits,
        jobs=jobs,
        progress=progress,
    )
    missing = (*unmodelled(domain), *trees_left_out(design, found.shown))
    return CaseFile(
        design.name,
        domain.document(found.configurations),
        "traces",
        found.complete and not missing,
        shortest_first([*order_cases(design, found), *tree_cases(design, found.shown)]),
        {"events": limits.events},
        (*missing, *found.notes(limits)),
    )


def order_cases(design: Design, found: Orders) -> list[Case]:
    """The classes of orders as cases; one that is another with an event it does not need is left out."""
    return [
        case_of(design, best.configuration, best.trace, klass, best.members)
        for klass, best in found.best.items()
        if not any(other.holds(klass) for other in found.best)
    ]


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
    known: dict[Any, Found],
    mixes: bool = False,
) -> Found:
    """The shortest orders, of at most so many events, that break one configuration under a wanted code.

    `mixes`: whether steps share batches with pieces of prompts; `known`: what was found before, by all that a request's life reads; what is found now is entered.
    """
    key = (_read_by_a_life(design, c), mixes)
    if key not in known:
        search = TraceSearch(design, c, only_slots=True, mixes=mixes)
        run = search.run(events, wanted)
        traces = (shrunk(search, trace) for trace in run.traces if trace.code in wanted)
        known[key] = replace(run, traces=tuple(traces))
    return known[key]


def cases_of(design: Design, c: Any, found: Found) -> list[Case]:
    """The orders that were found in one configuration as cases."""
    values = {name: getattr(c, name) for name in DOMAIN_FIELDS}
    return [case_of(design, values, trace, class_of(c, trace), 1) for trace in found.traces]
