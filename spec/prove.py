"""Proves theorems: hypotheses that hold together, the proof, the need for each hypothesis, wrong designs refuted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import z3

from spec import candidates as concrete
from spec.candidates import Candidates, Values
from spec.smt import divisibility, lemmas
from spec.smt.divisibility import Instance
from spec.smt.lemma_selection import Selector, core
from spec.smt.polynomials import every, linearised
from spec.smt.solver import Answer, Limits, Query, decide
from spec.smt.terms import Ledger
from spec.theorem import Statement, Theorem

Verdict = Literal["proved", "refuted", "unknown", "vacuous", "error"]
# How many assumptions a divisibility may depend on: few are quick and mostly enough.
MOST_ASSUMPTIONS = (1, 2, 3, 4)
VERDICTS: tuple[Verdict, ...] = ("proved", "refuted", "unknown", "vacuous", "error")


@dataclass(frozen=True)
class HypothesisResult:
    """Whether a hypothesis is needed: without it the theorem fails (`necessary`), holds (`redundant`) or `unknown`."""

    name: str
    status: Literal["necessary", "redundant", "unknown"]
    counterexample: Values | None


@dataclass(frozen=True)
class Refutation:
    """A design on which the theorem fails, with integers at which it does."""

    design: str
    counterexample: Values


@dataclass
class Result:
    """The result for one theorem; times in seconds.

    `building`: writing statements down and finding instances; `choosing`: the solver, while instances are
    chosen; `solving`: the solver on the `asked` final queries.
    """

    theorem: Theorem
    verdict: Verdict
    symbolic: tuple[str, ...] = ()
    witness: Values | None = None
    counterexample: Values | None = None
    hypotheses: list[HypothesisResult] = field(default_factory=list)
    refutes: list[Refutation] = field(default_factory=list)
    reason: str = ""
    instances: int = 0
    building: float = 0.0
    choosing: float = 0.0
    solving: float = 0.0
    asked: int = 0
    queries: list[Query] = field(default_factory=list)
    second_opinion: Verdict | None = None

    @property
    def seconds(self) -> float:
        return self.building + self.choosing + self.solving


@dataclass(frozen=True)
class Attempt:
    """A query with the lemma instances chosen for it; `closed`: they refute it, so it is a proof."""

    query: Query
    closed: bool
    instances: int
    seconds: float


class Obligation:
    """A statement written down on terms, its witness values as their shadows."""

    def __init__(
        self,
        theorem: Theorem,
        parameters: Mapping[str, int],
        values: Mapping[str, int],
        design: Any = None,
    ):
        self.name, self.ledger = theorem.id, Ledger()
        terms = {p: self.ledger.variable(p, values[p], least) for p, least in parameters.items()}
        statement = theorem.at(terms, design)
        self.hypotheses = {
            name: self.ledger.truth(t).expr for name, t in statement.hypotheses.items()
        }
        self.refusal = z3.Not(self.ledger.truth(statement.conclusion).expr)
        self.given = [*self.ledger.lower_bounds, *self.ledger.definitions]
        self._linear_given = [linearised(f) for f in self.given]

    @cache  # noqa: B019  (an obligation is short-lived, and its instances are asked for again and again)
    def _instances(self, most_assumptions: int) -> list[Instance]:
        return divisibility.instances(self.ledger, most_assumptions)

    def attempt(self, limits: Limits, without: str | None = None) -> Attempt:
        """Choose lemma instances until the statement is proved, or until none is left that helps."""
        suffix = f" without {without}" if without else ""
        return self._attempt(self.name + suffix, [*self._held(without), self.refusal], limits)

    def attempt_contradiction(self, limits: Limits) -> Attempt:
        """Choose lemma instances until the hypotheses are shown to contradict each other."""
        return self._attempt(f"{self.name} hypotheses", self._held(None), limits)

    def _attempt(self, name: str, formulas: Sequence[z3.BoolRef], limits: Limits) -> Attempt:
        linear = [*self._linear_given, *map(linearised, formulas)]
        selector = Selector(linear, limits)
        for most_assumptions in MOST_ASSUMPTIONS:
            selection = selector.choose(self._instances(most_assumptions))
            if selection.result == "unsat":
                break
        chosen = [i.formula() for i in selection.chosen]
        if selection.result != "unsat":
            return Attempt(Query(name, (*linear, *chosen)), False, len(chosen), selection.seconds)
        start = time.perf_counter()
        needed = core([*linear, *chosen], limits)
        seconds = selection.seconds + time.perf_counter() - start
        ids = {f.get_id() for f in chosen}
        kept = sum(f.get_id() in ids for f in needed)
        return Attempt(Query(name, tuple(needed)), True, kept, seconds)

    def bounded_query(self, most: int, without: str | None = None) -> Query:
        """The statement's refusal with all products in it and no parameter above `most`: for its models."""
        bounds = [t.expr <= most for t in self.ledger.variables.values()]
        formulas = (*self.given, *self._held(without), self.refusal, *bounds)
        return Query(self.name, formulas, linear=False)

    def untrue_at_witness(self, plain: Statement) -> str | None:
        """Where the terms and the statement run on plain integers differ at the witness: nowhere, if sound."""
        spoken = {**self.hypotheses, "conclusion": z3.Not(self.refusal)}
        truths = {**plain.hypotheses, "conclusion": plain.conclusion}
        claims = {f"definition {number}": formula for number, formula in enumerate(self.given)}
        claims |= {name: spoken[name] == z3.BoolVal(bool(truth)) for name, truth in truths.items()}
        holds = self.ledger.holds_at_witness
        if holds(every(list(claims.values()))):
            return None
        wrong = next(name for name, claim in claims.items() if not holds(claim))
        return f"{wrong}, {claims[wrong]}"

    def _held(self, without: str | None) -> list[z3.BoolRef]:
        return [f for name, f in self.hypotheses.items() if name != without]


