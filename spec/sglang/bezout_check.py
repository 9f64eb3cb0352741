"""Computes and checks the Bezout witnesses whose existence the proofs assume, for the configurations judged."""

from __future__ import annotations

from typing import Any

from spec.bezout import witnessed
from spec.numbers import Number
from spec.sglang.releases import Design, current
from spec.sglang.rules import grids

PRODUCERS = ("extend", "decode", "verify", "flush", "window")


def pairs(design: Design, c: Any) -> list[tuple[Number, Number]]:
    """The numbers (tokens) of which the rules take an lcm or gcd in a configuration, or in each of an array of them."""
    page = grids.tree_page(c)
    of_grids = [
        (grids.cache_chunk_size(c), page),
        (grids.checkpoint_grid(c), grids.track_interval(c)),
    ]
    rules = dict.fromkeys(getattr(design, f"{producer}_grid") for producer in PRODUCERS)
    return of_grids + [(current(rule)(c), page) for rule in rules]


def unwitnessed(design: Design, c: Any) -> list[tuple[int, int]]:
    """Pairs whose lcm or gcd is not the one of the proofs: none, by Euclid."""
    return [pair for a, b in pairs(design, c) for pair in _unwitnessed(a, b)]


def _unwitnessed(a: Number, b: Number) -> list[tuple[int, int]]:
    if not hasattr(a, "dtype"):
        return [] if witnessed(a, b) else [(a, b)]
    a, b = _distinct(a, b)
    missing = ~witnessed(a, b)
    return list(zip(a[missing].tolist(), b[missing].tolist(), strict=True))


def _distinct(a: Any, b: Any) -> tuple[Any, Any]:
    """The distinct ones of pairs of positive numbers in two arrays."""
    import numpy

    width = int(b.max(initial=0)) + 1
    kind = a.dtype if int(a.max(initial=0)) < numpy.iinfo(numpy.int64).max // width else object
    keys = numpy.sort(a.astype(kind) * width + b, axis=None)
    keys = keys[numpy.append(True, keys[1:] != keys[:-1])]  # numpy.unique takes five times as long
    return keys // width, keys % width


def require(design: Design, c: Any) -> None:
    """Raise an error for a configuration, or an array of them, that lacks the witnesses its proofs assume."""
    if found := unwitnessed(design, c):
        raise RuntimeError(f"no Bezout witnesses for {found[:10]}, on which the theorems rest")
