"""Euclid's witnesses: what proofs take to exist for all pairs of numbers, computed and checked for given ones."""

from __future__ import annotations

import math


def bezout(a: int, b: int) -> tuple[int, int]:
    """Integers ``u, v`` with ``u * a + v * b == gcd(a, b)``."""
    if b == 0:
        return 1, 0
    u, v = bezout(b, a % b)
    return v, u - a // b * v


def witnessed(a: int, b: int) -> bool:
    """Whether lcm and gcd of two numbers of at least 1 are what proofs say of them, with the witnesses found here."""
    multiple, divisor = math.lcm(a, b), math.gcd(a, b)
    x, y = multiple // a, multiple // b
    u, v = bezout(x, y)
    coprime = u * x + v * y == 1 and x >= 1 and y >= 1
    return coprime and multiple == a * x == b * y and (a, b) == (divisor * y, divisor * x)
