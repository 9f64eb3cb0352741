"""Searches a domain for everything that breaks a design: the complete set of classes, one readable case each.

Every producer of checkpoints is surveyed: the design's rules are evaluated on every configuration of the domain.  Where
a producer's lengths are unbounded, its survey has the solver show that a class that was not found does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy

from generators.cases.codes import Code
from generators.cases.domain import Domain, flag
from generators.cases.file_format import Case, CaseFile, Event, shortest_first, spelled
from generators.common.errors import BadInput, Inconclusive, Vacuous
from generators.engines import engine_of
from generators.search import batches
from generators.search.batches import Batch
from generators.search.limits import Progress, silent
from generators.search.representative import ranks, written_first
from spec.engine import Design
from spec.engine import engine_of as model_of


@dataclass(frozen=True)
class WrongCheckpoint:
    """A wrong checkpoint in one concrete configuration: its outcome, the events that lead to it, its depths in tokens."""

    outcome: str
    trace: tuple[Event, ...]
    depths: dict[str, int | None]


@dataclass
class Members:
    """The members of one class so far: how many, and the one to show."""

    members: int = 0
    rank: Any = None
    configuration: dict[str, Any] = field(default_factory=dict)
    lengths: Any = None

    def offer(
        self, count: int, rank: Any, configuration: dict[str, Any], lengths: Any = None
    ) -> None:
        """Enter so many members, of which the one with the lowest rank is given."""
        self.members += count
        if self.rank is None or rank < self.rank:
            self.rank, self.configuration, self.lengths = rank, configuration, lengths


class Survey(Protocol):
    """What a search finds out about one kind of checkpoint, batch by batch."""

    @property
    def classes(self) -> int:
        """How many classes were found so far."""

    def see(self, batch: Batch, rank: numpy.ndarray) -> None:
        """Enter what of a batch is broken; `rank`: for each configuration, the lowest is shown first."""

    def close(self, configurations: int, progress: Progress) -> list[str]:
        """Show that there is no further class, and that no class has more members; why not, where it is not shown."""

    def cases(self) -> Iterator[Case]:
        """A case for each class that was found."""

    def breaks(self, batch: Batch) -> numpy.ndarray:
        """Which configurations of a batch it finds broken."""


class GridProducer(Protocol):
    """A producer whose checkpoints lie on a grid: of each period of them in a row one is right."""

    @property
    def name(self) -> str: ...
    @property
    def code(self) -> Code: ...
    def breaks(self, design: Any, c: Any) -> tuple[Any, Any]:
        """Where it stores a checkpoint wrongly, and the period there."""

    def find(self, design: Any, c: Any) -> WrongCheckpoint | None:
        """The first wrong checkpoint of one configuration."""


class GridSurvey:
    """The configurations that a producer's grid breaks, by its period; which are all, as each one is evaluated."""

    def __init__(self, design: Design, producer: GridProducer):
        self.design, self.producer = design, producer
        self.found: dict[int, Members] = {}

    @property
    def classes(self) -> int:
        """How many periods break something."""
        return len(self.found)

    def see(self, batch: Batch, rank: numpy.ndarray) -> None:
        """Enter the wrong configurations of a batch under their periods."""
        broken, period = self._evaluated(batch)
        if not broken.any():
            return
        wrong, period, rank = batch.where(broken), period[broken], rank[broken]
        order = numpy.argsort(rank, kind="stable")
        values, first, counts = numpy.unique(period[order], return_index=True, return_counts=True)
        for value, index, count in zip(values, first, counts, strict=True):
            where = int(order[index])
            entry = self.found.setdefault(int(value), Members())
            entry.offer(int(count), rank[where], wrong.at(where))

    def breaks(self, batch: Batch) -> numpy.ndarray:
        """Which configurations of a batch have a wrong checkpoint."""
        return self._evaluated(batch)[0]

    def _evaluated(self, batch: Batch) -> tuple[numpy.ndarray, numpy.ndarray]:
        wrong, period = self.producer.breaks(self.design, batch.c)
        size = (len(batch),)
        return numpy.broadcast_to(wrong, size).astype(bool), numpy.broadcast_to(period, size)

    def close(self, configurations: int, progress: Progress) -> list[str]:
        """Nothing is left to be shown."""
        return []

    def cases(self) -> Iterator[Case]:
        """A case for each period."""
        for period, members in self.found.items():
            c = model_of(self.design).configuration_of(members.configuration)
            found = self.producer.find(self.design, c)
            if found is None:
                name = self.producer.name
                raise AssertionError(f"{name}: the array and the integer rule differ on {c}")
            yield case_of(
                self.design,
                f"{self.producer.name}-period{period}",
                self.producer.code,
                found,
                {"period": period},
                members,
            )


