"""What `check` says: a finding, the judgement of a configuration under one release, and both as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from generators.cases.codes import Code
from generators.cases.file_format import Case, told
from spec.sglang.configuration import Configuration
from spec.sglang.engine import FIELD_NAMES

SCHEMA = "gridproof/findings/1"


@dataclass(frozen=True)
class Waived:
    """Why a finding is excused, and whether that stands in a comment of its file."""

    reason: str
    in_source: bool


@dataclass(frozen=True)
class Finding:
    """One thing to tell the user about a launch.

    `about`: the fields whose flags it stands at, where they are not those of its code; `upgrade`: the release and the
    flags under which the launch is safe where no flags make it so in its own.
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

    @property
    def trace(self) -> str | None:
        """The events that lead to it, in one line."""
        return told(self.case) if self.case else None

    def document(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "code": self.code.id,
            "severity": self.severity,
            "engine": self.engine,
            "message": self.message,
            "fix": self.fix,
            "upgrade": self.upgrade,
            "source": self.source,
            "line": self.line,
            "column": self.column,
            "affected": self.affected,
            "trace": self.trace,
            "accepted": self.code.accepted,
            "upstream": self.code.links,
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
class Judgement:
    """A configuration under one release; depths in tokens.

    `theorems`: what the safe readers rest on; `shown_alone`: where none fits the extend, whether the solver
    showed its safety for this one configuration; `orders`: what the verdict on the slots rests on.
    """

    source: str
    engine: str
    configuration: Configuration
    sources: dict[str, str]
    geometry: dict[str, int]
    readers: dict[str, str]
    verdict: str
    first_lost_depth: int | None
    first_wrong_depth: int | None
    smallest_cached: int | None
    findings: tuple[Finding, ...]
    theorems: tuple[str, ...] = field(default=())
    shown_alone: bool = False
    orders: OrdersSearched | None = None
    line: int | None = None

    def document(self) -> dict[str, Any]:
        """The judgement as JSON, its findings apart."""
        shown = asdict(self.configuration)
        orders = asdict(self.orders) | {"untried": [*self.orders.untried]} if self.orders else None
        return {
            "source": self.source,
            "line": self.line,
            "engine": self.engine,
            "configuration": {name: shown[name] for name in FIELD_NAMES},
            "sources": self.sources,
            "geometry": self.geometry,
            "readers": self.readers,
            "verdict": self.verdict,
            "first_lost_depth": self.first_lost_depth,
            "first_wrong_depth": self.first_wrong_depth,
            "smallest_cached": self.smallest_cached,
            "theorems": list(self.theorems),
            "shown_alone": self.shown_alone,
            "orders": orders,
        }


def findings_document(
    judgements: Sequence[Judgement], findings: Sequence[Finding]
) -> dict[str, Any]:
    """All judgements and findings as one JSON document; what is waived is left out."""
    return {
        "schema": SCHEMA,
        "configurations": [j.document() for j in judgements],
        "findings": [f.document() for f in findings if f.waived is None],
    }
