"""Which combinations of named predicates a mechanism's tests cover: an instance of each, or a proof that there is none.

A mechanism names predicates of a configuration and some lengths (does the interval divide the tree page?
does the prefix lie on the page?).  Instances are found on arrays; every combination that none of them has
must lie in a small *exclusion*, literals that cannot hold together, which the prover has to show for all
configurations and lengths.  The same predicate source runs on the arrays and on the solver's terms.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy

from generators.emit import manifest
from spec.engine import DEFAULT, engine
from spec.numbers import Truth, negation
from spec.theorem import Setting, Statement, Theorem

# A manifest also knows the cases, which need no coverage.
TIERS = manifest.TIERS[1:]
Predicate = Callable[..., Truth]


@dataclass(frozen=True)
class Instance:
    """A configuration and lengths (tokens, or as the mechanism says), and the smallest tier that has it."""

    configuration: Mapping[str, Any]
    lengths: Mapping[str, int]
    tier: str
    engine: str = DEFAULT

    @property
    def c(self) -> Any:
        """The configuration as the rules read it."""
        return engine(self.engine).configuration(**self.configuration)


@dataclass(frozen=True, eq=False)
class Space:
    """What a mechanism's tests range over.

    `configurations`: values of fields, the most readable first (numbers are arbitrary in proofs, other fields
    as listed); `lengths`: candidates of each
    further number (in proofs it is at least 1, or 0 where that is one of them); `accepted`: what every
    instance satisfies; `predicates`: what instances are distinguished by; `facts`: what follows from `accepted`
    and helps the solver, itself proved.  All of them by name, as functions of ``(c, **lengths)``.
    """

    name: str
    configurations: Sequence[Mapping[str, Any]]
    lengths: Mapping[str, Sequence[int]]
    accepted: Mapping[str, Predicate]
    predicates: Mapping[str, Predicate]
    facts: Mapping[str, Predicate] = field(default_factory=dict)
    engine: str = DEFAULT

    @property
    def setting(self) -> Setting:
        """What the engine brings to the proofs."""
        return engine(self.engine).library().setting

    @cached_property
    def variants(self) -> tuple[dict[str, Any], ...]:
        """Every combination of fields that are not symbolic in proofs."""
        symbolic = self.setting.fields
        others = [{k: v for k, v in c.items() if k not in symbolic} for c in self.configurations]
        return tuple({tuple(other.values()): other for other in others}.values())

    def truths(self, which: Mapping[str, Predicate], c: Any, lengths: Mapping[str, Any]) -> list:
        """The predicates' truths at these values: bools, arrays or formulas."""
        return [predicate(c, **lengths) for predicate in which.values()]


def _points(space: Space) -> Iterator[tuple[dict[str, int], dict[str, numpy.ndarray]]]:
    """Every configuration with arrays of all combinations of lengths, the smallest sum first."""
    grids = numpy.meshgrid(*(numpy.asarray(v) for v in space.lengths.values()), indexing="ij")
    columns = [g.ravel() for g in grids]
    order = numpy.lexsort((*columns[::-1], sum(columns))) if columns else numpy.zeros(1, int)
    lengths = dict(zip(space.lengths, (c[order] for c in columns), strict=True))
    for configuration in space.configurations:
        yield dict(configuration), lengths


@cache
def _found(space: Space) -> dict[int, tuple[dict[str, int], dict[str, int]]]:
    """The first instance met of each combination; bit i of a combination is the i-th predicate."""
    found: dict[int, tuple[dict[str, int], dict[str, int]]] = {}
    for configuration, lengths in _points(space):
        c = engine(space.engine).configuration(**configuration)
        size = len(next(iter(lengths.values()), [0]))
        held = numpy.ones(size, dtype=bool)
        for truth in space.truths(space.accepted, c, lengths):
            held &= numpy.broadcast_to(truth, (size,)).astype(bool)
        keys = numpy.zeros(size, dtype=numpy.int64)
        for bit, truth in enumerate(space.truths(space.predicates, c, lengths)):
            keys |= numpy.broadcast_to(truth, (size,)).astype(numpy.int64) << bit
        indices = numpy.flatnonzero(held)
        for key, at in zip(*numpy.unique(keys[indices], return_index=True), strict=True):
            if int(key) not in found:
                index = indices[at]
                values = {name: int(column[index]) for name, column in lengths.items()}
                found[int(key)] = (configuration, values)
    return found


def _literals(space: Space, combination: int) -> list[tuple[str, bool]]:
    return [(name, bool(combination >> i & 1)) for i, name in enumerate(space.predicates)]


