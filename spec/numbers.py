"""The arithmetic a rule may use: the same call on plain integers, numpy arrays and SMT terms.

A rule may also use ``+ - * // %`` and comparisons, which all three understand.
Divisors are at least 1 everywhere.  Nothing here imports z3; numpy only when an array is met.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "both",
    "choose",
    "divides",
    "either",
    "gcd",
    "implies",
    "largest",
    "lcm",
    "negation",
    "smallest",
]

# An int, a numpy array of integers or a `spec.smt.terms.Term`.
Number = Any
# A bool, a numpy array of bools or a `spec.smt.terms.Formula`.
Truth = Any


def _symbolic(*values: Any) -> Any:
    return next((v for v in values if hasattr(v, "ledger")), None)


_PLAIN = frozenset((int, bool))


def _plain(*values: Any) -> bool:
    """Whether all are Python's own numbers and truths: the quick way out for a rule that runs on integers."""
    return _PLAIN.issuperset(map(type, values))


def _array(*values: Any) -> bool:
    return any(hasattr(v, "dtype") for v in values)


def lcm(a: Number, b: Number) -> Number:
    """Least common multiple of two numbers of at least 1."""
    if _plain(a, b):
        return math.lcm(a, b)
    if (term := _symbolic(a, b)) is not None:
        return term.ledger.lcm(a, b)
    if _array(a, b):
        import numpy

        return numpy.lcm(a, b)
    return math.lcm(a, b)


def gcd(a: Number, b: Number) -> Number:
    """Greatest common divisor of two numbers of at least 1."""
    if _plain(a, b):
        return math.gcd(a, b)
    if (term := _symbolic(a, b)) is not None:
        return term.ledger.gcd(a, b)
    if _array(a, b):
        import numpy

        return numpy.gcd(a, b)
    return math.gcd(a, b)


def choose(condition: Truth, then: Number, otherwise: Number) -> Number:
    """`then` where the condition holds, `otherwise` elsewhere; both are evaluated."""
    if _plain(condition, then, otherwise):
        return then if condition else otherwise
    if (term := _symbolic(condition, then, otherwise)) is not None:
        return term.ledger.choose(condition, then, otherwise)
    if _array(condition, then, otherwise):
        import numpy

        return numpy.where(condition, then, otherwise)
    return then if condition else otherwise


def largest(a: Number, b: Number) -> Number:
    """The larger of two numbers."""
    return choose(a >= b, a, b)


def smallest(a: Number, b: Number) -> Number:
    """The smaller of two numbers."""
    return choose(a <= b, a, b)


def divides(divisor: Number, number: Number) -> Truth:
    """Whether `number` is a multiple of `divisor`."""
    return number % divisor == 0


def both(*conditions: Truth) -> Truth:
    """Whether all conditions hold."""
    if _plain(*conditions):
        return all(conditions)
    if (formula := _symbolic(*conditions)) is not None:
        return formula.ledger.conjunction(conditions)
    if _array(*conditions):
        import numpy

        return numpy.logical_and.reduce(numpy.broadcast_arrays(*conditions))
    return all(conditions)


def either(*conditions: Truth) -> Truth:
    """Whether at least one condition holds."""
    return negation(both(*(negation(condition) for condition in conditions)))


def negation(condition: Truth) -> Truth:
    """Whether the condition does not hold."""
    if type(condition) is bool:
        return not condition
    if _symbolic(condition) is not None:
        return condition.ledger.negation(condition)
    if _array(condition):
        import numpy

        return numpy.logical_not(condition)
    return not condition


def implies(premise: Truth, conclusion: Truth) -> Truth:
    """Whether the conclusion holds wherever the premise does."""
    return either(negation(premise), conclusion)
