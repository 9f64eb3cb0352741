"""Proves theorems: hypotheses that hold together, the proof, the need for each hypothesis, wrong designs refuted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import z3

from spec import points
from spec.points import Values
from spec.smt import divisibility, lemmas
from spec.smt.polynomials import linearised
from spec.smt.solver import Answer, Limits, Query, decide
from spec.smt.terms import Ledger
from spec.theorem import Theorem

Verdict = Literal["proved", "refuted", "unknown", "vacuous", "error"]
# How much a found divisibility may rest on: little is quick and mostly enough.
MOST_ASSUMPTIONS = (1, 2, 3, 4)
VERDICTS: tuple[Verdict, ...] = ("proved", "refuted", "unknown", "vacuous", "error")


@dataclass(frozen=True)
class HypothesisResult:
    """What becomes of the theorem without one hypothesis: `necessary`, `redundant` or `unknown`."""

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
    """What was found out about one theorem; times in seconds."""

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
    solving: float = 0.0
    queries: list[Query] = field(default_factory=list)
    second_opinion: Verdict | None = None

    @property
    def seconds(self) -> float:
        return self.building + self.solving


class Obligation:
    """A statement written down on terms, its witness values as their shadows.

    `most_assumptions`: how far the search for lemma instances goes.
    """

    def __init__(
        self,
        theorem: Theorem,
        parameters: Mapping[str, int],
        values: Mapping[str, int],
        design: Any = None,
        most_assumptions: int = 1,
    ):
        self.name, self.ledger = theorem.id, Ledger()
        terms = {p: self.ledger.variable(p, values[p], least) for p, least in parameters.items()}
        statement = theorem.at(terms, design)
        self.hypotheses = {
            name: self.ledger.truth(t).expr for name, t in statement.hypotheses.items()
        }
        self.refusal = z3.Not(self.ledger.truth(statement.conclusion).expr)
        self.given = [*self.ledger.lower_bounds, *self.ledger.definitions]
        self.instances = [
            i.formula() for i in divisibility.instances(self.ledger, most_assumptions)
        ]

    def query(self, without: str | None = None) -> Query:
        """The formulas whose unsatisfiability proves the statement, one hypothesis left out where named."""
        suffix = f" without {without}" if without else ""
        return self._linear(self.name + suffix, [*self._held(without), self.refusal])

    def hypotheses_query(self) -> Query:
        """The formulas whose unsatisfiability shows that the hypotheses contradict each other."""
        return self._linear(f"{self.name} hypotheses", self._held(None))

    def bounded_query(self, most: int, without: str | None = None) -> Query:
        """The statement's refusal with all products in it and no parameter above `most`: for its models."""
        bounds = [t.expr <= most for t in self.ledger.variables.values()]
        formulas = (*self.given, *self._held(without), self.refusal, *bounds)
        return Query(self.name, formulas, linear=False)

    def untrue_at_witness(self) -> list[z3.BoolRef]:
        """Definitions and bounds that the witness values do not satisfy: none, in a sound encoding."""
        return [f for f in self.given if not self.ledger.holds_at_witness(f)]

    def _held(self, without: str | None) -> list[z3.BoolRef]:
        return [f for name, f in self.hypotheses.items() if name != without]

    def _linear(self, name: str, formulas: Sequence[z3.BoolRef]) -> Query:
        return Query(name, (*map(linearised, (*self.given, *formulas)), *self.instances))


def _from_model(
    theorem: Theorem, ob: Obligation, answer: Answer, design: Any, without: str | None
) -> Values | None:
    """Integers from a solver's model, if the theorem itself fails on them."""
    if answer.model is None:
        return None
    values = {
        p: answer.model.eval(t.expr, model_completion=True).as_long()
        for p, t in ob.ledger.variables.items()
    }
    return values if points.fails_at(theorem, values, design, without) else None


