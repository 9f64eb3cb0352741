"""`gridproof check`."""

from __future__ import annotations

from pathlib import Path

from generators.cases import text_of
from generators.check import Judgement, findings_document, judge
from generators.errors import BadInput, NothingToDo
from generators.launch import read_launch
from gridproof.commands.search import chosen_design
from gridproof.console import Output

_SEVERITIES = ("note", "warning", "error")
_STYLE = {
    "unsafe": "red",
    "rejected": "red",
    "inert": "yellow",
    "not_modelled": "yellow",
    "safe": "green",
}


def run(
    output: Output,
    engine: str | None,
    all_releases: bool,
    context_length: int | None,
    min_severity: str,
    form: str,
    command: tuple[str, ...],
) -> int:
    """Judge the command for one release or all, print the findings, return the exit code."""
    if len(command) == 1 and Path(command[0]).is_file():
        raise NothingToDo(
            f"{command[0]}: files of launch commands are read by a later version; give one after '--'"
        )
    if not command:
        raise NothingToDo("no launch command given; write it after '--'")
    if all_releases and engine is not None:
        raise BadInput(
            "--engine names one release and --all-releases all of them; give one of the two"
        )
    from spec.sglang.designs import DESIGNS
    from spec.sglang.witnesses import unwitnessed

    designs = list(DESIGNS.values()) if all_releases else [chosen_design(engine, None)]
    launch = read_launch(command)
    judgements = [judge(design, launch, "command", context_length) for design in designs]
    for design, judgement in zip(designs, judgements, strict=True):
        if pairs := unwitnessed(design, judgement.configuration):
            raise RuntimeError(f"no Bezout witnesses for {pairs}, on which the theorems rest")
    if form == "json":
        output.raw(text_of(findings_document(judgements)))
    else:
        for judgement in judgements:
            _print(output, judgement, min_severity)
    worst = {f.severity for j in judgements for f in j.findings}
    return 1 if worst & {"warning", "error"} else 0


def _print(output: Output, judgement: Judgement, min_severity: str) -> None:
    c, style = judgement.configuration, _STYLE[judgement.verdict]
    unjudged = [r for r, v in judgement.readers.items() if v == "not_modelled"]
    but = f" ({', '.join(unjudged)} not judged)" if judgement.verdict == "safe" and unjudged else ""
    output.rich(f"{judgement.engine}  [{style}]{judgement.verdict}[/{style}]{but}")
    said = judgement.sources
    output.line(
        f"  page {c.page_size} ({said['page_size']}), dcp {c.dcp_size} ({said['dcp_size']}), "
        f"interval {c.mamba_track_interval} ({said['mamba_track_interval']}), "
        f"chunk {c.mamba_chunk_size} ({said['mamba_chunk_size']}), strategy {c.strategy}"
        + (f", {c.speculative_num_draft_tokens} draft tokens" if c.speculates else "")
    )
    shape = judgement.geometry
    output.line(
        f"  tree page {shape['tree_page']}, extend donates every {shape['checkpoint_grid']}, "
        f"decode every {shape['decode_grid']} tokens"
    )
    output.line("  " + ", ".join(f"{r}: {v}" for r, v in judgement.readers.items()))
    if judgement.verdict == "safe":
        shown = ["a proof for this configuration alone"] if judgement.shown_alone else []
        output.line(f"  rests on {', '.join([*judgement.theorems, *shown])}")
    for finding in judgement.findings:
        if _SEVERITIES.index(finding.severity) >= _SEVERITIES.index(min_severity):
            output.line(f"  {finding.severity} {finding.code.id}: {finding.message}")
            if finding.fix:
                flags = " ".join(f"{k} {v}" for k, v in finding.fix["flags"].items())
                output.line(f"    fix: {flags}")
