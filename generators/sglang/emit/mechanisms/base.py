"""What a mechanism is to the emitter: groups of parametrized tests, with what each design is predicted to observe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from generators.cases.codes import Code
from generators.cases.file_format import Case, spelled
from generators.emit import manifest
from generators.emit.predicate_coverage import Instance, Space
from spec.sglang.configuration import Configuration
from spec.sglang.releases import Design

CASES = manifest.TIERS[0]
CONFIGURATION_FIELDS = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")


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
    observe: Callable[[Design], Any]
    passes: Callable[[Any], bool]
    facts: Callable[[Design], Any] = lambda design: None
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
    target leaves out; `support`: modules that the file imports besides the target's own; `known`: instances
    that each tier has besides those of the space, of faults found; `in_every_tier`: whether it has runs of its own for
    each tier, whatever instances there are.
    """

    name: str
    groups: Callable[[Sequence[Case], Sequence[Instance]], dict[str, list[Check]]]
    codes: tuple[Code, ...] = ()
    space: Space | None = None
    targets: tuple[str, ...] = ("sglang",)
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


def numbers(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a configuration that every emitted test sets."""
    return {name: configuration[name] for name in CONFIGURATION_FIELDS}


def completed(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as the rules read it; fields that do not matter have the engine's default."""
    given = {name: value for name, value in configuration.items() if value is not None}
    return {**vars(Configuration()), **given}


def per_configuration(cases: Iterable[Case]) -> list[Case]:
    """The cases, one for each configuration, in the order given."""
    return list({spelled(case.configuration): case for case in cases}.values())


def once(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The checks, each id once; the first one stays."""
    found: dict[str, Check] = {}
    for check in checks:
        found.setdefault(check.id, check)
    return tuple(found.values())


def in_tier(checks: Iterable[Check], tier: str) -> list[Check]:
    """The checks of an instance, marked with its tier."""
    return [replace(check, tier=tier) for check in checks]


def on(function: Callable[..., Any], *arguments: Any) -> Callable[[Design], Any]:
    """A function of a design alone."""
    return lambda design: function(design, *arguments)


def lands(least: int = 0) -> Callable[[Any], bool]:
    """Whether a follower's state has consumed just its prefix, of at least so many tokens; without one there is none."""

    def passes(follower: Any) -> bool:
        if follower == "fault" or follower["node"] < least:
            return False
        return follower["node"] == (follower["state"] or 0)

    return passes
