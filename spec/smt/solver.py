"""One question to z3 at a time, with a resource limit, and what it answered."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import z3


@dataclass(frozen=True)
class Limits:
    """What one query may cost: z3's machine-independent resource count, a time to catch runaways, the seed."""

    resources: int = 20_000_000
    milliseconds: int = 30_000
    seed: int = 0


@dataclass(frozen=True)
class Query:
    """Formulas to be shown unsatisfiable together; `linear`: no product of names is left in them."""

    name: str
    formulas: tuple[z3.BoolRef, ...]
    linear: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        """A query goes to another process as a text."""
        solver = z3.Solver()
        solver.add(*self.formulas)
        return _read, (self.name, solver.to_smt2(), self.linear)


def _read(name: str, text: str, linear: bool) -> Query:
    return Query(name, tuple(z3.parse_smt2_string(text)), linear)


@dataclass(frozen=True)
class Answer:
    """The solver's result, the time it took (seconds, without building the query) and its reason for `unknown`."""

    result: Literal["sat", "unsat", "unknown"]
    seconds: float
    reason: str = ""
    model: z3.ModelRef | None = None


def version() -> str:
    """The version of the z3 library in use."""
    return z3.get_version_string()


def decide(query: Query, limits: Limits = Limits()) -> Answer:
    """Ask z3 whether the query's formulas can hold together."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", limits.resources)
    solver.set("timeout", limits.milliseconds)
    solver.set("ctrl_c", False)
    solver.set("random_seed", limits.seed)
    solver.add(*query.formulas)
    start = time.perf_counter()
    result = solver.check()
    seconds = time.perf_counter() - start
    if result == z3.sat:
        return Answer("sat", seconds, model=solver.model())
    if result == z3.unsat:
        return Answer("unsat", seconds)
    return Answer("unknown", seconds, reason=solver.reason_unknown())
