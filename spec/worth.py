"""What a theorem is worth: the mutants of the rules that it refutes, and those that no other theorem refutes.

The file `refuted` of a library lists for each mutant (a wrong rule) the theorems that refute it; the engine's mutation
test checks the list.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache

from spec.theorem import Library


@cache
def refuters(library: Library) -> dict[str, tuple[str, ...]]:
    """For each mutant, what refutes it: theorems or, for a mutant of the order of events, tests."""
    if library.refuted is None:
        return {}
    found = json.loads(library.refuted.read_text(encoding="utf-8"))
    return {name: tuple(by) for name, by in found.items()}


def refuted(found: Mapping[str, Iterable[str]]) -> Counter[str]:
    """How many mutants each refuter refutes."""
    return Counter(name for by in found.values() for name in by)


def alone(found: Mapping[str, Collection[str]]) -> Counter[str]:
    """How many mutants each refuter refutes alone."""
    return Counter(name for by in found.values() if len(by) == 1 for name in by)


def summary(found: Mapping[str, Collection[str]], theorems: Collection[str]) -> str:
    """How many mutants the theorems refute together, in words."""
    refuted = sum(1 for by in found.values() if set(by) & set(theorems))
    only = alone(found)
    spread = sorted(Counter(only[name] for name in theorems).items(), reverse=True)
    counts = ", ".join(f"{count} ({theorems})" for count, theorems in spread)
    return (
        f"{len(theorems)} theorems refute {refuted} mutants, {sum(only[name] for name in theorems)} of which only one "
        f"theorem refutes. How many a theorem refutes alone, in brackets how many theorems do: {counts}."
    )
