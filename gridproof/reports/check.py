"""The findings of `check` as text, as one row a release, as SARIF 2.1.0 and as GitHub annotations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from generators import engines
from generators.cases import wording
from generators.cases.codes import codes
from generators.check.findings import Finding, Judgement
from generators.check.sources import COMMAND, STANDARD_INPUT
from gridproof import __version__
from gridproof.console import Output
from gridproof.reports.github import annotation, ten
from spec.engine import PACKAGES

SEVERITIES = ("note", "warning", "error")
VERDICT_STYLE = {
    "unsafe": "red",
    "rejected": "red",
    "inert": "yellow",
    "not_modelled": "yellow",
    "safe": "green",
}
_ADVICE = {
    "what is seen": "symptom",
    "afterwards": "afterwards",
    "this does not explain": "not_explained",
}
_SEVERITY_STYLE = {"error": "red", "warning": "yellow", "note": "cyan"}
SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def place(source: str, line: int | None) -> str:
    """Where something stands, as compilers write it; nothing for the command itself."""
    return "" if source == COMMAND else f"{source}:{line}" if line else source


def print_judgement(output: Output, judgement: Judgement, release_from: str | None) -> None:
    """A verdict with its evidence: values and their sources, grids, producers, theorems."""
    from rich.text import Text

    unjudged = [p for p, v in judgement.producers.items() if v == "not_modelled"]
    but = (
        f" (not checked: {', '.join(unjudged)})" if judgement.verdict == "safe" and unjudged else ""
    )
    where = place(judgement.source, judgement.line)
    head = Text(f"{where}  " if where else "").append(judgement.engine)
    head.append(f" ({release_from})" if release_from else "").append("  ")
    output.rich(head.append(judgement.verdict, VERDICT_STYLE[judgement.verdict]).append(but))
    summary = list(_summary(judgement))
    if judgement.condition and summary:
        output.line(f"  {judgement.condition}:")
    for line in summary:
        output.line(f"  {line}")
    for other in judgement.alternatives:
        made = replace(
            judgement,
            configuration=other.configuration,
            sources=other.sources,
            geometry=other.geometry,
        )
        values = "; ".join(_summary(made))
        output.line(f"  {other.condition}: {other.verdict}: {values}")
    if judgement.producers and (summary or judgement.verdict != "not_modelled"):
        output.line("  " + ", ".join(f"{p}: {v}" for p, v in judgement.producers.items()))
    if judgement.verdict == "safe":
        output.line(f"  evidence: {'; '.join(_evidence(judgement))}")


def _summary(judgement: Judgement) -> Iterable[str]:
    engine = judgement.engine.partition("==")[0]
    return engines.engine(engine).check.summary(judgement) if engine in PACKAGES else ()


def _evidence(judgement: Judgement) -> Iterator[str]:
    """What a safe verdict rests on."""
    if judgement.theorems:
        yield f"theorems {', '.join(judgement.theorems)}"
    if judgement.shown_alone:
        yield "a proof for this configuration alone"
    if (orders := judgement.orders) is not None:
        of_all = "" if orders.untried else "all "
        length = "" if orders.closed else f" up to {orders.events} events"
        yield f"for slots a search of {of_all}orders of events{length}"


def print_finding(output: Output, finding: Finding, *, placed: bool) -> None:
    """A finding with its reach, its shortest trace, what to do and the upstream change."""
    from rich.text import Text

    where = f"{place(finding.source, finding.line)}: " if placed else ""
    head = Text("  ").append(finding.severity, _SEVERITY_STYLE[finding.severity])
    output.rich(head.append(f" {finding.code.id}: {where}{finding.message}"))
    if reach := reach_of(finding):
        output.line(f"    {reach}")
    if finding.trace:
        output.line(f"    shortest trace: {finding.trace}")
    if finding.severity == "note":
        return
    if finding.code.remedy:
        output.line(f"    what to do: {finding.code.remedy}")
    if finding.code.upstream:
        output.line(f"    upstream: {' '.join(finding.code.upstream)}")


def reach_of(finding: Finding) -> str:
    """Which lengths and how many checkpoints a finding affects, in one line."""
    a = finding.affected or {}
    parts = []
    if a.get("first_lost_depth") is not None:
        parts.append(f"first length that is not cached: {a['first_lost_depth']}")
    if a.get("first_wrong_depth") is not None:
        parts.append(f"first wrong length: {a['first_wrong_depth']}")
    if a.get("share") is not None:
        parts.append(f"{100 * a['share']:.3g} % of these checkpoints are wrong")
    if a.get("most_replayed"):
        parts.append(f"up to {wording.tokens(abs(a['most_replayed']))} replayed or skipped")
    return "; ".join(parts)


def print_advice(output: Output, findings: Iterable[Finding]) -> None:
    """What is seen of the errors and warnings of a launch, what they leave behind and do not explain, each once."""
    waiting = [f for f in findings if f.severity != "note"]
    for label, name in _ADVICE.items():
        for text in dict.fromkeys(getattr(f.code, name) for f in waiting):
            if text:
                output.line(f"  {label}: {text}")


def print_fix(output: Output, fix: dict[str, Any], *, is_further: bool = False) -> None:
    """Flags under which the launch is safe, with what they cost."""
    safety = "safe" if fix["safe"] else "not proved safe"
    word = "or" if is_further else "fix"
    output.line(f"  {word} ({safety}): {shown_flags(fix['flags'])}")
    if fix["cost"]:
        output.line(f"    its cost: {fix['cost']}")


def print_upgrade(output: Output, upgrade: dict[str, Any], *, is_further: bool = False) -> None:
    """The release under which the launch is safe, with the flags it takes."""
    word = "or" if is_further else "fix"
    flags = shown_flags(upgrade["flags"])
    output.line(f"  {word} (safe): {upgrade['engine']}{' with ' if flags else ''}{flags}")


def shown_flags(flags: Mapping[str, str | None]) -> str:
    """Flags as they are written on a command line, and those that are left out."""
    given = [f"{flag} {value}".strip() for flag, value in flags.items() if value is not None]
    gone = [flag for flag, value in flags.items() if value is None]
    left_out = f"without {' and '.join(gone)}" if gone else ""
    return " ".join(
        [*given, *([f"({left_out})"] if given and gone else [left_out] if gone else [])]
    )


def rows(judgements: Sequence[Judgement]) -> Any:
    """One row a release."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    producers = list(dict.fromkeys(p for j in judgements for p in j.producers))
    depths = ("first not cached", "first wrong", "shortest reused")
    for column in ("release", "verdict", *producers, *depths, "codes"):
        table.add_column(column)
    for j in judgements:
        cells = [j.producers.get(producer, "-") for producer in producers]
        numbers = (j.first_lost_depth, j.first_wrong_depth, j.smallest_cached)
        cells += ["-" if n is None else str(n) for n in numbers]
        found = " ".join(dict.fromkeys(f.code.id for f in j.findings)) or "-"
        style = VERDICT_STYLE[j.verdict]
        table.add_row(j.engine, f"[{style}]{j.verdict}[/{style}]", *cells, found)
    return table


