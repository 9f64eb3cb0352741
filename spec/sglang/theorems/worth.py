"""What a theorem is worth: the mutants of the rules that it refutes, and those that no other theorem refutes.

`refuted.json` says of each mutant, a wrong rule, which theorems refute it; the mutation test holds it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("refuted.json")


@cache
def refuters() -> dict[str, tuple[str, ...]]:
    """Of each mutant, what refutes it: theorems or, of a mutant of the order of events, tests."""
    return {name: tuple(by) for name, by in json.loads(FILE.read_text(encoding="utf-8")).items()}


def refuted(found: Mapping[str, Iterable[str]]) -> Counter[str]:
    """How many mutants each refuter refutes."""
    return Counter(name for by in found.values() for name in by)


def alone(found: Mapping[str, Collection[str]]) -> Counter[str]:
    """How many mutants each refuter refutes alone."""
    return Counter(name for by in found.values() if len(by) == 1 for name in by)


def summary(found: Mapping[str, Collection[str]], theorems: Collection[str]) -> str:
    """What the theorems are worth together, in one sentence each."""
    by_theorems = [by for by in found.values() if set(by) & set(theorems)]
    only = alone(found)
    kinds = Counter(min(only[name], 4) for name in theorems)
    spread = ", ".join(
        f"{kinds[n]} {f'{n} or more' if n == 4 else n}" for n in sorted(kinds, reverse=True)
    )
    return (
        f"{len(theorems)} theorems refute {len(by_theorems)} mutants, of which "
        f"{sum(only[name] for name in theorems)} are refuted by one theorem alone; "
        f"so many mutants a theorem refutes alone: {spread}."
    )
