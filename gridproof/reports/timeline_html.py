"""A timeline as one self-contained HTML page: SVG, style and script inside, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from generators.cases.codes import code_named
from generators.explain.timeline import Timeline

WIDTH, LEFT = 960, 96
_FIRST_ROW, _ROW = 112, 32


@dataclass(frozen=True)
class Scale:
    """Tokens to units of the drawing."""

    length: int

    def __call__(self, depth: int) -> float:
        return round(LEFT + depth * (WIDTH - LEFT - 24) / self.length, 2)


def _labels(timeline: Timeline) -> list[int]:
    """Depths that are written on the ruler: tree pages, as many as fit."""
    page = timeline.ticks[0].step
    pages = max(1, timeline.length // page)
    every = max(1, -(-pages // 10))
    return [0, *range(page * every, timeline.length + 1, page * every)]


def _rows(timeline: Timeline) -> dict[str, int]:
    """Where the rows of the drawing stand: their names and their middles; states in a row a slot where it is known."""
    states = [f"slot {slot}" for slot in timeline.slots] or ["state"]
    names = ("request", *states, "node", "replayed")
    return {name: _FIRST_ROW + i * _ROW for i, name in enumerate(names)}


def _drawn(timeline: Timeline) -> dict[str, Any]:
    code = code_named(timeline.case.code)
    return {
        "case": timeline.case,
        "engine": timeline.engine,
        "means": code.means if code else "",
        "code": code,
        "timeline": timeline,
        "x": Scale(timeline.length),
        "labels": _labels(timeline),
        "rows": _rows(timeline),
    }


def page(timelines: Sequence[Timeline], title: str) -> str:
    """The page of one or more timelines."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gridproof", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("timeline.html.j2")
    return template.render(title=title, timelines=[_drawn(t) for t in timelines], width=WIDTH)
