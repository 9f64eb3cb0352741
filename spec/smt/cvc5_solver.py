"""The same questions put to cvc5, where it is installed, and its proofs of what it answers."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spec.smt import smtlib
from spec.smt.solver import Answer, Limits, Query

# A proof that ethos reads: each step a rule of the Cooperating Proof Calculus, with its conclusion, and the
# names and assertions those of a reference file.
_PROOF_OPTIONS = {
    "produce-proofs": "true",
    "proof-granularity": "dsl-rewrite",
    "proof-print-conclusion": "true",
    "proof-print-reference": "true",
}


class NoSecondSolver(RuntimeError):
    """cvc5 was asked for and is not installed."""


@dataclass(frozen=True)
class Proof:
    """A proof in the Cooperating Proof Calculus: its text, its steps, and how many of them are taken on trust."""

    text: str
    steps: int
    trusted: int


def _module() -> Any:
    try:
        import cvc5
    except ImportError:
        raise NoSecondSolver(
            "cvc5 is not installed; 'pip install gridproof[cvc5]' brings it"
        ) from None
    return cvc5


def version() -> str:
    """The version of the cvc5 library in use."""
    return str(_module().__version__)


def _asked(query: Query, limits: Limits, options: Mapping[str, str]) -> tuple[Any, Answer]:
    """A solver that was asked whether the query's formulas can hold together, and what it answered."""
    cvc5 = _module()
    solver = cvc5.Solver(cvc5.TermManager())
    settings = {"tlimit-per": str(limits.milliseconds), "seed": str(limits.seed), **options}
    for name, value in settings.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, smtlib.text(query), query.name)
    seconds, result = 0.0, ""
    while not (command := parser.nextCommand()).isNull():
        start = time.perf_counter()
        output = command.invoke(solver, parser.getSymbolManager()).strip()
        if output in ("sat", "unsat", "unknown"):
            result, seconds = output, time.perf_counter() - start
        elif output:
            return solver, Answer("unknown", seconds, output)
    if result == "unsat":
        return solver, Answer("unsat", seconds)
    return solver, Answer("sat" if result == "sat" else "unknown", seconds, "cvc5 found no proof")


def decide(query: Query, limits: Limits = Limits()) -> Answer:
    """Ask cvc5 whether the query's formulas can hold together; it gives no model here."""
    return _asked(query, limits, {})[1]


def reference_line(reference: str) -> str:
    """The line that a proof begins with which takes its names and assertions from the file `reference`."""
    return f'(reference "{reference}")'


def proof(query: Query, reference: str, limits: Limits = Limits()) -> Proof | None:
    """cvc5's proof that the formulas cannot hold together, None where it finds none.

    `reference`: name of the file that holds `smtlib.text(query)`, as seen from the proof's.
    """
    solver, answer = _asked(query, limits, _PROOF_OPTIONS)
    if answer.result != "unsat":
        return None
    (found,) = solver.getProof()
    printed = solver.proofToString(found, _module().ProofFormat.CPC).decode()
    # What cvc5 puts around all commands together (from 1.3) is no part of them.
    commands = re.sub(r"\A\(\n|\n\)\n*\Z", "", printed)
    return Proof(
        text=f"{reference_line(reference)}\n{commands.rstrip()}\n",
        steps=len(re.findall(r"^\(step", commands, re.MULTILINE)),
        trusted=len(re.findall(r":rule trust\b", commands)),
    )
