"""`gridproof designs`."""

from __future__ import annotations

from generators.cases.file_format import text_of
from gridproof.console import Output
from spec.sglang.proposals import PROPOSALS
from spec.sglang.releases import DESIGNS

SCHEMA = "gridproof/designs/1"


def run(output: Output, form: str) -> int:
    """List the designs; always exit 0."""
    summaries = {name: design.summary() for name, design in DESIGNS.items()}
    if form == "json":
        designs = [
            {"name": name, "release": DESIGNS[name].release, "readers": readers}
            for name, readers in summaries.items()
        ]
        output.raw(text_of({"schema": SCHEMA, "designs": designs, "proposals": sorted(PROPOSALS)}))
        return 0
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("reader")
    for name in summaries:
        table.add_column(name.removeprefix("sglang-"), overflow="fold")
    for reader in next(iter(summaries.values())):
        table.add_row(
            reader, *(readers[reader].replace("_", " ") for readers in summaries.values())
        )
    output.rich(table)
    output.line(f"proposals, on top of any of them: {', '.join('+' + p for p in PROPOSALS)}")
    return 0
