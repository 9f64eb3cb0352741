"""The results of `prove`, as a document and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gridproof.reports.github import annotation, ten
from gridproof.reports.smt_files import Certificate
from spec.engine import SecondMethod, SecondVerdict
from spec.prove import VERDICTS, Result

PROVE_SCHEMA = "gridproof/prove/1"
_STYLE = {
    "proved": "green",
    "refuted": "red",
    "unknown": "yellow",
    "vacuous": "yellow",
    "error": "red",
}


@dataclass(frozen=True)
class SecondResult:
    """A second method of proof, and its verdict on a design."""

    method: SecondMethod
    verdict: SecondVerdict

    def line(self) -> str:
        """The verdict in a sentence."""
        found = self.verdict
        return f"{self.method.name}: {found.verdict} for {found.design} {found.assumes}: {self.method.claim}"

    def document(self) -> dict[str, Any]:
        """The verdict as JSON."""
        return {
            "method": self.method.name,
            "claim": self.method.claim,
            "design": self.verdict.design,
            **self.verdict.facts,
            "verdict": self.verdict.verdict,
            "seconds": round(self.verdict.seconds, 4),
        }


def summary(results: Sequence[Result]) -> dict[str, int]:
    """How many theorems ended with each verdict."""
    return {verdict: sum(r.verdict == verdict for r in results) for verdict in VERDICTS}


def prove_document(
    results: Sequence[Result],
    solver: dict[str, str],
    second: dict[str, str] | None,
    certificates: Sequence[Certificate] | None = None,
    second_methods: Sequence[SecondResult] = (),
) -> dict[str, Any]:
    """The results of `prove` as JSON, with `proofs` if cvc5's proofs were asked for.

    `second_method` is there where an engine has one and the theorems of its family were proved; where several engines
    have one, `second_methods` lists them.
    """
    document: dict[str, Any] = {
        "schema": PROVE_SCHEMA,
        "solver": solver,
        "theorems": [_theorem(result, second) for result in results],
        "summary": summary(results),
    }
    if certificates is not None:
        document["proofs"] = [asdict(certificate) for certificate in certificates]
    found = [second_method.document() for second_method in second_methods]
    if len(found) == 1:
        document["second_method"] = found[0]
    elif found:
        document["second_methods"] = found
    return document


def _theorem(result: Result, second: dict[str, str] | None) -> dict[str, Any]:
    opinion = None
    if second and result.second_opinion:
        opinion = {**second, "verdict": result.second_opinion}
    return {
        "id": result.theorem.id,
        "engine": result.theorem.engine.name,
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
    """Values of parameters as text."""
    return ", ".join(f"{name} {value}" for name, value in (values or {}).items())


def prove_table(results: Sequence[Result]) -> Any:
    """One row a theorem: its verdict, its id, how many hypotheses are needed, the designs it refutes."""
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
            ", ".join(_short(result, r.design) for r in result.refutes) or "-",
        )
    return table


def _short(result: Result, design: str) -> str:
    return design.removeprefix(f"{result.theorem.engine.name}-")


def details(result: Result) -> list[str]:
    """Everything about one theorem: its claim, the witness, each hypothesis, the designs it refutes."""
    lines = [result.theorem.claim, f"  parameters: {', '.join(result.symbolic)}, unbounded"]
    if result.witness:
        lines.append(f"  its hypotheses hold together at {spelled(result.witness)}")
    for h in result.hypotheses:
        fails = (
            f": without it the theorem is false at {spelled(h.counterexample)}"
            if h.counterexample
            else ""
        )
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


def certificate_lines(certificates: Sequence[Certificate], folder: str) -> list[str]:
    """How many proofs cvc5 gave, and for each that cannot be checked completely the reason."""
    given = sum(c.steps > 0 for c in certificates)
    steps, trusted = sum(c.steps for c in certificates), sum(c.trusted for c in certificates)
    size = sum(c.size for c in certificates)
    lines = [f"{c.obligation}: {c.fault()}" for c in certificates if not c.complete]
    total = f"{given} of {len(certificates)} proofs by cvc5 in {folder}"
    return [*lines, f"{total}: {steps:,} steps, {trusted} on trust, {size / 1e6:.1f} MB"]


def github_lines(
    results: Sequence[Result],
    certificates: Sequence[Certificate] = (),
    second_methods: Sequence[SecondResult] = (),
) -> list[str]:
    """GitHub workflow commands: the summary, then a line for each theorem not proved or certified; ten at most."""
    counts = summary(results)
    total = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
    faults = {
        r.theorem.id: f"{r.verdict}: {r.reason or f'it fails at {spelled(r.counterexample)}'}"
        for r in results
        if r.verdict != "proved"
    }
    faults |= {c.obligation: c.fault() for c in certificates if not c.complete}
    wrong = [s for s in second_methods if s.verdict.verdict != "proved"]
    faults |= {f"second method of {s.verdict.design}": s.line() for s in wrong}
    head = annotation("error" if faults else "note", "gridproof prove", total)
    return ten(head, [annotation("error", name, why) for name, why in faults.items()])
