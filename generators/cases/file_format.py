"""The case format: one configuration, the events that lead to a wrong checkpoint, the depths it ends with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from generators.cases.codes import codes
from generators.cases.domain import engine_of_names
from generators.common.errors import BadInput, NothingToDo, read_text
from generators.schemas import case_schema, domain_schema
from spec.engine import UnknownDesign, engine

SCHEMA = "gridproof/cases/2"
FIRST = "gridproof/cases/1"  # read as well: it has the same fields, and one engine


@dataclass(frozen=True)
class Event:
    """One event of a trace; `tokens` it adds, `seq_len` after it, depths in tokens; `request`: whose, if there are several."""

    event: str
    tokens: int
    seq_len: int
    snapshot_depth: int | None = None
    slot: int | None = None
    node_depth: int | None = None
    request: str | None = None

    def document(self) -> dict[str, Any]:
        """The event as JSON."""
        data = asdict(self)
        if self.request is None:
            del data["request"]
        return data


@dataclass(frozen=True)
class Case:
    """What breaks: `depths` are `state`, `node` (None for a fault) and `replayed` = state - node, in tokens."""

    id: str
    code: str
    outcome: str
    configuration: dict[str, Any]
    trace: tuple[Event, ...]
    depths: dict[str, Any]
    klass: dict[str, Any]
    members: int | None = None

    @property
    def grammar(self) -> bool:
        """Whether a grammar ends its request, and not a stop token."""
        return "grammar" in str(self.klass.get("cause")).split("+")

    def document(self) -> dict[str, Any]:
        """The case as JSON."""
        data = asdict(self)
        data["trace"] = [event.document() for event in self.trace]
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


def spelled(configuration: Mapping[str, Any]) -> str:
    """A configuration as part of a name: of a case, of a test's id."""
    fields = engine(engine_of_names(configuration)).fields
    return "-".join(f"{f.short}{configuration[f.name]}" for f in fields if f.short)


def text_of(document: dict[str, Any]) -> str:
    """JSON as gridproof writes it: indented, keys as given, one newline at the end."""
    return json.dumps(document, indent=2) + "\n"


def _case(data: dict[str, Any]) -> Case:
    trace = tuple(Event(**event) for event in data["trace"])
    others = {k: v for k, v in data.items() if k not in ("trace", "class")}
    return Case(**others, trace=trace, klass=data["class"])


def _validate(data: Any, schema: Any, where: str, name: str, within: tuple[Any, ...] = ()) -> None:
    """Compare a part of a document of that `name` with a schema; the first difference is the sentence."""
    import jsonschema

    try:
        jsonschema.Draft202012Validator(schema).validate(data)
    except jsonschema.ValidationError as error:
        place = "/".join(map(str, (*within, *error.absolute_path))) or "the document"
        message = error.message if len(error.message) <= 200 else f"{error.message[:200]}..."
        raise BadInput(f"{where}: not a file of {name}: {place}: {message}") from None
    except RecursionError:
        raise BadInput(f"{where}: not a file of {name}: nested too deeply") from None


def _check(data: dict[str, Any], where: str) -> None:
    """Compare a document with the published schemas: of case files, and of the fields of its engine."""
    name = data["schema"]
    file = "cases-1.json" if name == FIRST else "cases-2.json"
    text = resources.files("generators.schemas").joinpath(file).read_text(encoding="utf-8")
    _validate(data, json.loads(text), where, name)
    found = engine_of_names({"design": data["design"]})
    try:
        model = engine(found)
    except UnknownDesign as error:
        raise BadInput(f"{where}: design: {error}") from None
    _validate(data["domain"], domain_schema(model), where, name, ("domain",))
    for number, case in enumerate(data["cases"]):
        within = ("cases", number, "configuration")
        _validate(case["configuration"], case_schema(model), where, name, within)
        own = engine_of_names(case["configuration"])
        if own != found:
            raise BadInput(f"{where}: case {case['id']}: is of {own}, its file of {found}")


def _number(text: str) -> int | float:
    """A number with a fraction or an exponent; JSON means the same by 768.0 and by 768."""
    value = float(text)
    return int(value) if value.is_integer() else value


def read_cases(path: Path) -> CaseFile:
    """A file of cases; anything else is refused in one sentence, an empty one is `NothingToDo`."""
    try:
        data = json.loads(read_text(path), parse_float=_number)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: not valid JSON, perhaps cut short ({error})") from None
    if not isinstance(data, dict) or data.get("schema") not in (SCHEMA, FIRST):
        found = data.get("schema") if isinstance(data, dict) else type(data).__name__
        raise BadInput(f"{path}: its schema is {found!r}; accepted are {SCHEMA!r} and {FIRST!r}")
    _check(data, str(path))
    cases = tuple(_case(c) for c in data["cases"])
    for case in cases:
        if case.code not in codes():
            raise BadInput(f"{path}: case {case.id}: the code {case.code} is unknown")
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
