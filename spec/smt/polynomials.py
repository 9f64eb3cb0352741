"""Polynomials over named integers, and z3 formulas in which every product of names is one opaque name.

A query written this way is linear: the solver cannot lose itself in products, and an `unsat` under the
abstraction is an `unsat` of the original, since opaque products only admit more models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache

import z3

Monomial = tuple[str, ...]


class Polynomial:
    """An immutable polynomial with integer coefficients; equal polynomials are equal objects to a dict."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, int]):
        self.terms = {m: k for m, k in terms.items() if k}
        self._hash: int | None = None

    @staticmethod
    def constant(value: int) -> Polynomial:
        return Polynomial({(): value})

    @staticmethod
    def name(name: str) -> Polynomial:
        return Polynomial({(name,): 1})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def _plus(self, other: Polynomial, sign: int) -> Polynomial:
        total = dict(self.terms)
        for m, k in other.terms.items():
            total[m] = total.get(m, 0) + sign * k
        return Polynomial(total)

    def __add__(self, other: Polynomial) -> Polynomial:
        return self._plus(other, 1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self._plus(other, -1)

    def __neg__(self) -> Polynomial:
        return Polynomial({m: -k for m, k in self.terms.items()})

    def __mul__(self, other: Polynomial) -> Polynomial:
        product: dict[Monomial, int] = {}
        for m1, k1 in self.terms.items():
            for m2, k2 in other.terms.items():
                monomial = tuple(sorted(m1 + m2)) if m1 and m2 else m1 or m2
                product[monomial] = product.get(monomial, 0) + k1 * k2
        return Polynomial(product)

    def substitute(self, values: Mapping[str, Polynomial]) -> Polynomial:
        """This polynomial with polynomials in the place of some of its names."""
        total = Polynomial({})
        for monomial, k in self.terms.items():
            part = Polynomial.constant(k)
            for name in monomial:
                part = part * (values.get(name) or Polynomial.name(name))
            total = total + part
        return total

    def __str__(self) -> str:
        return " + ".join(f"{k}*{'*'.join(m)}" for m, k in sorted(self.terms.items())) or "0"


def polynomial(expr: z3.ArithRef) -> Polynomial:
    """The expanded polynomial of a z3 expression in ``+ - *`` and names."""
    if z3.is_int_value(expr):
        return Polynomial.constant(expr.as_long())
    children = expr.children()
    if not children:
        return Polynomial.name(expr.decl().name())
    kind, parts = expr.decl().kind(), [polynomial(child) for child in children]
    if kind == z3.Z3_OP_UMINUS:
        return -parts[0]
    combine = _OPERATIONS.get(kind)
    if combine is None:
        raise ValueError(f"no polynomial: {expr}")
    total = parts[0]
    for part in parts[1:]:
        total = combine(total, part)
    return total


_OPERATIONS: dict[int, Callable[[Polynomial, Polynomial], Polynomial]] = {
    z3.Z3_OP_ADD: lambda a, b: a + b,
    z3.Z3_OP_SUB: lambda a, b: a - b,
    z3.Z3_OP_MUL: lambda a, b: a * b,
}


@cache
def _opaque(monomial: Monomial) -> z3.ArithRef:
    return z3.Int("*".join(monomial))


def _side(terms: Iterable[tuple[Monomial, int]]) -> z3.ArithRef:
    parts = []
    for monomial, k in terms:
        if not monomial:
            parts.append(z3.IntVal(k))
        else:
            parts.append(_opaque(monomial) if k == 1 else k * _opaque(monomial))
    return parts[0] if len(parts) == 1 else z3.Sum(parts) if parts else z3.IntVal(0)


_COMPARISONS: dict[int, Callable[[z3.ArithRef, z3.ArithRef], z3.BoolRef]] = {
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_DISTINCT: lambda a, b: a != b,
    z3.Z3_OP_LE: lambda a, b: a <= b,
    z3.Z3_OP_LT: lambda a, b: a < b,
    z3.Z3_OP_GE: lambda a, b: a >= b,
    z3.Z3_OP_GT: lambda a, b: a > b,
}


@lru_cache(maxsize=100_000)
def comparison(kind: int, difference: Polynomial) -> z3.BoolRef:
    """``difference KIND 0`` over opaque products, written without negative coefficients."""
    terms = sorted(difference.terms.items())
    left = _side((m, k) for m, k in terms if k > 0)
    right = _side((m, -k) for m, k in terms if k < 0)
    return _COMPARISONS[kind](left, right)


_HOLDS: dict[int, Callable[[int], bool]] = {
    z3.Z3_OP_EQ: lambda d: d == 0,
    z3.Z3_OP_DISTINCT: lambda d: d != 0,
    z3.Z3_OP_LE: lambda d: d <= 0,
    z3.Z3_OP_LT: lambda d: d < 0,
    z3.Z3_OP_GE: lambda d: d >= 0,
    z3.Z3_OP_GT: lambda d: d > 0,
}


def holds(kind: int, difference: int) -> bool:
    """Whether ``difference KIND 0`` for an integer."""
    return _HOLDS[kind](difference)


def every(formulas: Sequence[z3.BoolRef]) -> z3.BoolRef:
    """All of them together; a single one stays as it is, since SMT-LIB knows no `and` of one."""
    return formulas[0] if len(formulas) == 1 else z3.And(*formulas)


def is_comparison(formula: z3.BoolRef) -> bool:
    """Whether a formula compares two integers."""
    return formula.decl().kind() in _COMPARISONS and z3.is_int(formula.arg(0))


def difference(formula: z3.BoolRef) -> Polynomial:
    """The left side of a comparison less its right side."""
    return polynomial(formula.arg(0)) - polynomial(formula.arg(1))


def linearised(formula: z3.BoolRef) -> z3.BoolRef:
    """The formula with each product of names replaced by one opaque name."""
    if is_comparison(formula):
        return comparison(formula.decl().kind(), difference(formula))
    children = formula.children()
    if not children:
        return formula
    return formula.decl()(*(linearised(child) for child in children))
