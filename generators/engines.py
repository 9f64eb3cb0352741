"""What an engine brings to each job of this folder: one protocol a job, and how to ask for it.

Every job may import this module, and it imports none of them but for types: an engine's own package,
`generators.NAME`, whose module `engine` has an `ENGINE` of this shape, is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from spec import engine as registry

if TYPE_CHECKING:
    from spec.engine import Engine as Model


class Searching(Protocol):
    """What the search asks of an engine: producers of checkpoints, what can happen next, what is wrong."""


class Launching(Protocol):
    """What reading a launch asks of an engine: its flags, its models, its configuration files and logs."""


class Checking(Protocol):
    """What judging a launch asks of an engine: guards, known faults, evidence, reach, fixes."""


class Emitting(Protocol):
    """What emitting asks of an engine: its mechanisms, templates, drivers and subjects."""


class Explaining(Protocol):
    """What explaining a case asks of an engine: what each event leaves behind."""


class Engine(Protocol):
    """All that the jobs ask of an engine; each part is imported when it is first asked for."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> Model: ...
    @property
    def search(self) -> Searching: ...
    @property
    def launch(self) -> Launching: ...
    @property
    def check(self) -> Checking: ...
    @property
    def emit(self) -> Emitting: ...
    @property
    def explain(self) -> Explaining: ...


def engine(name: str) -> Engine:
    """The engine of that name; raises `spec.engine.UnknownDesign` where there is none."""
    return registry.part(name, "generators")


def engine_of(design: Any) -> Engine:
    """The engine that a design is a design of."""
    return engine(design.engine)


def engines() -> tuple[Engine, ...]:
    """Every modelled engine."""
    return tuple(engine(name) for name in registry.PACKAGES)
