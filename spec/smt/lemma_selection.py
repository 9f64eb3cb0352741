"""Picks, from the lemma instances that bear on a statement, those that a proof needs.

The solver is asked with few; where it answers with a model, the instances that are false in that model are
added and it is asked again.  What is left at the end is a small query that proves the statement by itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import z3

from spec.smt.divisibility import Instance
from spec.smt.polynomials import Monomial, Polynomial, holds
from spec.smt.solver import Limits

MOST_AT_ONCE = 12


@dataclass
class Selection:
    """The instances chosen so far, and whether they refute the formulas they were chosen for."""

    result: str
    chosen: list[Instance]
    seconds: float
    checks: int


class _Values:
    """A solver's model as values of monomials: its own where it has one, else the product of the factors."""

    def __init__(self, model: z3.ModelRef):
        self._model = model
        self._declared = {declaration.name(): declaration for declaration in model.decls()}
        self._known: dict[Monomial, int] = {}

    def _named(self, name: str) -> int | None:
        if (declaration := self._declared.get(name)) is None:
            return None
        return self._model[declaration].as_long()

    def _monomial(self, monomial: Monomial) -> int:
        if monomial not in self._known:
            value = self._named("*".join(monomial))
            if value is None:
                value = math.prod(self._named(factor) or 0 for factor in monomial)
            self._known[monomial] = value
        return self._known[monomial]

    def __call__(self, polynomial: Polynomial) -> int:
        return sum(k * self._monomial(m) for m, k in polynomial.terms.items())


def _false_in(values: _Values, instance: Instance) -> bool:
    hypotheses, conclusions = instance.comparisons
    if not all(holds(kind, values(p)) for kind, p in hypotheses):
        return False
    return not all(holds(kind, values(p)) for kind, p in conclusions)


class Selector:
    """Chooses instances for one set of formulas; candidates may be added between rounds."""

    def __init__(self, formulas: Iterable[z3.BoolRef], limits: Limits):
        self._solver = z3.SimpleSolver()
        self._solver.set("rlimit", limits.resources)
        self._solver.set("timeout", limits.milliseconds)
        self._solver.set("ctrl_c", False)
        self._solver.set("random_seed", limits.seed)
        self._solver.add(*formulas)
        self._waiting: list[Instance] = []
        self._seen: set[Instance] = set()
        self._selection = Selection("unknown", [], 0.0, 0)

    def choose(self, candidates: Sequence[Instance]) -> Selection:
        """Choose among all candidates given so far until the formulas are refuted or no instance helps."""
        selection = self._selection
        fresh = [c for c in candidates if c not in self._seen]
        self._seen.update(fresh)
        self._waiting += sorted(fresh, key=lambda c: c.size)
        while True:
            start = time.perf_counter()
            result = self._solver.check()
            selection.seconds += time.perf_counter() - start
            selection.checks += 1
            selection.result = str(result)
            if result != z3.sat:
                return selection
            values = _Values(self._solver.model())
            false = [c for c in self._waiting if _false_in(values, c)][:MOST_AT_ONCE]
            if not false:
                return selection
            for instance in false:
                self._solver.add(instance.formula())
                self._waiting.remove(instance)
            selection.chosen += false


def core(formulas: Sequence[z3.BoolRef], limits: Limits) -> list[z3.BoolRef]:
    """Formulas that already contradict each other, of some that do; all of them where the solver gives up."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", limits.resources)
    solver.set("timeout", limits.milliseconds)
    solver.set("ctrl_c", False)
    solver.set("core.minimize", True)
    marks = {f"needed!{i}": formula for i, formula in enumerate(formulas)}
    for name, formula in marks.items():
        solver.add(z3.Implies(z3.Bool(name), formula))
    if solver.check(*map(z3.Bool, marks)) != z3.unsat:
        return list(formulas)
    return [marks[str(mark)] for mark in solver.unsat_core()]