def _cover(
    combinations: Sequence[int], parts: Mapping[int, frozenset[Any]], done: set[Any]
) -> list[int]:
    """Combinations, chosen greedily, that together have every part not done yet."""
    wanted = set().union(*(parts[c] for c in combinations)) - done
    chosen: list[int] = []
    while wanted:
        best = max(combinations, key=lambda c: len(parts[c] & wanted))
        chosen.append(best)
        wanted -= parts[best]
    return chosen


@cache
def instances(space: Space) -> tuple[Instance, ...]:
    """An instance of every combination that has one, those of the smaller tiers first.

    tiny: every pair of predicates in each way that occurs; small: every three; standard: all.
    """
    found = _found(space)
    order = list(found)
    pairs, triples = (
        {c: frozenset(itertools.combinations(_literals(space, c), size)) for c in order}
        for size in (2, 3)
    )
    tiny = _cover(order, pairs, set())
    small = _cover(order, triples, set().union(*(triples[c] for c in tiny)))
    tier = {**dict.fromkeys(order, "standard"), **dict.fromkeys(small, "small")}
    tier |= dict.fromkeys(tiny, "tiny")
    by_tier = sorted(order, key=lambda c: TIERS.index(tier[c]))
    return tuple(Instance(found[c][0], found[c][1], tier[c], space.engine) for c in by_tier)


def up_to(space: Space, tier: str) -> list[Instance]:
    """The instances of a tier and of the smaller ones."""
    allowed = TIERS[: TIERS.index(tier) + 1]
    return [instance for instance in instances(space) if instance.tier in allowed]


@dataclass(frozen=True)
class Exclusion:
    """Predicates, with the truth of each, that cannot hold together; any fewer of them can."""

    literals: tuple[tuple[str, bool], ...]

    def __str__(self) -> str:
        return " and ".join(n if truth else f"not {n}" for n, truth in self.literals)


@cache
def exclusions(space: Space) -> tuple[Exclusion, ...]:
    """Small exclusions in which every combination without an instance lies; they are claims, to be proved."""
    covered = numpy.array(sorted(_found(space)), dtype=numpy.int64)
    count = len(space.predicates)
    missing = numpy.setdiff1d(numpy.arange(1 << count), covered)
    found: list[Exclusion] = []
    while len(missing):
        combination = int(missing[0])
        mask = (1 << count) - 1
        for bit in reversed(range(count)):
            less = mask & ~(1 << bit)
            if not ((covered ^ combination) & less == 0).any():
                mask = less
        literals = _literals(space, combination)
        found.append(Exclusion(tuple(lit for i, lit in enumerate(literals) if mask >> i & 1)))
        missing = missing[(missing ^ combination) & mask != 0]
    return tuple(found)


def _theorem(
    space: Space, variant: Mapping[str, Any], name: str, state: Callable[..., Statement]
) -> Theorem:
    return Theorem(
        id=f"{space.name}: {name}",
        family="coverage",
        claim=f"In the space of {space.name}: {name}.",
        state=state,
        setting=replace(space.setting, fixed=variant),
        lengths={length: min(1, *values) for length, values in space.lengths.items()},
    )


def fact_theorem(space: Space, variant: Mapping[str, Any], name: str) -> Theorem:
    """The claim that a fact holds for everything the space accepts."""

    def state(design: Any, c: Any, **lengths: Any) -> Statement:
        accepted = {n: p(c, **lengths) for n, p in space.accepted.items()}
        return Statement(accepted, space.facts[name](c, **lengths))

    return _theorem(space, variant, name, state)


def exclusion_theorem(space: Space, variant: Mapping[str, Any], exclusion: Exclusion) -> Theorem:
    """The claim that the literals of an exclusion never hold together, the space's facts given."""
    *given, last = exclusion.literals

    def literal(name: str, wanted: bool, c: Any, lengths: Mapping[str, Any]) -> Truth:
        held = space.predicates[name](c, **lengths)
        return held if wanted else negation(held)

    def state(design: Any, c: Any, **lengths: Any) -> Statement:
        known = {**space.accepted, **space.facts}
        hypotheses = {name: p(c, **lengths) for name, p in known.items()}
        hypotheses |= {name: literal(name, wanted, c, lengths) for name, wanted in given}
        return Statement(hypotheses, negation(literal(*last, c, lengths)))

    return _theorem(space, variant, f"never {exclusion}", state)


def unproved(space: Space) -> list[str]:
    """The facts and exclusions that the solver does not show: none, where the coverage is complete."""
    from spec.prove import shown

    claims = [fact_theorem(space, v, name) for name in space.facts for v in space.variants]
    claims += [exclusion_theorem(space, v, e) for e in exclusions(space) for v in space.variants]
    return list(dict.fromkeys(claim.id for claim in claims if not shown(claim)))