def counted(findings: Sequence[Finding], judged: int) -> str:
    """How much was judged and found, in one line."""
    counts = Counter(f.severity for f in findings)
    named = ", ".join(
        f"{counts[s]} {s}{'s' if counts[s] != 1 else ''}" for s in reversed(SEVERITIES)
    )
    return f"{judged} verdict{'s' if judged != 1 else ''}: {named}"


def github(findings: Sequence[Finding], judged: int) -> list[str]:
    """Annotations: the summary first, then the worst, at the lines of their flags."""
    worst = max((f.severity for f in findings), key=SEVERITIES.index, default="note")
    summary = annotation(worst, "gridproof check", counted(findings, judged))
    order = sorted(findings, key=lambda f: -SEVERITIES.index(f.severity))
    lines = []
    for f in order:
        in_file = f.source not in (COMMAND, STANDARD_INPUT)
        places = {"file": f.source, "line": f.line, "col": f.column} if in_file else {}
        title = f"{f.code.id} {f.code.name}" + (f" ({f.engine})" if f.engine != "-" else "")
        lines.append(annotation(f.severity, title, f.message, **places))
    return ten(summary, lines)


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings as one SARIF 2.1.0 run; waived ones are suppressed results."""
    order = list(codes())
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gridproof",
                        "version": __version__,
                        "rules": [_rule(name) for name in order],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, order) for finding in findings],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    code = codes()[name]
    rule: dict[str, Any] = {
        "id": code.id,
        "name": code.name,
        "shortDescription": {"text": code.means},
        "fullDescription": {"text": code.why or code.means},
        "defaultConfiguration": {"level": code.severity},
    }
    if code.upstream:
        rule["helpUri"] = code.upstream[0]
    if code.remedy:
        rule["help"] = {"text": f"What to do: {code.remedy}."}
    return rule


def _result(finding: Finding, order: list[str]) -> dict[str, Any]:
    text = f"{finding.engine}: {finding.message}" if finding.engine != "-" else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.code.id,
        "ruleIndex": order.index(finding.code.id),
        "level": finding.severity,
        "message": {"text": text},
    }
    if finding.source not in (COMMAND, STANDARD_INPUT):
        result["locations"] = [{"physicalLocation": _location(finding)}]
    if finding.waived is not None:
        kind = "inSource" if finding.waived.in_source else "external"
        result["suppressions"] = [{"kind": kind, "justification": finding.waived.reason}]
    return result


def _uri(source: str) -> str:
    """A file as SARIF names it: relative to the folder that is checked, where it lies in it."""
    path = PurePath(source)
    if not path.is_absolute():
        return quote(os.fsencode(path.as_posix()))
    here = Path.cwd()
    return (
        quote(os.fsencode(path.relative_to(here))) if path.is_relative_to(here) else path.as_uri()
    )


def _location(finding: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.source)}}
    if finding.line:
        location["region"] = {"startLine": finding.line}
        if finding.column:
            location["region"]["startColumn"] = finding.column
    return location
