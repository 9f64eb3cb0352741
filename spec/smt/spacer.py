"""Whether a transition system can reach harm in any number of events, by constrained Horn clauses (z3's Spacer).

One relation holds of the reachable states; Spacer looks for an interpretation of it that every event keeps, or for
a derivation of harm.  It is given no invariant.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import z3

from spec.smt.solver import Answer, Limits
from spec.smt.terms import Ledger
from spec.transition_system import Event, System, parameters


class _Clauses:
    """The clauses of a system: rules of a fixed-point engine whose variables are those of each clause."""

    def __init__(self, system: System, limits: Limits):
        self._system = system
        self._names = [f.name for f in fields(system.state)]
        self._reached = z3.Function("reached", *[z3.IntSort()] * len(self._names), z3.BoolSort())
        self._harm = z3.Function("harm", z3.BoolSort())
        self._engine = z3.Fixedpoint()
        self._engine.set(engine="spacer", timeout=limits.milliseconds)
        self._engine.set("spacer.random_seed", limits.seed)
        self._engine.register_relation(self._reached, self._harm)
        self._add(system.starts, None)
        for event in system.events.values():
            self._add_event(event)
        self._add(system.harm, self._harm())

    def _state(self, ledger: Ledger) -> Any:
        return self._system.state(**{n: ledger.variable(n, 1, None) for n in self._names})

    def _reaches(self, ledger: Ledger, state: Any) -> z3.BoolRef:
        return self._reached(*(ledger.lift(getattr(state, n)).expr for n in self._names))

    def _rule(self, ledger: Ledger, head: z3.BoolRef, body: Iterable[z3.BoolRef]) -> None:
        self._engine.declare_var(*(name for name, _ in ledger.witness))
        self._engine.rule(head, [*body, *ledger.definitions])

    def _add(self, condition: Any, harm: z3.BoolRef | None) -> None:
        """Where a state is initial it is reached; where one that is reached is harmful there is harm."""
        ledger = Ledger()
        state = self._state(ledger)
        reaches, holds = self._reaches(ledger, state), ledger.truth(condition(state)).expr
        if harm is None:
            self._rule(ledger, reaches, [holds])
        else:
            self._rule(ledger, harm, [reaches, holds])

    def _add_event(self, event: Event) -> None:
        """Where the event may happen in a state that is reached, the one after it is reached."""
        ledger = Ledger()
        before = self._state(ledger)
        given = {name: ledger.variable(name, 1, None) for name in parameters(event)}
        allowed, after = event(before, **given)
        body = [self._reaches(ledger, before), ledger.truth(allowed).expr]
        self._rule(ledger, self._reaches(ledger, after), body)

    def query(self) -> z3.CheckSatResult:
        return self._engine.query(self._harm())


def decide(system: System, limits: Limits = Limits()) -> Answer:
    """`unsat`: no number of events leads to harm; `sat`: some do; `unknown`: a limit was met."""
    start = time.perf_counter()
    try:
        result, reason = _Clauses(system, limits).query(), ""
    except z3.Z3Exception as error:
        result, reason = z3.unknown, str(error)
    seconds = time.perf_counter() - start
    if result == z3.unknown:
        return Answer("unknown", seconds, reason or "Spacer gave up")
    return Answer("sat" if result == z3.sat else "unsat", seconds)
