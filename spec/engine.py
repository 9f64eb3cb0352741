"""What an engine brings to the model, and the one registry of engines.

An engine is a set of sibling packages that bear its name: `spec.NAME`, `generators.NAME`, `gpu_checks.NAME`.  Each has a
module `engine` whose `ENGINE` has what that room needs of it.  Nothing outside those packages imports them: an engine
is asked for by its name, which every design and every case carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from spec.numbers import Truth
from spec.theorem import Library

# Where the packages of an engine lie, by the room that asks: spec, generators or gpu_checks.
PACKAGES = {"sglang": "{room}.sglang"}
DEFAULT = "sglang"


class UnknownDesign(ValueError):
    """A name that is no modelled engine, no modelled release of it and no proposal on one."""


@dataclass(frozen=True)
class Field:
    """One field of an engine's configuration: domains, options, schemas and emitted literals are made from it.

    `kind`: int, str or bool; `least`: the least number accepted; `choices`: the words accepted, any where there are
    none; `symbolic`: whether theorems hold for all its values; `may_be_none`: whether it can be left open;
    `example`: a word where any is accepted; `short`: its name in the id of a case, which leaves out the others.
    """

    name: str
    kind: type
    default: Any
    help: str
    unit: str = ""
    least: int | None = None
    choices: tuple[str, ...] = ()
    symbolic: bool = False
    may_be_none: bool = False
    example: str = ""
    short: str = ""


@dataclass(frozen=True)
class Guard:
    """A condition the engine checks at start-up: its name, what it demands, where it stands, the predicate."""

    name: str
    demands: str
    source: str
    accepts: Callable[[Any], Truth]


class Design(Protocol):
    """Which rule each producer of checkpoints uses: a release of an engine, or a release with proposals."""

    @property
    def engine(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def release(self) -> str: ...
    @property
    def guards(self) -> tuple[Guard, ...]: ...
    def summary(self) -> dict[str, str]: ...


class SecondVerdict(Protocol):
    """What a second method found of a design; `assumes`: what it takes for granted of it; `facts`: further JSON fields."""

    @property
    def design(self) -> str: ...
    @property
    def verdict(self) -> str: ...
    @property
    def assumes(self) -> str: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...
    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True)
class SecondMethod:
    """Another proof of what a family of theorems shows, made whenever the theorems of that family are proved.

    `name`, `claim`: the method and what it proves, in words; `judge`: its verdict on a design, under the prover's
    limits and seeds.
    """

    name: str
    claim: str
    family: str
    judge: Callable[..., SecondVerdict]


@dataclass(frozen=True)
class Engine:
    """What the model knows of an engine.

    `releases`: the modelled ones, the oldest first; `configuration`: the type of a configuration, whose fields are
    numbers, arrays or terms; `geometry`: the lengths (tokens) that follow from a configuration under a design;
    `library`: the theorems; `second_method`: another proof of a family of them, where there is one; both are imported
    when they are asked for; `examples`: what help texts show, a `launch` command, flags of a `domain`, a `setting`
    FIELD=VALUE and a finding `code`; `place_fields`: flags that only the search over many places reads.
    """

    name: str
    releases: tuple[str, ...]
    fields: tuple[Field, ...]
    configuration: Callable[..., Any]
    design: Callable[[str], Any]
    proposals: Mapping[str, Callable[[Any], Any]]
    geometry: Callable[[Any, Any], dict[str, int]]
    library: Callable[[], Library]
    second_method: Callable[[], SecondMethod] | None = None
    further: Mapping[str, Any] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)
    place_fields: tuple[Field, ...] = ()

    @property
    def newest(self) -> str:
        """The newest modelled release."""
        return self.releases[-1]

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names of the fields that rules compute with, for all values of which theorems hold."""
        return tuple(f.name for f in self.fields if f.symbolic)

    def field(self, name: str) -> Field:
        """The field of that name."""
        return next(f for f in (*self.fields, *self.place_fields) if f.name == name)

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of its fields, in the order in which documents give them."""
        return tuple(f.name for f in self.fields)

    def released(self, release: str) -> Any:
        """The design of a modelled release."""
        return self.design(f"{self.name}-{release}")

    def configuration_of(self, values: Mapping[str, Any]) -> Any:
        """The configuration with these values; a field that is absent or None has the engine's default."""
        known = {f.name for f in self.fields}
        given = {n: v for n, v in values.items() if n in known and v is not None}
        return self.configuration(**given)

    def requirement(self, release: str) -> str:
        """A release as a requirement, such as `sglang==0.5.23`."""
        return f"{self.name}=={release}"


def part(name: str, room: str) -> Any:
    """What an engine brings to one room (spec, generators or gpu_checks).

    Raises `UnknownDesign` where no engine has that name.
    """
    if name not in PACKAGES:
        raise UnknownDesign(f"unknown engine {name!r}: the modelled ones are {', '.join(PACKAGES)}")
    return import_module(PACKAGES[name].format(room=room) + ".engine").ENGINE


def engine(name: str) -> Engine:
    """The engine of that name."""
    return part(name, "spec")


def engines() -> tuple[Engine, ...]:
    """Every modelled engine."""
    return tuple(engine(name) for name in PACKAGES)


def all_fields() -> dict[str, Field]:
    """The fields of every engine by name; of a name that several have the first engine's."""
    found: dict[str, Field] = {}
    for name in PACKAGES:
        for one in engine(name).fields:
            found.setdefault(one.name, one)
    return found


def engine_of(design: Design) -> Engine:
    """The engine that a design is a design of."""
    return engine(design.engine)


def design_named(name: str) -> Any:
    """The design of a name: `sglang-0.5.18`, or with proposals `sglang-0.5.18+insert-guard`."""
    return engine(name.partition("-")[0]).design(name)


def design_of_requirement(requirement: str) -> Any:
    """The design of a requirement: `sglang==0.5.18`, or `sglang` for the newest modelled release."""
    name, separator, release = (part.strip() for part in requirement.partition("=="))
    if name not in PACKAGES:
        accepted = " and ".join(f"'{n}' and '{n}==RELEASE'" for n in PACKAGES)
        raise UnknownDesign(f"unknown engine {requirement!r}: accepted are {accepted}")
    found = engine(name)
    release = release if separator else found.newest
    if release not in found.releases:
        raise UnknownDesign(
            f"unknown release {release!r} of {name}: the modelled ones are {', '.join(found.releases)}"
        )
    return found.released(release)