def _from_model(
    ob: Obligation, candidates: Candidates, answer: Answer, without: str | None
) -> Values | None:
    """Integers from a solver's model, if the theorem itself fails on them."""
    if answer.model is None:
        return None
    values = {
        p: answer.model.eval(t.expr, model_completion=True).as_long()
        for p, t in ob.ledger.variables.items()
    }
    fails = concrete.fails_at(candidates.theorem, values, candidates.design, without)
    return candidates.lowered(values, without) if fails else None


def _refute(
    ob: Obligation, candidates: Candidates, limits: Limits, without: str | None = None
) -> Values | None:
    """Integers on which the theorem fails, from the solver on bounded numbers."""
    limits = Limits(limits.resources, min(limits.milliseconds, 20_000), limits.seed)
    answer = decide(ob.bounded_query(10_000, without), limits)
    return _from_model(ob, candidates, answer, without)


Decide = Callable[[Query, Limits], Answer]


class Prover:
    """Proves theorems under given limits, once for each seed; `second` is asked to confirm each proof."""

    def __init__(
        self,
        limits: Limits = Limits(),
        seeds: int = 1,
        decide: Decide = decide,
        second: Decide | None = None,
    ):
        self.limits, self.decide, self.second = limits, decide, second
        self.seeds = range(limits.seed, limits.seed + seeds)

    def _confirm(self, attempt: Attempt, result: Result) -> Answer:
        """The answer on which all seeds agree; `unknown` where one of them met a limit or they differ."""
        result.choosing += attempt.seconds
        if not attempt.closed:
            return Answer("unknown", 0.0, "no proof found")
        answers = []
        for seed in self.seeds:
            limits = Limits(self.limits.resources, self.limits.milliseconds, seed)
            answers.append(self.decide(attempt.query, limits))
            result.solving += answers[-1].seconds
            result.asked += 1
        return next((a for a in answers if a.result != "unsat"), answers[0])

    def prove(self, theorem: Theorem) -> Result:
        """The whole result for one theorem; an exception while proving becomes the verdict `error`."""
        start = time.perf_counter()
        result = Result(theorem, "error")
        try:
            self._prove(theorem, result)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            StopIteration,
            TypeError,
            ValueError,
            z3.Z3Exception,
        ) as error:
            result.verdict = "error"
            result.reason = f"{type(error).__name__}: {error}"
        spent = time.perf_counter() - start
        result.building = spent - result.solving - result.choosing
        return result

    def _prove(self, theorem: Theorem, result: Result) -> None:
        if missing := lemmas.unproved():
            result.reason = f"lemmas not proved: {', '.join(missing)}"
            return
        parameters = theorem.parameters()
        result.symbolic = tuple(parameters)
        candidates = Candidates(theorem, parameters)
        result.witness = candidates.witness()
        if result.witness is None:
            self._without_witness(theorem, parameters, result)
            return
        ob = Obligation(theorem, parameters, result.witness)
        if wrong := ob.untrue_at_witness(theorem.at(result.witness)):
            result.reason = f"terms and integers differ at the witness: {wrong}"
            return
        attempt = ob.attempt(self.limits)
        answer = self._confirm(attempt, result)
        result.instances = attempt.instances
        result.queries.append(attempt.query)
        if answer.result == "unsat":
            result.verdict = "proved"
            if self.second is not None:
                confirmed = self.second(attempt.query, self.limits).result == "unsat"
                result.second_opinion = "proved" if confirmed else "unknown"
            for name in ob.hypotheses:
                result.hypotheses.append(self._without(candidates, ob, name, result))
        else:
            found = candidates.counterexample()
            result.counterexample = found or _refute(ob, candidates, self.limits)
            result.verdict = "unknown" if result.counterexample is None else "refuted"
            result.reason = "" if result.counterexample else answer.reason or "no proof found"
        self._refutes(theorem, result)

    def _without_witness(
        self, theorem: Theorem, parameters: Mapping[str, int], result: Result
    ) -> None:
        values = {p: max(least, 1) for p, least in parameters.items()}
        ob = Obligation(theorem, parameters, values)
        answer = self._confirm(ob.attempt_contradiction(self.limits), result)
        if answer.result == "unsat":
            result.verdict = "vacuous"
            result.reason = "its hypotheses exclude each other"
        else:
            result.verdict = "unknown"
            result.reason = "no values were found at which its hypotheses hold together"

    def _without(
        self, candidates: Candidates, ob: Obligation, name: str, result: Result
    ) -> HypothesisResult:
        found = candidates.counterexample(without=name)
        if found is None:
            answer = self._confirm(ob.attempt(self.limits, without=name), result)
            if answer.result == "unsat":
                return HypothesisResult(name, "redundant", None)
            found = _refute(ob, candidates, self.limits, without=name)
        return HypothesisResult(name, "necessary" if found else "unknown", found)

    def _refutes(self, theorem: Theorem, result: Result) -> None:
        for name in theorem.refuted_by:
            design = theorem.setting.design(name)
            found = concrete.counterexample(theorem, theorem.parameters(design), design)
            if found is None:
                result.verdict = "error"
                result.reason = f"it should fail on {name} and no counterexample was found"
            else:
                result.refutes.append(Refutation(name, found))


def shown(theorem: Theorem, limits: Limits = Limits()) -> bool:
    """Whether the solver proves a statement outright; hypotheses that contradict each other count as shown."""
    parameters = theorem.parameters()
    values = {p: max(least, 1) for p, least in parameters.items()}
    return Obligation(theorem, parameters, values).attempt(limits).closed
