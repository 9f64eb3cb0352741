"""Facts about products, remainders and divisibility, each proved once from instances of earlier ones.

A proof of a theorem may use any instance of them.  The first three are the only nonlinear queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import z3

from spec.smt.polynomials import Polynomial, difference, every, is_comparison, linearised
from spec.smt.solver import Limits, Query, decide

# What a comparison is, and the difference of its sides.
Comparisons = list[tuple[int, Polynomial]]


@dataclass(frozen=True)
class Lemma:
    """An implication between formulas over named integers, true for all their values."""

    name: str
    hypotheses: tuple[z3.BoolRef, ...]
    conclusion: z3.BoolRef
    uses: tuple[z3.BoolRef, ...] = field(default=())

    @cached_property
    def _statement(self) -> z3.BoolRef:
        return z3.Implies(every(self.hypotheses), self.conclusion)

    def at(self, **values: z3.ArithRef) -> z3.BoolRef:
        """The instance with these values for the lemma's names, products and all."""
        return z3.substitute(self._statement, *((z3.Int(n), value) for n, value in values.items()))

    @cached_property
    def _parts(self) -> tuple[Comparisons, Comparisons]:
        conclusions = [self.conclusion]
        if z3.is_and(self.conclusion):
            conclusions = self.conclusion.children()
        return _comparisons(self.hypotheses), _comparisons(conclusions)

    def comparisons_at(self, values: Mapping[str, Polynomial]) -> tuple[Comparisons, Comparisons]:
        """Hypotheses and conclusions of the instance with these values for the lemma's names."""
        hypotheses, conclusions = (
            [(kind, template.substitute(values)) for kind, template in part] for part in self._parts
        )
        return hypotheses, conclusions

    def query(self) -> Query:
        """The formulas that must be unsatisfiable together; linear wherever earlier lemmas are used."""
        formulas = (*self.hypotheses, *self.uses, z3.Not(self.conclusion))
        if not self.uses:
            return Query(self.name, formulas, linear=False)
        return Query(self.name, tuple(linearised(f) for f in formulas))


def _comparisons(formulas: Iterable[z3.BoolRef]) -> Comparisons:
    for formula in formulas:
        if not is_comparison(formula):
            raise ValueError(f"a lemma is made of comparisons, not of {formula}")
    return [(f.decl().kind(), difference(f)) for f in formulas]


def _library() -> dict[str, Lemma]:
    a, b, c, d, g, k, m, n = z3.Ints("a b c d g k m n")
    q, r, s, t, u, v, w, x, y = z3.Ints("q r s t u v w x y")
    one = z3.IntVal(1)
    known: dict[str, Lemma] = {}

    def add(
        name: str,
        hypotheses: Sequence[z3.BoolRef],
        conclusion: z3.BoolRef,
        uses: Sequence[z3.BoolRef] = (),
    ) -> Lemma:
        lemma = known[name] = Lemma(name, tuple(hypotheses), conclusion, tuple(uses))
        return lemma

    scale = add("scale", [a == b], a * c == b * c)
    grow = add("grow", [t >= 1, x >= 1], t * x >= t)
    zero = add("zero", [x == 0], t * x == 0)
    add("unit", [x == 1], t * x == t, [scale.at(a=x, b=one, c=t)])
    shrink = add("shrink", [t >= 1, x <= 0], t * x <= 0, [grow.at(x=-x), zero.at()])
    add(
        "positive factor",
        [a >= 1, b >= 1, b == a * x],
        z3.And(x >= 1, b >= a),
        [grow.at(t=a), shrink.at(t=a)],
    )
    order = add(
        "order",
        [t >= 1, x >= y + 1],
        t * x >= t * y + t,
        [grow.at(x=x - y)],
    )
    add("transitive", [b == a * x, c == b * y], c == a * (x * y), [scale.at(a=b, b=a * x, c=y)])
    add(
        "remainder",
        [t >= 1, n == t * w + s, 0 <= s, s < t, n == t * q + r, 0 <= r, r < t],
        z3.And(q == w, r == s),
        [order.at(x=q, y=w), order.at(x=w, y=q), scale.at(a=q, b=w, c=t)],
    )
    add(
        "sum",
        [a == d * x, b == d * y],
        z3.And(a + b == d * (x + y), a - b == d * (x - y)),
        [scale.at(b=d * x, c=one)],
    )
    add(
        "least multiple",
        [g == a * x, g == b * y, u * x + v * y == 1, m == a * q, m == b * r],
        m == g * (q * u + r * v),
        [
            scale.at(a=u * x + v * y, b=one, c=m),
            scale.at(a=m, b=a * q, c=u * x),
            scale.at(a=g, b=a * x, c=q * u),
            scale.at(a=m, b=b * r, c=v * y),
            scale.at(a=g, b=b * y, c=r * v),
        ],
    )
    add(
        "greatest divisor",
        [a == g * x, b == g * y, u * x + v * y == 1, a == d * q, b == d * r],
        g == d * (q * u + r * v),
        [
            scale.at(a=u * x + v * y, b=one, c=g),
            scale.at(a=a, b=g * x, c=u),
            scale.at(a=b, b=g * y, c=v),
            scale.at(a=a, b=d * q, c=u),
            scale.at(a=b, b=d * r, c=v),
        ],
    )
    cancel = add(
        "cancel",
        [k >= 1, k * a == k * b],
        a == b,
        [order.at(t=k, x=a, y=b), order.at(t=k, x=b, y=a)],
    )
    add(
        "cancel factor",
        [k >= 1, m == k * b, n == k * a, m == n * w],
        b == a * w,
        [cancel.at(a=b, b=a * w), scale.at(a=n, b=k * a, c=w)],
    )
    add(
        "period",
        [a == g * x, b == g * y, k == y * w, n == k * a],
        n == b * (w * x),
        [
            scale.at(a=a, b=g * x, c=k),
            scale.at(a=k, b=y * w, c=g * x),
            scale.at(a=b, b=g * y, c=w * x),
        ],
    )
    add(
        "only period",
        [g >= 1, a == g * x, b == g * y, u * x + v * y == 1, n == k * a, n == b * w],
        k == y * (u * w + v * k),
        [
            scale.at(a=a, b=g * x, c=k),
            scale.at(a=b, b=g * y, c=w),
            cancel.at(k=g, a=k * x, b=y * w),
            scale.at(a=u * x + v * y, b=one, c=k),
            scale.at(a=k * x, b=y * w, c=u),
        ],
    )
    return known


LEMMAS: dict[str, Lemma] = _library()


@cache
def unproved(seed: int = 0) -> tuple[str, ...]:
    """Names of the lemmas the solver does not prove; empty when all instances may be relied on."""
    return tuple(
        name
        for name, lemma in LEMMAS.items()
        if decide(lemma.query(), Limits(seed=seed)).result != "unsat"
    )
