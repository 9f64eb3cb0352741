"""`gridproof explain`."""

from __future__ import annotations

import difflib
from pathlib import Path

from generators.cases.codes import code_named, codes, entries
from generators.cases.file_format import read_cases
from generators.common.errors import BadInput
from generators.explain.timeline import Timeline, timeline
from gridproof import files
from gridproof.console import Output
from gridproof.reports.code_facts import example_of, facts
from gridproof.reports.timeline_text import drawing


def run(output: Output, what: str, case: str | None, html: Path | None) -> int:
    """Print what a code means, or walk through the cases of a file; `html`: write them as a page as well."""
    code = what.upper()
    if code in codes() and not Path(what).is_file():
        if html is not None or case is not None:
            raise BadInput("--html and --case only work with a file of cases, not with a code")
        _explain_code(output, code)
        return 0
    if not (what.endswith(".json") or Path(what).exists()):
        near = difflib.get_close_matches(code, codes(), n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise BadInput(
            f"{what[:80]!r} is neither a finding code nor a file of cases; {hint}the codes are {', '.join(codes())}"
        )
    timelines = _timelines(Path(what), case)
    if html is not None:
        from gridproof.reports.timeline_html import page

        files.write(html, page(timelines, f"gridproof: {Path(what).name}"))
        output.note(f"{html} written")
    for one in timelines:
        _walk(output, one)
    return 0


def _explain_code(output: Output, name: str) -> None:
    """The meaning of a code and, for each engine that has it, the facts and the example."""
    code = code_named(name)
    output.line(f"{code.id} {code.name} ({code.severity}): {code.means}.")
    for entry in entries(name):
        for label, text in facts(entry):
            output.line(f"  {label}: {text}")
        if (example := example_of(entry)) is not None:
            output.line("  example:")
            output.line(f"    {example[0]}")
            output.line("  use instead:")
            output.line(f"    {example[1]}")


def _timelines(path: Path, wanted: str | None) -> list[Timeline]:
    file = read_cases(path)
    ids = [case.id for case in file.cases]
    if wanted is not None and wanted not in ids:
        raise BadInput(f"{path}: has no case {wanted!r}; it has {', '.join(ids)}")
    kept = [case for case in file.cases if wanted in (None, case.id)]
    return [timeline(case, file.design) for case in kept]


def _walk(output: Output, shown: Timeline) -> None:
    """The configuration of a case, its events, one a line, and the drawing."""
    from rich.table import Table

    case = shown.case
    output.line(f"{case.code} {case.id} on {shown.engine}")
    output.line(f"  {code_named(case.code).means}")
    output.line(f"  {', '.join(f'{name} {value}' for name, value in shown.configuration)}")
    table = Table(box=None, pad_edge=False)
    slots = [f"slot {slot}" for slot in shown.slots] or ["slot"]
    for column in ("step", "event", "length", *slots, "state", "node", "replayed", "what happens"):
        table.add_column(column, justify="left" if column in ("event", "what happens") else "right")
    for number, step in enumerate(shown.steps, 1):
        depths = (*step.held, step.state_depth, step.node_depth, step.replayed)
        cells = ["-" if depth is None else str(depth) for depth in depths]
        table.add_row(str(number), step.event.event, str(step.event.seq_len), *cells, step.sentence)
    output.rich(table)
    for line in drawing(shown):
        output.line(line)
    output.line()
