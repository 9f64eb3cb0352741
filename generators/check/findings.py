"""The answers of `check`: a finding, the judgement of a configuration under one release, and both as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from generators.cases import wording
from generators.cases.codes import Code
from generators.cases.file_format import Case

SCHEMA = "gridproof/findings/2"


@dataclass(frozen=True)
class Remark:
    """One thing about a launch, before it is a finding of a source.

    `severity`: None for that of the code, another where it takes something that the flags do not show; `about`: the
    fields whose flags it stands at, where they are not those of its code.
    """

    code: Code
    message: str
    severity: str | None = None
    about: tuple[str, ...] = ()
    case: Case | None = None


@dataclass(frozen=True)
class Waived:
    """Why a finding is suppressed, and whether that stands in a comment of its file."""

    reason: str
    in_source: bool


@dataclass(frozen=True)
class Finding:
    """One thing to report about a launch.

    `about`: the fields whose flags it stands at; `upgrade`: the release under which the launch is safe, with the flags that
    it takes there; `fix`: the mildest flags that make it safe in its own; `alternatives`: further ones, each with other
    flags; `judged`: the launch as the release resolves it.
    """

    code: Code
    severity: str
    engine: str
    message: str
    source: str
    line: int | None = None
    fix: dict[str, Any] | None = None
    column: int | None = None
    case: Case | None = None
    affected: dict[str, Any] | None = None
    waived: Waived | None = None
    about: tuple[str, ...] = ()
    upgrade: dict[str, Any] | None = None
    alternatives: tuple[dict[str, Any], ...] = ()
    judged: Any = field(default=None, compare=False, repr=False)

    @property
    def trace(self) -> str | None:
        """The events that lead to it, in one line."""
        return wording.trace(self.case.trace) if self.case else None

    @property
    def is_conditional(self) -> bool:
        """Whether it takes something that the launch does not show."""
        return self.severity != self.code.severity

    def document(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "code": self.code.id,
            "severity": self.severity,
            "engine": self.engine,
            "message": self.message,
            "fix": self.fix,
            "upgrade": self.upgrade,
            "alternatives": list(self.alternatives),
            "source": self.source,
            "line": self.line,
            "column": self.column,
            "affected": self.affected,
            "trace": self.trace,
            "accepted": self.code.remedy,
            "symptom": self.code.symptom,
            "not_explained": self.code.not_explained,
            "afterwards": self.code.afterwards,
            "upstream": list(self.code.upstream),
        }


@dataclass(frozen=True)
class OrdersSearched:
    """How many events the orders had that were searched; `closed`: whether no longer order reaches a new state.

    `untried`: what can happen to a request and was not tried, in words.
    """

    events: int
    closed: bool
    untried: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """What an engine's rules make of a launch; depths in tokens.

    `producers`: the verdict on each producer of checkpoints; `cases`: what goes wrong with these flags; `conditional`:
    what takes a condition that the flags do not show, with the condition as a clause; `theorems`, `shown_alone` and
    `orders`: what a safe verdict rests on, as in `Judgement`; `smallest_cached`: the shortest prefix that can be reused.
    """

    producers: Mapping[str, str]
    cases: tuple[Case, ...] = ()
    conditional: tuple[tuple[Case, str], ...] = ()
    theorems: tuple[str, ...] = ()
    shown_alone: bool = False
    orders: OrdersSearched | None = None
    first_lost_depth: int | None = None
    first_wrong_depth: int | None = None
    smallest_cached: int | None = None


@dataclass(frozen=True)
class Alternative:
    """What else a release may make of a launch, and the verdict on it; `condition`: when, as a clause."""

    condition: str
    verdict: str
    configuration: Mapping[str, Any]
    sources: Mapping[str, str]
    geometry: Mapping[str, int]


@dataclass(frozen=True)
class Judgement:
    """A configuration under one release; depths in tokens.

    `configuration`: field by field, empty where the engine is not modelled; `theorems`: what the safe producers rest
    on; `shown_alone`: whether the solver showed the safety of this one configuration; `orders`: the search of orders of
    events that the verdict rests on; `model`: what is known of the model, as in `generators.engines.Checking.model`;
    `condition`: when the configuration is this one, as a clause, where it depends on what the launch does not say, and
    `alternatives`: what it may be otherwise.
    """

    source: str
    engine: str
    verdict: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    geometry: Mapping[str, int] = field(default_factory=dict)
    producers: Mapping[str, str] = field(default_factory=dict)
    first_lost_depth: int | None = None
    first_wrong_depth: int | None = None
    smallest_cached: int | None = None
    findings: tuple[Finding, ...] = ()
    theorems: tuple[str, ...] = ()
    shown_alone: bool = False
    orders: OrdersSearched | None = None
    line: int | None = None
    model: dict[str, Any] | None = None
    condition: str | None = None
    alternatives: tuple[Alternative, ...] = ()

    def document(self) -> dict[str, Any]:
        """The judgement as JSON, its findings apart."""
        orders = asdict(self.orders) | {"untried": [*self.orders.untried]} if self.orders else None
        return {
            "source": self.source,
            "line": self.line,
            "engine": self.engine,
            "configuration": dict(self.configuration),
            "sources": dict(self.sources),
            "geometry": dict(self.geometry),
            "readers": dict(self.producers),
            "verdict": self.verdict,
            "first_lost_depth": self.first_lost_depth,
            "first_wrong_depth": self.first_wrong_depth,
            "smallest_cached": self.smallest_cached,
            "theorems": list(self.theorems),
            "shown_alone": self.shown_alone,
            "orders": orders,
            "model": self.model,
            "condition": self.condition,
            "alternatives": [
                {
                    "condition": other.condition,
                    "verdict": other.verdict,
                    "configuration": dict(other.configuration),
                    "sources": dict(other.sources),
                    "geometry": dict(other.geometry),
                }
                for other in self.alternatives
            ],
        }


def findings_document(
    judgements: Sequence[Judgement], findings: Sequence[Finding]
) -> dict[str, Any]:
    """All judgements and findings as one JSON document; waived ones are left out."""
    return {
        "schema": SCHEMA,
        "configurations": [j.document() for j in judgements],
        "findings": [f.document() for f in findings if f.waived is None],
    }
