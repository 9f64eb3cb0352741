"""The case format: one configuration, the events that lead to a wrong checkpoint, the depths it ends with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from generators.errors import BadInput, NothingToDo

SCHEMA = "gridproof/cases/1"
EVENTS = (
    "extend",
    "decode",
    "verify",
    "other_batch",
    "result",
    "finish",
    "match",
    "split",
    "evict",
    "allocation_failure",
)
OUTCOMES = ("right", "misplaced", "overwritten", "lost", "fault")


@dataclass(frozen=True)
class Event:
    """One event of a trace; `tokens` it adds, `seq_len` after it, depths in tokens."""

    event: str
    tokens: int
    seq_len: int
    snapshot_depth: int | None = None
    slot: int | None = None
    node_depth: int | None = None


@dataclass(frozen=True)
class Case:
    """What breaks: `depths` are `state`, `node` (None for a fault) and `replayed` = state - node, in tokens."""

    id: str
    code: str
    outcome: str
    configuration: dict[str, Any]
    trace: tuple[Event, ...]
    depths: dict[str, int | None]
    klass: dict[str, Any]
    members: int | None = None

    def document(self) -> dict[str, Any]:
        """The case as JSON."""
        data = asdict(self)
        data["trace"] = [asdict(event) for event in self.trace]
        data["class"] = data.pop("klass")
        return data


@dataclass(frozen=True)
class CaseFile:
    """The outcome of a search: its cases and what it says about there being no others."""

    design: str
    domain: dict[str, Any]
    kind: str
    complete: bool
    cases: tuple[Case, ...] = ()
    bounds: dict[str, int] | None = None
    notes: tuple[str, ...] = field(default=())

    def document(self) -> dict[str, Any]:
        """The file as JSON, its schema first."""
        return {
            "schema": SCHEMA,
            "design": self.design,
            "domain": self.domain,
            "kind": self.kind,
            "bounds": self.bounds,
            "complete": self.complete,
            "cases": [case.document() for case in self.cases],
            "notes": list(self.notes),
        }


def text_of(document: dict[str, Any]) -> str:
    """JSON as gridproof writes it: indented, keys as given, one newline at the end."""
    return json.dumps(document, indent=2) + "\n"


def _case(data: dict[str, Any], where: str) -> Case:
    try:
        trace = tuple(Event(**event) for event in data["trace"])
        case = Case(
            id=data["id"],
            code=data["code"],
            outcome=data["outcome"],
            configuration=data["configuration"],
            trace=trace,
            depths=data["depths"],
            klass=data["class"],
            members=data["members"],
        )
    except (KeyError, TypeError) as error:
        raise BadInput(f"{where}: not a case of {SCHEMA} ({error})") from None
    if case.outcome not in OUTCOMES or any(e.event not in EVENTS for e in trace):
        raise BadInput(f"{where}: case {case.id!r} has an outcome or event unknown to {SCHEMA}")
    return case


def read_cases(path: Path) -> CaseFile:
    """A file of cases; anything else is refused in one sentence, an empty one is `NothingToDo`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: not valid JSON, perhaps cut short ({error})") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise BadInput(f"{path}: its schema is {found!r}; accepted is {SCHEMA!r}")
    missing = {"design", "domain", "kind", "complete", "cases"} - set(data)
    if missing or not isinstance(data["cases"], list):
        raise BadInput(f"{path}: {', '.join(sorted(missing)) or 'a list of cases'} is missing")
    cases = tuple(_case(c, str(path)) for c in data["cases"])
    if not cases:
        raise NothingToDo(f"{path}: holds no case")
    return CaseFile(
        data["design"],
        data["domain"],
        data["kind"],
        data["complete"],
        cases,
        data.get("bounds"),
        tuple(data.get("notes", ())),
    )


def shortest_first(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Cases by code, then fewest events, then fewest tokens."""
    return tuple(sorted(cases, key=lambda c: (c.code, len(c.trace), c.trace[-1].seq_len, c.id)))
