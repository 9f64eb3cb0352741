"""Searches a domain for orders of events that end with a wrong checkpoint: one case for each way it can happen.

Configurations in which the same orders are possible are searched once (`equivalence`), the lengths are those
that the engine's model tries, and the shortest trace of each class is shrunk to the fewest tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from generators.cases.domain import Domain
from generators.cases.file_format import Case, CaseFile, shortest_first
from generators.common.errors import Inconclusive
from generators.common.processes import cores, in_order
from generators.engines import engine_of
from generators.search.configurations import check_accepted, check_size
from generators.search.equivalence import representatives
from generators.search.limits import Progress, SearchLimits, silent
from generators.search.user_design.load import own_rules
from spec.engine import Design
from spec.engine import engine_of as model_of
from spec.transition_system import Run, Trace, shortest_traces, shrunk

_OF_AN_OWN_CLASS = 3  # configurations looked at, of a design with rules of the user's own
_WORTH_A_PROCESS = 8  # configurations that are searched before another process has started


class OrderClass(Protocol):
    """One way in which an order of events goes wrong."""

    def holds(self, other: Any) -> bool:
        """Whether the other one is this one with more special events than it takes."""


@dataclass
class Shortest:
    """The shortest trace of a class so far, the configuration it breaks, and how many it stands for."""

    trace: Trace
    configuration: dict[str, Any]
    members: int = 0


@dataclass
class OrderSearchResult:
    """What was found so far in a domain of a given number of configurations.

    `shown`: the configurations that stand for all, of which `searched` were; `closed`: whether no longer trace can add a
    state; `cut`: whether a search ended at the most cases wanted; `ended`: why the search ended before its time, if it
    was not asked to; `untried`: what can happen to a request and was not tried, in words.
    """

    configurations: int
    shown: tuple[dict[str, Any], ...]
    best: dict[OrderClass, Shortest] = field(default_factory=dict)
    searched: int = 0
    closed: bool = True
    cut: bool = False
    ended: str | None = None
    untried: tuple[str, ...] = ()

    @property
    def representatives(self) -> int:
        """How many searches it takes: one for each configuration that stands for others."""
        return len(self.shown)

    @property
    def complete(self) -> bool:
        """Whether every representative was searched, through all its orders of at most that many events."""
        return self.searched == self.representatives and not self.cut and not self.untried

    def notes(self, limits: SearchLimits) -> tuple[str, ...]:
        """What the search of orders covered, in words."""
        classes = f"{self.searched} class{'' if self.searched == 1 else 'es'}"
        covered = "event orders: one configuration of each equivalence class was searched"
        if self.searched < self.representatives:
            ended = () if self.ended is None else (self.ended,)
            return (f"{covered} ({classes} of {self.representatives})", *ended)
        if self.cut:
            return (f"{covered} ({classes}), until {limits.cases} cases had been found",)
        further = "; the state space is exhausted, longer orders add nothing" if self.closed else ""
        note = f"{covered} ({classes}), up to {limits.events} events, at lengths near the grids{further}"
        return note, *self.untried

    def offer(
        self, failure_class: OrderClass, trace: Trace, values: dict[str, Any], members: int
    ) -> None:
        """Enter a trace; of one class the shortest one stays, the first of equals."""
        known = self.best.get(failure_class)
        if known is None:
            known = self.best[failure_class] = Shortest(trace, values)
        elif (len(trace.moves), trace.tokens) < (len(known.trace.moves), known.trace.tokens):
            known.trace, known.configuration = trace, values
        known.members += members


def find_orders(
    design: Design,
    domain: Domain,
    *,
    guards: bool = True,
    smallest: bool = False,
    limits: SearchLimits = SearchLimits(),
    jobs: int | None = None,
    progress: Progress = silent,
) -> OrderSearchResult:
    """The orders of events that end with a wrong checkpoint.

    Stops at a limit, at Ctrl-C or where processes are killed, with what was found so far and `complete` false.  `jobs`:
    processes; None: one for each core, where there is work for them.
    """
    own = own_rules(design)
    most = _OF_AN_OWN_CLASS if own else 1
    configurations, todo = representatives(design, domain, guards, smallest, most)
    check_accepted(design, domain, configurations)
    found = OrderSearchResult(configurations, tuple(values for values, _ in todo))
    jobs = min(cores(), 1 + len(todo) // _WORTH_A_PROCESS) if jobs is None else jobs
    work = partial(_search_one, design, limits)
    try:
        with in_order(work, [values for values, _ in todo], jobs) as runs:
            progress("", 0, found.representatives)
            for values, members in todo:
                if limits.met(len(found.best)):
                    break
                run, traces = next(runs)
                for failure_class, trace in traces:
                    found.offer(failure_class, trace, values, members)
                found.closed = found.closed and run.is_all and not own
                found.cut = found.cut or not (run.closed or run.events == limits.events)
                found.untried = tuple(dict.fromkeys((*found.untried, *run.untried)))
                found.searched += 1
                progress(
                    f"{len(found.best)} classes of orders", found.searched, found.representatives
                )
    except KeyboardInterrupt:
        pass
    except Inconclusive as lost:
        found.ended = str(lost)
    return found


def _search_one(
    design: Design, limits: SearchLimits, values: dict[str, Any]
) -> tuple[Run, list[tuple[OrderClass, Trace]]]:
    """What breaks one configuration, each the shortest of its class; and how far it was searched."""
    c, search = model_of(design).configuration_of(values), engine_of(design).search
    model = search.life(design, c, limits.mixes)
    run = shortest_traces(model, limits.events, most_traces=limits.cases)
    found = [shrunk(model, trace) for trace in run.traces]
    return replace(run, traces=()), [(search.class_of(design, c, trace), trace) for trace in found]


def search_orders(
    design: Design,
    domain: Domain,
    *,
    guards: bool = True,
    smallest: bool = False,
    limits: SearchLimits = SearchLimits(),
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
    search = engine_of(design).search
    further, left_out = search.further_orders(design, found.shown)
    missing = (*search.unmodelled(domain), *left_out)
    return CaseFile(
        design.name,
        domain.document(found.configurations),
        "traces",
        found.complete and not missing,
        shortest_first([*order_cases(design, found), *further]),
        {"events": limits.events},
        (*missing, *found.notes(limits)),
    )


def order_cases(design: Design, found: OrderSearchResult) -> list[Case]:
    """The classes of orders as cases; one that is another with an event it does not need is left out."""
    return [
        engine_of(design).search.order_case(
            design, best.configuration, best.trace, failure_class, best.members
        )
        for failure_class, best in found.best.items()
        if not any(other.holds(failure_class) for other in found.best)
    ]
