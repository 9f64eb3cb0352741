"""What a mechanism is to the emitter: groups of parametrized tests, with what each design is predicted to observe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from generators.cases.codes import Code
from generators.cases.file_format import Case
from generators.emit import manifest
from generators.emit.predicate_coverage import Instance, Space, up_to
from spec.engine import Design

CASES = manifest.TIERS[0]
MODEL = "model"  # the target whose tests run the rules themselves
ENGINE = "engine"  # the target whose tests run the engine, and which bears its name


class NotComparable(Exception):
    """The release has no such code: its test is predicted to say so."""


@dataclass(frozen=True)
class Check:
    """One parametrized run of a test: its id, the literal arguments, what each design is predicted to observe.

    `observe` raises `NotComparable` for a design whose release lacks the code; `facts`: the numbers (tokens)
    that the model target needs to know of a design; `tier`: the smallest that has it, `cases` for a case's own.
    """

    id: str
    arguments: dict[str, Any]
    observe: Callable[[Any], Any]
    passes: Callable[[Any], bool]
    facts: Callable[[Any], Any] = lambda design: None
    tier: str = CASES

    def predicted(self, design: Design) -> dict[str, Any]:
        """The outcome on a design and what the test records there."""
        try:
            observed = self.observe(design)
        except NotComparable:
            return {"outcome": "not comparable", "observed": None}
        return {"outcome": "passes" if self.passes(observed) else "fails", "observed": observed}


@dataclass(frozen=True)
class TestGroup:
    """A test function of an emitted file and the runs it is parametrized with."""

    name: str
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Mechanism:
    """One file of emitted tests: its name, the codes whose cases it takes, its space, and how tests are made.

    `groups` takes the cases of these codes that it can tell, and instances of the space; `engine_only`: groups that the model
    target leaves out; `targets`: `MODEL`, `ENGINE` or both; `support`: modules that the file imports besides the target's own; `known`: instances
    that each tier has besides those of the space, of faults found; `in_every_tier`: whether it has runs of its own for
    each tier, whatever instances there are.
    """

    name: str
    groups: Callable[[Sequence[Case], Sequence[Instance]], dict[str, list[Check]]]
    codes: tuple[Code, ...] = ()
    space: Space | None = None
    targets: tuple[str, ...] = (ENGINE,)
    engine_only: tuple[str, ...] = field(default=())
    support: tuple[str, ...] = field(default=())
    tells: Callable[[Case], bool] = lambda case: True
    known: tuple[Instance, ...] = ()
    in_every_tier: bool = False


@dataclass(frozen=True)
class Emitted:
    """What goes into one emitted file: the cases it guards against and its test functions."""

    mechanism: Mechanism
    cases: tuple[Case, ...]
    groups: tuple[TestGroup, ...]


def once(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The checks, each id once; the first one stays."""
    found: dict[str, Check] = {}
    for check in checks:
        found.setdefault(check.id, check)
    return tuple(found.values())


def in_tier(checks: Iterable[Check], tier: str) -> list[Check]:
    """The checks of an instance, marked with its tier."""
    return [replace(check, tier=tier) for check in checks]


def takes(mechanism: Mechanism, case: Case) -> bool:
    """Whether a mechanism has a test for a case."""
    return any(case.code == code.id for code in mechanism.codes) and mechanism.tells(case)


def _emitted(mechanism: Mechanism, cases: Sequence[Case], target: str, tier: str) -> Emitted | None:
    chosen = list({case.id: case for case in cases if takes(mechanism, case)}.values())
    covered = tier != CASES and target == ENGINE
    ranged = up_to(mechanism.space, tier) if covered and mechanism.space else []
    instances = [*mechanism.known, *ranged] if covered else []
    always = covered and mechanism.in_every_tier
    if target not in mechanism.targets or not (chosen or instances or always):
        return None
    groups = mechanism.groups(chosen, instances)
    if target == MODEL:
        groups = {name: g for name, g in groups.items() if name not in mechanism.engine_only}
    return Emitted(
        mechanism,
        tuple(chosen),
        tuple(TestGroup(name, once(checks)) for name, checks in groups.items() if checks),
    )


def emitted(
    mechanisms: Iterable[Mechanism], cases: Sequence[Case], target: str, tier: str
) -> list[Emitted]:
    """The files that these cases and this tier call for, one a mechanism.

    `target`: `MODEL` or `ENGINE`; `tier`: `cases` for the cases alone, or one of `predicate_coverage.TIERS` for instances of the spaces as well.
    """
    found = (_emitted(mechanism, cases, target, tier) for mechanism in mechanisms)
    return [emitted for emitted in found if emitted is not None]