def case_of(
    design: Design,
    name: str,
    code: Code,
    found: WrongCheckpoint,
    document: dict[str, Any],
    members: Members,
    *,
    exact: bool = True,
) -> Case:
    """The case of a class; `exact`: whether it is shown that it has no more members than were counted."""
    values, model = members.configuration, model_of(design)
    matters = engine_of(design).search.matters(found.trace, document)
    shown = {n: values[n] if n in matters else None for n in model.field_names}
    return Case(
        id=f"{name}-{spelled({**values, 'engine': model.requirement(design.release)})}",
        code=code.id,
        outcome=found.outcome,
        configuration={**shown, "engine": model.requirement(design.release)},
        trace=found.trace,
        depths=found.depths,
        klass=document,
        members=members.members if exact else None,
    )


def check_size(domain: Domain) -> None:
    """Refuse a domain that is too large to enumerate."""
    advice = "give fewer values, for example a step (64..4096:64)"
    if domain.size() > batches.MOST_POINTS:
        raise BadInput(
            f"the domain has {domain.size():,} combinations; at most {batches.MOST_POINTS:,} are "
            f"enumerated: {advice}"
        )
    for name in domain.model.numeric:
        if len(domain.axis(name)) > batches.MOST_VALUES:
            raise BadInput(
                f"{flag(name)}: has {len(domain.axis(name)):,} values; at most "
                f"{batches.MOST_VALUES:,} are enumerated: {advice}"
            )


def check_accepted(design: Design, domain: Domain, configurations: int) -> None:
    """Refuse a domain of which the start-up guards leave nothing."""
    if not configurations:
        demands = "; ".join(guard.demands for guard in batches.refusing(design, domain))
        raise Vacuous(
            f"the start-up guards of {design.name} exclude every configuration of the domain "
            f"({demands}); --no-guards lifts them"
        )


def _survey(
    design: Design,
    domain: Domain,
    surveys: list[Survey],
    guards: bool,
    smallest: bool,
    progress: Progress,
) -> int:
    """Let every survey see the domain; how many configurations it has."""
    configurations, done, total = 0, 0, domain.size()
    is_modelled: Callable[[Any], bool] = engine_of(design).search.is_modelled
    order = written_first(domain, smallest)
    for batch, points in batches.batches(design, domain, guards):
        done += points
        configurations += len(batch)
        if len(batch) and is_modelled(batch.others):
            engine_of(design).search.prepare(design, batch)
            rank = ranks(order, batch, smallest)
            for survey in surveys:
                survey.see(batch, rank)
        progress(f"{sum(survey.classes for survey in surveys)} classes", done, total)
    return configurations


def search(
    design: Design,
    domain: Domain,
    *,
    guards: bool = True,
    smallest: bool = False,
    close: bool = True,
    progress: Progress = silent,
) -> CaseFile:
    """Every class of configurations in the domain that the grid rules break, with a representative each.

    `close`: let the solver show that no further class exists; without it the result rests on the candidate lengths
    alone and on the theorems of the library.
    Raises `BadInput` for a domain too large to enumerate, `Vacuous` where the guards exclude all of it,
    `Inconclusive` where nothing was found and the solver could not show that there is nothing.
    """
    check_size(domain)
    surveys = engine_of(design).search.surveys(design, domain, guards)
    configurations = _survey(design, domain, surveys, guards, smallest, progress)
    check_accepted(design, domain, configurations)
    notes: list[str] = []
    if close:
        for survey in surveys:
            notes += survey.close(configurations, progress)
    notes += engine_of(design).search.unmodelled(domain)
    cases = shortest_first([case for survey in surveys for case in survey.cases()])
    if not cases and notes:
        raise Inconclusive("; ".join(notes))
    return CaseFile(
        design.name,
        domain.document(configurations),
        "configurations",
        not notes,
        cases,
        None,
        tuple(notes),
    )
