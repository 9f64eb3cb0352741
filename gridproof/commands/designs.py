"""`gridproof designs`."""

from __future__ import annotations

from typing import Any

from generators.cases.file_format import text_of
from generators.common.errors import BadInput
from gridproof.console import Output
from spec.engine import Engine, UnknownDesign, engines
from spec.engine import engine as engine_named

SCHEMA = "gridproof/designs/1"


def run(output: Output, engine: str | None, form: str) -> int:
    """List the designs of one engine, or of all of them; the exit code."""
    try:
        asked = engines() if engine is None else (engine_named(engine),)
    except UnknownDesign as error:
        raise BadInput(f"--engine: {error}") from None
    if form == "json":
        output.raw(text_of(_document(asked)))
        return 0
    for one in asked:
        _print(output, one)
    return 0


def _document(asked: tuple[Engine, ...]) -> dict[str, Any]:
    designs = [
        {
            "name": design.name,
            "engine": design.engine,
            "release": design.release,
            "readers": design.summary(),
        }
        for one in asked
        for design in map(one.released, one.releases)
    ]
    proposals = sorted({proposal for one in asked for proposal in one.proposals})
    return {"schema": SCHEMA, "designs": designs, "proposals": proposals}


def _print(output: Output, engine: Engine) -> None:
    """The releases of an engine side by side, one row a rule, and the proposals."""
    from rich.table import Table

    summaries = {release: engine.released(release).summary() for release in engine.releases}
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column(engine.name)
    for release in summaries:
        table.add_column(release, overflow="fold")
    for rule in summaries[engine.newest]:
        table.add_row(rule, *(summary[rule].replace("_", " ") for summary in summaries.values()))
    output.rich(table)
    if engine.proposals:
        proposals = ", ".join(f"+{proposal}" for proposal in engine.proposals)
        output.line(f"proposals, on top of any release: {proposals}")
