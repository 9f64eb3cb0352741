"""What `prove` found out, as a document and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gridproof.reports.github import annotation, ten
from gridproof.reports.smt_files import Certificate
from spec.prove import VERDICTS, Result
from spec.sglang.drift.verdict import CLAIM, SecondVerdict

PROVE_SCHEMA = "gridproof/prove/1"
SECOND_METHOD = "Horn clauses (z3 Spacer)"
_STYLE = {
    "proved": "green",
    "refuted": "red",
    "unknown": "yellow",
    "vacuous": "yellow",
    "error": "red",
}


def summary(results: Sequence[Result]) -> dict[str, int]:
    """How many theorems ended with each verdict."""
    return {verdict: sum(r.verdict == verdict for r in results) for verdict in VERDICTS}


def prove_document(
    results: Sequence[Result],
    solver: dict[str, str],
    second: dict[str, str] | None,
    certificates: Sequence[Certificate] | None = None,
    second_method: SecondVerdict | None = None,
) -> dict[str, Any]:
    """The results of `prove` as JSON; `proofs` stands in it where cvc5's proofs were asked for, `second_method`
    where the whole family `life` was proved."""
    document = {
        "schema": PROVE_SCHEMA,
        "solver": solver,
        "theorems": [_theorem(result, second) for result in results],
        "summary": summary(results),
    }
    if certificates is not None:
        document["proofs"] = [asdict(certificate) for certificate in certificates]
    if second_method is not None:
        document["second_method"] = {
            "method": SECOND_METHOD,
            "claim": CLAIM,
            "design": second_method.design,
            "slots_hold": second_method.slots_hold,
            "verdict": second_method.verdict,
            "seconds": round(second_method.seconds, 4),
        }
    return document


def _theorem(result: Result, second: dict[str, str] | None) -> dict[str, Any]:
    opinion = None
    if second and result.second_opinion:
        opinion = {**second, "verdict": result.second_opinion}
    return {
        "id": result.theorem.id,
        "family": result.theorem.family,
        "claim": result.theorem.claim,
        "symbolic": list(result.symbolic),
        "bounds": {},
        "verdict": result.verdict,
        "seconds": round(result.seconds, 4),
        "solver_seconds": round(result.solving, 4),
        "witness": result.witness or {},
        "counterexample": result.counterexample,
        "reason": result.reason,
        "hypotheses": [
            {"name": h.name, "status": h.status, "counterexample": h.counterexample}
            for h in result.hypotheses
        ],
        "refutes": [
            {"design": r.design, "counterexample": r.counterexample} for r in result.refutes
        ],
        "second_opinion": opinion,
    }


def spelled(values: dict[str, int] | None) -> str:
    """Values of parameters as a person reads them."""
    return ", ".join(f"{name} {value}" for name, value in (values or {}).items())


def prove_table(results: Sequence[Result]) -> Any:
    """One line a theorem: verdict, claim, hypotheses that are needed, designs it catches."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("verdict")
    table.add_column("theorem", overflow="fold")
    table.add_column("hypotheses", overflow="fold")
    table.add_column("refutes", overflow="fold")
    for result in results:
        needed = sum(h.status == "necessary" for h in result.hypotheses)
        hypotheses = f"{needed} of {len(result.hypotheses)} needed" if result.hypotheses else "-"
        style = _STYLE[result.verdict]
        table.add_row(
            f"[{style}]{result.verdict}[/{style}]",
            result.theorem.id,
            hypotheses,
            ", ".join(r.design.removeprefix("sglang-") for r in result.refutes) or "-",
        )
    return table


def details(result: Result) -> list[str]:
    """Everything about one theorem: its claim, the witness, each hypothesis, the designs it refutes."""
    lines = [result.theorem.claim, f"  parameters: {', '.join(result.symbolic)}, unbounded"]
    if result.witness:
        lines.append(f"  its hypotheses hold together at {spelled(result.witness)}")
    for h in result.hypotheses:
        fails = f": without it false at {spelled(h.counterexample)}" if h.counterexample else ""
        lines.append(f"  {h.name} is {h.status}{fails}")
    lines += [f"  {r.design} fails at {spelled(r.counterexample)}" for r in result.refutes]
    return lines


def explanations(results: Sequence[Result]) -> list[str]:
    """For every theorem that was not proved: its claim, and why."""
    lines = []
    for result in results:
        if result.verdict != "proved":
            why = result.reason or f"it fails at {spelled(result.counterexample)}"
            lines += [f"{result.theorem.id}: {result.verdict}: {why}", f"  {result.theorem.claim}"]
    return lines


def second_method_line(found: SecondVerdict) -> str:
    """What the second method says, in a sentence."""
    slots = "whose slots hold" if found.slots_hold else "whose slots are overwritten"
    return f"{SECOND_METHOD}: {found.verdict} of {found.design} {slots}: {CLAIM}"


def certificate_lines(certificates: Sequence[Certificate], folder: str) -> list[str]:
    """How many proofs cvc5 gave, and for each that cannot be checked to the end, why."""
    given = sum(c.steps > 0 for c in certificates)
    steps, trusted = sum(c.steps for c in certificates), sum(c.trusted for c in certificates)
    size = sum(c.size for c in certificates)
    lines = [f"{c.obligation}: {c.fault()}" for c in certificates if not c.complete]
    total = f"{given} of {len(certificates)} proofs by cvc5 in {folder}"
    return [*lines, f"{total}: {steps:,} steps, {trusted} on trust, {size / 1e6:.1f} MB"]


def github_lines(
    results: Sequence[Result],
    certificates: Sequence[Certificate] = (),
    second_method: SecondVerdict | None = None,
) -> list[str]:
    """GitHub workflow commands: the summary first, then one line for what is not proved or certified, ten at most."""
    counts = summary(results)
    total = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
    faults = {
        r.theorem.id: f"{r.verdict}: {r.reason or f'it fails at {spelled(r.counterexample)}'}"
        for r in results
        if r.verdict != "proved"
    }
    faults |= {c.obligation: c.fault() for c in certificates if not c.complete}
    if second_method is not None and second_method.verdict != "proved":
        faults["second method"] = second_method_line(second_method)
    head = annotation("error" if faults else "note", "gridproof prove", total)
    return ten(head, [annotation("error", name, why) for name, why in faults.items()])
