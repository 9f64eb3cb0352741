"""Euclid's witnesses: what proofs take to exist for all pairs of numbers, computed and checked for given ones.

Numbers of at least 1: integers, or arrays of them, pair by pair.
"""

from __future__ import annotations

from spec.numbers import Number, Truth, both, choose, gcd, largest, lcm


def bezout(a: Number, b: Number) -> tuple[Number, Number]:
    """Numbers ``u, v`` with ``u * a + v * b == gcd(a, b)``."""
    u, v, next_u, next_v = 1, 0, 0, 1
    while _any(goes_on := b != 0):
        whole = choose(goes_on, a // largest(b, 1), 0)
        a, b = choose(goes_on, b, a), choose(goes_on, a - whole * b, 0)
        u, next_u = choose(goes_on, next_u, u), u - whole * next_u
        v, next_v = choose(goes_on, next_v, v), v - whole * next_v
    return u, v


def _any(truth: Truth) -> bool:
    """Whether it holds of some pair."""
    return bool(truth.any() if hasattr(truth, "any") else truth)


def witnessed(a: Number, b: Number) -> Truth:
    """Whether lcm and gcd of two numbers have the properties used in proofs, with the witnesses found here."""
    multiple, divisor = lcm(a, b), gcd(a, b)
    x, y = multiple // a, multiple // b
    u, v = bezout(x, y)
    return both(
        *(x >= 1, y >= 1, u * x + v * y == 1),
        *(multiple == a * x, multiple == b * y, a == divisor * y, b == divisor * x),
    )