def _refute(
    theorem: Theorem,
    parameters: Mapping[str, int],
    ob: Obligation | None,
    limits: Limits,
    design: Any = None,
    without: str | None = None,
) -> Values | None:
    """Integers on which the theorem fails: from arrays of candidates, else from the solver on bounded numbers."""
    if (found := points.counterexample(theorem, parameters, design, without)) is not None:
        return found
    if ob is None:
        return None
    limits = Limits(limits.resources, min(limits.milliseconds, 3_000), limits.seed)
    answer = decide(ob.bounded_query(10_000, without), limits)
    return _from_model(theorem, ob, answer, design, without)


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

    def _decide(self, query: Query, result: Result) -> Answer:
        """The answer that all seeds agree on; `unknown` where one of them met a limit or they differ."""
        answers = []
        for seed in self.seeds:
            limits = Limits(self.limits.resources, self.limits.milliseconds, seed)
            answers.append(self.decide(query, limits))
            result.solving += answers[-1].seconds
        if len({a.result for a in answers}) == 1:
            return answers[0]
        unknown = [a for a in answers if a.result == "unknown"]
        return unknown[0] if unknown else Answer("unknown", 0.0, "the seeds disagree")

    def prove(self, theorem: Theorem) -> Result:
        """Everything there is to say about one theorem; an exception in it becomes the verdict `error`."""
        start = time.perf_counter()
        result = Result(theorem, "error")
        try:
            self._prove(theorem, result)
        except (ArithmeticError, AttributeError, TypeError, ValueError, z3.Z3Exception) as error:
            result.verdict = "error"
            result.reason = f"{type(error).__name__}: {error}"
        result.building = time.perf_counter() - start - result.solving
        return result

    def _prove(self, theorem: Theorem, result: Result) -> None:
        if missing := lemmas.unproved():
            result.reason = f"lemmas not proved: {', '.join(missing)}"
            return
        parameters = theorem.parameters()
        result.symbolic = tuple(parameters)
        result.witness = points.witness(theorem, parameters)
        if result.witness is None:
            self._without_witness(theorem, parameters, result)
            return
        for most_assumptions in MOST_ASSUMPTIONS:
            ob = Obligation(theorem, parameters, result.witness, None, most_assumptions)
            if wrong := ob.untrue_at_witness():
                result.reason = f"the encoding is false at the witness: {wrong[0]}"
                return
            query = ob.query()
            answer = self._decide(query, result)
            if answer.result == "unsat":
                break
        result.instances = len(ob.instances)
        result.queries.append(query)
        if answer.result == "unsat":
            result.verdict = "proved"
            if self.second is not None:
                confirmed = self.second(query, self.limits).result == "unsat"
                result.second_opinion = "proved" if confirmed else "unknown"
            for name in ob.hypotheses:
                result.hypotheses.append(self._without(theorem, parameters, ob, name, result))
        else:
            result.counterexample = _refute(theorem, parameters, ob, self.limits)
            result.verdict = "unknown" if result.counterexample is None else "refuted"
            result.reason = "" if result.counterexample else answer.reason or "no proof found"
        self._refutes(theorem, result)

    def _without_witness(
        self, theorem: Theorem, parameters: Mapping[str, int], result: Result
    ) -> None:
        values = {p: max(least, 1) for p, least in parameters.items()}
        ob = Obligation(theorem, parameters, values)
        answer = self._decide(ob.hypotheses_query(), result)
        if answer.result == "unsat":
            result.verdict = "vacuous"
            result.reason = "its hypotheses exclude each other"
        else:
            result.verdict = "unknown"
            result.reason = "no values were found at which its hypotheses hold together"

    def _without(
        self,
        theorem: Theorem,
        parameters: Mapping[str, int],
        ob: Obligation,
        name: str,
        result: Result,
    ) -> HypothesisResult:
        found = points.counterexample(theorem, parameters, without=name)
        if found is None:
            answer = self._decide(ob.query(without=name), result)
            if answer.result == "unsat":
                return HypothesisResult(name, "redundant", None)
            found = _refute(theorem, parameters, ob, self.limits, without=name)
        return HypothesisResult(name, "necessary" if found else "unknown", found)

    def _refutes(self, theorem: Theorem, result: Result) -> None:
        for name in theorem.refuted_by:
            design = theorem.setting.design(name)
            found = points.counterexample(theorem, theorem.parameters(design), design)
            if found is None:
                result.verdict = "error"
                result.reason = f"it should fail on {name} and no counterexample was found"
            else:
                result.refutes.append(Refutation(name, found))


def shown(theorem: Theorem, limits: Limits = Limits()) -> bool:
    """Whether the solver proves a statement outright; hypotheses that contradict each other count as shown."""
    parameters = theorem.parameters()
    values = {p: max(least, 1) for p, least in parameters.items()}
    for most_assumptions in MOST_ASSUMPTIONS:
        query = Obligation(theorem, parameters, values, None, most_assumptions).query()
        if decide(query, limits).result == "unsat":
            return True
    return False
