"""The catalogue of public faults, `recipes/faults/reports.toml`: each stated as a design, and searched for again."""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators.cases.domain import DEFAULT_CONTEXT, Domain, parse_axis
from generators.cases.file_format import Case
from generators.common.errors import Inconclusive
from generators.search.configurations import search
from generators.search.event_orders import search_orders
from generators.search.user_design.load import read_design
from generators.sglang.search.refusals import search_launches
from spec.sglang.releases import Design, design_named

FILE = Path(__file__).parents[3] / "recipes" / "faults" / "reports.toml"
RIGHT = "sglang-0.5.23+completed-swap"


@dataclass(frozen=True)
class Fault:
    """A public report as something to find: a design, a domain, and what a search of a `kind` gives there.

    `design` is a named one, else `rules` is the text of a design file; `right` names a design in which the same
    search does not find it; `state` and `node` in tokens, None where it is not said; `cause`: what the report found behind
    it, where the rules state what came of it alone, None where they state the mechanism.
    """

    id: str
    reports: tuple[str, ...]
    title: str
    domain: Mapping[str, Any]
    kind: str
    code: str
    design: str | None = None
    rules: str | None = None
    right: str = RIGHT
    state: int | None = None
    node: int | None = None
    cause: str | None = None

    def faulty(self) -> Design:
        """The design that has the fault."""
        if self.design is not None:
            return design_named(self.design)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{self.id}.py"
            base = "" if "BASE =" in str(self.rules) else f"BASE = {RIGHT!r}\n"
            path.write_text(f"{base}{self.rules}", encoding="utf-8")
            return read_design(path)

    def found_in(self, design: Design) -> Case | None:
        """The case of this fault that a search of the design gives; None where it gives none."""
        domain = Domain({name: parse_axis(name, value) for name, value in self.domain.items()})
        fits = (case for case in _cases(self.kind, design, domain) if self._is(case))
        return next(fits, None)

    def _is(self, case: Case) -> bool:
        wanted = {"state": self.state, "node": self.node}
        depths = all(
            case.depths[name] == value for name, value in wanted.items() if value is not None
        )
        return case.code == self.code and depths


def _cases(kind: str, design: Design, domain: Domain) -> tuple[Case, ...]:
    try:
        if kind == "traces":
            return search_orders(design, domain, jobs=1).cases
        if kind == "launches":
            return search_launches(design, domain, DEFAULT_CONTEXT).cases
        return search(design, domain, close=False).cases
    except Inconclusive:
        return ()


@dataclass(frozen=True)
class Unstated:
    """A public report that the rules cannot state, and why not."""

    reports: tuple[str, ...]
    title: str
    reason: str


def faults(file: Path = FILE) -> tuple[Fault, ...]:
    """The reports that are stated, in the order of the file."""
    return tuple(
        Fault(**{**entry, "reports": tuple(entry["reports"])}) for entry in _read(file)["fault"]
    )


def unstated(file: Path = FILE) -> tuple[Unstated, ...]:
    """The reports that are not, in the order of the file."""
    return tuple(
        Unstated(tuple(entry["reports"]), entry["title"], entry["reason"])
        for entry in _read(file)["unstated"]
    )


def count(entries: Iterable[Fault | Unstated]) -> int:
    """How many reports some entries stand for."""
    return sum(len(entry.reports) for entry in entries)


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))
