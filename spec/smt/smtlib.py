"""SMT-LIB 2 text of a query, for solvers other than z3 and for keeping."""

from __future__ import annotations

import z3

from spec.smt.solver import Query


def first_line(name: str) -> str:
    """The line that the text of a query of this name begins with."""
    return f"; {name}"


def text(query: Query) -> str:
    """The query as one SMT-LIB 2 script: declarations, assertions, check-sat; expected to be unsat."""
    solver = z3.Solver()
    solver.add(*query.formulas)
    logic = "QF_LIA" if query.linear else "QF_NIA"
    lines = [line for line in solver.to_smt2().splitlines() if not line.startswith((";", "(set-"))]
    head = [first_line(query.name), f"(set-logic {logic})", "(set-info :status unsat)"]
    return "\n".join([*head, *lines]) + "\n"
