"""The same questions put to cvc5, where it is installed."""

from __future__ import annotations

import time

from spec.smt import smtlib
from spec.smt.solver import Answer, Limits, Query


class NoSecondSolver(RuntimeError):
    """cvc5 was asked for and is not installed."""


def _module():
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


def decide(query: Query, limits: Limits = Limits()) -> Answer:
    """Ask cvc5 whether the query's formulas can hold together; it gives no model here."""
    cvc5 = _module()
    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("tlimit-per", str(limits.milliseconds))
    solver.setOption("seed", str(limits.seed))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, smtlib.text(query), query.name)
    seconds, said = 0.0, ""
    while not (command := parser.nextCommand()).isNull():
        start = time.perf_counter()
        output = command.invoke(solver, parser.getSymbolManager()).strip()
        if output in ("sat", "unsat", "unknown"):
            said, seconds = output, time.perf_counter() - start
        elif output:
            return Answer("unknown", seconds, output)
    if said == "unsat":
        return Answer("unsat", seconds)
    return Answer("sat" if said == "sat" else "unknown", seconds, "cvc5 found no proof")
