"""Terms and formulas a rule can be run on: ``//``, ``%``, products, lcm and gcd become definitions by witnesses.

Every term carries a concrete shadow value, so the definitions are checked to hold together at one point.
Definitions are conservative: each constrains something only where its divisors are at least 1.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import z3

from spec.bezout import bezout
from spec.smt.polynomials import Polynomial, every


class Term:
    """An integer of unknown value: a linear expression over named variables, and its value at the witness."""

    __slots__ = ("expr", "key", "ledger", "polynomial", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ledger: Ledger, expr: z3.ArithRef, value: int, polynomial: Polynomial):
        self.ledger, self.expr, self.value = ledger, expr, value
        self.polynomial = polynomial
        self.key = str(polynomial)

    def _lift(self, other: Any) -> Term:
        return self.ledger.lift(other)

    def __add__(self, other: Any) -> Term:
        return self.ledger.sum(self, self._lift(other), 1)

    def __radd__(self, other: Any) -> Term:
        return self._lift(other) + self

    def __sub__(self, other: Any) -> Term:
        return self.ledger.sum(self, self._lift(other), -1)

    def __rsub__(self, other: Any) -> Term:
        return self._lift(other) - self

    def __neg__(self) -> Term:
        return self._lift(0) - self

    def __mul__(self, other: Any) -> Term:
        return self.ledger.product(self, self._lift(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Term:
        return self.ledger.division(self, self._lift(other)).quotient

    def __rfloordiv__(self, other: Any) -> Term:
        return self._lift(other) // self

    def __mod__(self, other: Any) -> Term:
        return self.ledger.division(self, self._lift(other)).remainder

    def __rmod__(self, other: Any) -> Term:
        return self._lift(other) % self

    def _compare(self, other: Any, expr, value) -> Formula:
        right = self._lift(other)
        self.ledger.comparisons.append((self, right))
        return Formula(self.ledger, expr(self.expr, right.expr), value(self.value, right.value))

    def __eq__(self, other: Any) -> Formula:  # type: ignore[override]
        self.ledger.equalities.append((self, self._lift(other)))
        return self._compare(other, lambda a, b: a == b, lambda a, b: a == b)

    def __ne__(self, other: Any) -> Formula:  # type: ignore[override]
        self.ledger.equalities.append((self, self._lift(other)))
        return self._compare(other, lambda a, b: a != b, lambda a, b: a != b)

    def __le__(self, other: Any) -> Formula:
        return self._compare(other, lambda a, b: a <= b, lambda a, b: a <= b)

    def __lt__(self, other: Any) -> Formula:
        return self._compare(other, lambda a, b: a < b, lambda a, b: a < b)

    def __ge__(self, other: Any) -> Formula:
        return self._compare(other, lambda a, b: a >= b, lambda a, b: a >= b)

    def __gt__(self, other: Any) -> Formula:
        return self._compare(other, lambda a, b: a > b, lambda a, b: a > b)

    def __bool__(self) -> bool:
        raise TypeError("a rule branched on a term; use choose, both, either or implies instead")


class Formula:
    """A truth of unknown value, and its value at the witness."""

    __slots__ = ("expr", "ledger", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ledger: Ledger, expr: z3.BoolRef, value: bool):
        self.ledger, self.expr, self.value = ledger, expr, value

    def __eq__(self, other: Any) -> Formula:  # type: ignore[override]
        right = self.ledger.truth(other)
        return Formula(self.ledger, self.expr == right.expr, self.value == right.value)

    def __ne__(self, other: Any) -> Formula:  # type: ignore[override]
        return self.ledger.negation(self == other)

    def __bool__(self) -> bool:
        raise TypeError("a rule branched on a formula; use choose, both, either or implies instead")


@dataclass(frozen=True)
class Division:
    """``number == divisor * quotient + remainder``."""

    number: Term
    divisor: Term
    quotient: Term
    remainder: Term


@dataclass(frozen=True)
class Product:
    """``product == left * right``."""

    left: Term
    right: Term
    product: Term


@dataclass(frozen=True)
class CommonMultiple:
    """``multiple == left * left_cofactor == right * right_cofactor`` with coprime cofactors (Bezout u, v)."""

    left: Term
    right: Term
    multiple: Term
    left_cofactor: Term
    right_cofactor: Term
    u: Term
    v: Term


@dataclass(frozen=True)
class CommonDivisor:
    """``left == divisor * left_cofactor``, ``right == divisor * right_cofactor``, cofactors coprime."""

    left: Term
    right: Term
    divisor: Term
    left_cofactor: Term
    right_cofactor: Term
    u: Term
    v: Term


class Ledger:
    """What was named while one statement was written down: variables, definitions and their witnesses."""

    def __init__(self) -> None:
        self.variables: dict[str, Term] = {}
        self.lower_bounds: list[z3.BoolRef] = []
        self.definitions: list[z3.BoolRef] = []
        self.witness: list[tuple[z3.ArithRef, z3.ArithRef]] = []
        self.divisions: dict[tuple[str, str], Division] = {}
        self.products: dict[tuple[str, str], Product] = {}
        self.multiples: dict[tuple[str, str], CommonMultiple] = {}
        self.divisors: dict[tuple[str, str], CommonDivisor] = {}
        self.choices: dict[tuple[str, str, str], Term] = {}
        self.sums: list[tuple[Term, Term, Term, int]] = []
        self.equalities: list[tuple[Term, Term]] = []
        self.comparisons: list[tuple[Term, Term]] = []
        self._names: set[str] = set()

    def _fresh(self, hint: str, value: int) -> Term:
        name, n = hint, 1
        while name in self._names:
            n += 1
            name = f"{hint}.{n}"
        self._names.add(name)
        const = z3.Int(name)
        self.witness.append((const, z3.IntVal(value)))
        return Term(self, const, value, Polynomial.name(name))

    def variable(self, name: str, value: int, least: int | None = 1) -> Term:
        """A parameter of the statement, at least `least`, with its value at the witness."""
        term = self.variables[name] = self._fresh(name, value)
        if least is not None:
            self.lower_bounds.append(term.expr >= least)
        return term

    def lift(self, value: Any) -> Term:
        """A term for a whole number; anything else is refused, not rounded."""
        if isinstance(value, Term):
            return value
        if isinstance(value, bool | Formula):
            raise TypeError("a rule computes with a truth; use choose to make it a number")
        number = operator.index(value)
        return Term(self, z3.IntVal(number), number, Polynomial.constant(number))

    def truth(self, value: Any) -> Formula:
        """A formula for a truth; numbers are refused."""
        if isinstance(value, Formula):
            return value
        if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
            raise TypeError(f"a rule takes {type(value).__name__} for a truth")
        return Formula(self, z3.BoolVal(bool(value)), bool(value))

    # sums and products

    def sum(self, a: Term, b: Term, sign: int) -> Term:
        if z3.is_int_value(a.expr) and z3.is_int_value(b.expr):
            return self.lift(a.value + sign * b.value)
        polynomial = a.polynomial + b.polynomial if sign == 1 else a.polynomial - b.polynomial
        total = Term(self, a.expr + sign * b.expr, a.value + sign * b.value, polynomial)
        self.sums.append((a, b, total, sign))
        return total

    def product(self, a: Term, b: Term) -> Term:
        if z3.is_int_value(a.expr) and z3.is_int_value(b.expr):
            return self.lift(a.value * b.value)
        for one, other in ((a, b), (b, a)):
            if z3.is_int_value(one.expr) and one.value == 1:
                return other
        a, b = sorted((a, b), key=lambda t: t.key)
        if (known := self.products.get((a.key, b.key))) is None:
            named = self._fresh("product", a.value * b.value)
            self.definitions.append(named.expr == a.expr * b.expr)
            known = self.products[a.key, b.key] = Product(a, b, named)
        return known.product

    # division, lcm, gcd: by witnesses, where the divisors are at least 1

    def division(self, n: Term, t: Term) -> Division:
        if (known := self.divisions.get((n.key, t.key))) is None:
            if t.value < 1:
                raise ArithmeticError(f"a rule divides by {t.value}; divisors are at least 1")
            q, r = (
                self._fresh("quotient", n.value // t.value),
                self._fresh("remainder", n.value % t.value),
            )
            self.definitions.append(
                z3.Implies(
                    t.expr >= 1,
                    z3.And(n.expr == t.expr * q.expr + r.expr, r.expr >= 0, r.expr < t.expr),
                )
            )
            known = self.divisions[n.key, t.key] = Division(n, t, q, r)
        return known

    def _coprime(self, x: int, y: int) -> tuple[list[Term], list[z3.BoolRef]]:
        """Two coprime cofactors with these values, their Bezout coefficients, and what is known of them."""
        hints = ("cofactor", "cofactor", "bezout", "bezout")
        named = [self._fresh(h, v) for h, v in zip(hints, (x, y, *bezout(x, y)), strict=True)]
        left, right, u, v = (term.expr for term in named)
        return named, [u * left + v * right == 1, left >= 1, right >= 1]

    def _where_positive(self, a: Term, b: Term, *facts: z3.BoolRef) -> None:
        self.definitions.append(z3.Implies(z3.And(a.expr >= 1, b.expr >= 1), z3.And(*facts)))

    def lcm(self, a: Any, b: Any) -> Term:
        a, b = self.lift(a), self.lift(b)
        if (known := self.multiples.get((a.key, b.key))) is None:
            value = math.lcm(a.value, b.value)
            g = self._fresh("lcm", value)
            (x, y, u, v), coprime = self._coprime(value // a.value, value // b.value)
            products = (g.expr == a.expr * x.expr, g.expr == b.expr * y.expr)
            self._where_positive(a, b, *products, *coprime, g.expr >= 1)
            known = self.multiples[a.key, b.key] = CommonMultiple(a, b, g, x, y, u, v)
        return known.multiple

    def gcd(self, a: Any, b: Any) -> Term:
        a, b = self.lift(a), self.lift(b)
        if (known := self.divisors.get((a.key, b.key))) is None:
            value = math.gcd(a.value, b.value)
            g = self._fresh("gcd", value)
            (x, y, u, v), coprime = self._coprime(a.value // value, b.value // value)
            products = (a.expr == g.expr * x.expr, b.expr == g.expr * y.expr)
            self._where_positive(a, b, *products, *coprime, g.expr >= 1)
            known = self.divisors[a.key, b.key] = CommonDivisor(a, b, g, x, y, u, v)
        return known.divisor

    # choice and logic

    def choose(self, condition: Any, then: Any, otherwise: Any) -> Term:
        p, a, b = self.truth(condition), self.lift(then), self.lift(otherwise)
        if z3.is_true(p.expr) or z3.is_false(p.expr):
            return a if p.value else b
        key = (p.expr.sexpr(), a.key, b.key)
        if key not in self.choices:
            named = self._fresh("choice", a.value if p.value else b.value)
            self.definitions.append(z3.Implies(p.expr, named.expr == a.expr))
            self.definitions.append(z3.Implies(z3.Not(p.expr), named.expr == b.expr))
            self.equalities += [(named, a), (named, b)]
            self.choices[key] = named
        return self.choices[key]

    def conjunction(self, conditions: Any) -> Formula:
        parts = [self.truth(c) for c in conditions]
        return Formula(self, every([p.expr for p in parts]), all(p.value for p in parts))

    def negation(self, condition: Any) -> Formula:
        p = self.truth(condition)
        return Formula(self, z3.Not(p.expr), not p.value)

    def holds_at_witness(self, formula: z3.BoolRef) -> bool:
        """Whether a formula is true when every named variable takes its witness value."""
        return z3.is_true(z3.simplify(z3.substitute(formula, *self.witness)))
