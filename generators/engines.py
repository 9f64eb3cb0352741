"""What an engine brings to each job of this folder: one protocol a job, and how to ask for it.

Every job may import this module, and it imports none of them but for types: an engine's own package,
`generators.NAME`, whose module `engine` has an `ENGINE` of this shape, is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from spec import engine as registry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from generators.cases.codes import Code
    from generators.cases.domain import Domain
    from generators.cases.file_format import Case, CaseFile, Event
    from generators.check.findings import Judged, Judgement, Remark
    from generators.emit.jobs import ReplayJob
    from generators.emit.manifest import PredictedTest
    from generators.emit.mechanism import Mechanism
    from generators.explain.timeline import Standing
    from generators.launch.formats.base import Format
    from generators.launch.launch import Launch
    from generators.launch.words import Word
    from generators.search.batches import Batch
    from generators.search.configurations import Survey
    from generators.search.event_orders import OrderClass
    from generators.search.limits import SearchLimits
    from spec.engine import Engine as Model
    from spec.engine import Guard
    from spec.transition_system import Replayable, Trace


class DesignRules(Protocol):
    """The rules of an engine that a user's file can give in place of a release's.

    `rules`: by name, each with the function that the newest release has; `truths`: those that give a truth, the others
    give a whole number; `switches`: properties that are True or False.
    """

    rules: Mapping[str, Callable[..., Any]]
    truths: frozenset[str]
    switches: tuple[str, ...]

    def of(self, design: Any) -> dict[str, Any]:
        """What a design has for each of the rules."""

    def changed(
        self, base: Any, name: str, changes: Mapping[str, Any], guards: tuple[Guard, ...]
    ) -> Any:
        """A design with these rules, switches and guards in place of its own, named after the file."""


class NoRules(DesignRules):
    """For an engine in whose designs a user's file can put no rule."""

    rules: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    truths: frozenset[str] = frozenset()
    switches: tuple[str, ...] = ()

    def of(self, design: Any) -> dict[str, Any]:
        """Nothing."""
        return {}

    def changed(
        self, base: Any, name: str, changes: Mapping[str, Any], guards: tuple[Guard, ...]
    ) -> Any:
        """The design as it is: there is nothing to change."""
        return base


class Searching(Protocol):
    """What the search asks of an engine: producers of checkpoints, what can happen next, what is wrong.

    `decided_first`: the fields that rules compute with, the one that a person decides last first: it is left at its
    default before the others are; `design_rules`: what a user's file can give.
    """

    decided_first: tuple[str, ...]
    design_rules: DesignRules

    def is_modelled(self, others: Mapping[str, Any]) -> bool:
        """Whether configurations with these values, of the fields that rules do not compute with, are modelled."""
        return True

    def unmodelled(self, domain: Domain) -> list[str]:
        """What of a domain is not modelled, as sentences."""
        return []

    def prepare(self, design: Any, batch: Batch) -> None:
        """Check what the proofs assume of the configurations of a batch."""
        return None

    def surveys(self, design: Any, domain: Domain, guards: bool) -> list[Survey]:
        """What is to be found out about each kind of checkpoint of a design."""
        ...

    def matters(self, trace: Sequence[Event], failure_class: Mapping[str, Any]) -> frozenset[str]:
        """The fields that a case of configurations depends on; the others are null in it."""
        ...

    def signature(self, design: Any, c: Any) -> list[Any]:
        """What orders of events depend on: configurations alike in it have the same orders."""
        ...

    def life(self, design: Any, c: Any, mixes: bool) -> Replayable:
        """What can happen in one configuration; `mixes`: also to batches that hold prompts and decode steps."""
        ...

    def class_of(self, design: Any, c: Any, trace: Trace) -> OrderClass:
        """The class of a trace in a configuration."""
        ...

    def order_case(
        self, design: Any, values: dict[str, Any], trace: Trace, failure_class: Any, members: int
    ) -> Case:
        """A trace in one configuration as a case."""
        ...

    def further_orders(
        self, design: Any, configurations: Iterable[Mapping[str, Any]]
    ) -> tuple[list[Case], tuple[str, ...]]:
        """Cases of orders that are searched by other models, and what of them was not searched, in words."""
        return [], ()

    def launches(
        self, design: Any, domain: Domain, context_length: int, **options: Any
    ) -> CaseFile | None:
        """Start-up guards that are too strict, and configurations in which nothing is ever reused; None: not looked for."""
        return None

    def places(
        self,
        design: Any,
        domain: Domain,
        flags: Mapping[str, Sequence[Any]],
        limits: SearchLimits,
        **options: Any,
    ) -> CaseFile | None:
        """Cases of orders over many places; `flags`: values of the fields of places; None: not looked for."""
        return None

    def story(self, case: Case) -> Sequence[str]:
        """A case of many places as sentences, one an event."""
        return ()


class Launching(Protocol):
    """What reading a launch asks of an engine: how it is started, its flags, what its words resolve to.

    `modules`: what starts it behind `python -m`; `commands`: commands that start it, with the subcommand that does;
    `scripts`: files that start it; `calls`: functions and classes of its modules that start it in the same process, their
    keyword arguments being its flags; `hints`: patterns of which one is found in every file that holds its flags alone;
    `settable`: the fields that `--set FIELD=VALUE` can give; `formats`: files of its own that hold a launch.
    """

    modules: tuple[str, ...] = ()
    commands: tuple[tuple[str, str | None], ...] = ()
    scripts: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    settable: tuple[str, ...] = ()

    @property
    def formats(self) -> Sequence[Format]:
        return ()

    def resolve(
        self,
        words: Sequence[Word],
        *,
        given: Mapping[str, Any],
        config: Path | None = None,
        resolved: bool = False,
    ) -> Launch:
        """The launch that the words behind the engine give; arguments as of `generators.launch.launch.read_words`."""
        ...

    def possibilities(self, design: Any, launch: Launch) -> Sequence[tuple[Launch, str | None]]:
        """What a release makes of a launch, the likeliest first, each with the condition as a clause that it rests on.

        More than one where it depends on what the launch does not say, such as the GPU; the condition of a single one is None.
        """
        return ((launch, None),)

    def given_by_image(self, image: str) -> Mapping[str, Any]:
        """The values that the name of a container's image gives, by field."""
        return {}

    def with_files(self, words: Sequence[Word], folder: Path) -> Sequence[Word]:
        """The words with the settings of files that they name; relative paths begin in `folder`."""
        return words

    def value_of(self, name: str, text: str) -> Any:
        """The value of a settable field that a text gives; `BadInput` where it gives none."""
        raise NotImplementedError

    def field_of(self, flag: str) -> str:
        """The field that a flag sets."""
        return flag.removeprefix("--").replace("-", "_")

    def has_flag(self, flag: str) -> bool:
        """Whether the engine has a flag of this name, be it its alone or not."""
        return False

    def is_its_own(self, flag: str) -> bool:
        """Whether no other engine has a flag of this name."""
        return False

    def only_flags(self, words: Sequence[Word]) -> bool:
        """Whether these words are flags of this engine without the word that starts it."""
        return False


class Checking(Protocol):
    """What judging a launch asks of an engine; the frame (`generators.check`) makes the verdict of it."""

    def judged(
        self,
        design: Any,
        launch: Launch,
        broken: Collection[str],
        *,
        alone: bool,
        known: dict[Any, Any],
    ) -> Judged:
        """What the release does with a launch that it accepts and that is modelled.

        `broken`: producers that known faults make unsafe; `alone`: whether a solver may be asked about this one
        configuration; `known`: what earlier launches of a run found, for the engine's own use.
        """
        ...

    def refusals(self, design: Any, launch: Launch) -> Iterable[Remark]:
        """Why the release refuses to start with a launch, if it does."""
        return ()

    def not_modelled(self, design: Any, launch: Launch) -> str | None:
        """Why no rule says what the release does with a launch; None where the rules do."""
        return launch.unmodelled

    def assumed(self, launch: Launch) -> str | None:
        """What a launch is judged by though nothing says so, as a clause; None where nothing is assumed."""
        return None

    def alternatives(self, launch: Launch) -> Iterable[tuple[str, Launch]]:
        """A launch with each other value that something assumed may have, and that value in words."""
        return ()

    def may_be_mended(self, launch: Launch, *, in_a_file: bool) -> bool:
        """Whether flags may be offered for a launch that needs other ones; `in_a_file`: it stands in a file."""
        return True

    def cost(self, flags: Mapping[str, str | None]) -> str | None:
        """What changing these flags costs, as a clause; None where nothing is known."""
        return None

    def model(self, launch: Launch) -> dict[str, Any] | None:
        """What is known of the model of a launch: `architecture`, `recurrent` (None: not known), `read_from`."""
        return None

    def concerns(self, launch: Launch) -> bool:
        """Whether a launch is one that keeps states, as far as is known; of any other nothing is an error."""
        return True

    def keeps_checkpoints(self, launch: Launch) -> bool:
        """Whether a launch keeps any checkpoints, so that a known fault can be one of it."""
        return True

    def remarks(self, design: Any, launch: Launch, broken: Collection[str]) -> Iterable[Remark]:
        """What else there is to report of a launch, such as flags that reach what is not modelled."""
        return ()

    def producers(self, launch: Launch) -> tuple[str, ...]:
        """The producers of checkpoints that a launch has."""
        ...

    def step(self, design: Any, launch: Launch, is_conditional: bool) -> int:
        """The tokens of which the prefixes of a launch's extends are multiples; `is_conditional`: of a case that takes a condition."""
        return 1

    def summary(self, judgement: Judgement) -> Iterable[str]:
        """The configuration of a judgement and the lengths that follow from it, as lines of text."""
        return ()


@dataclass(frozen=True)
class Proposal:
    """A proposal on the newest release that tests are predicted for: how it is named among releases, and its patch."""

    subject: str
    design: Any
    patch: str


class Emitting(Protocol):
    """What emitting asks of an engine: its mechanisms, templates, drivers and subjects.

    `mechanisms`: the families of tests; `package`: where its folders `templates` and `drivers` lie;
    `configuration_fields`: those that every emitted test gives by position; `support`: the module that all tests of
    a target import, by target; `proposed`: proposals that tests are predicted for; `replay_subjects`: the devices that
    replay tests run on.
    """

    mechanisms: tuple[Mechanism, ...] = ()
    package: str
    configuration_fields: tuple[str, ...] = ()
    support: Mapping[str, str]
    proposed: tuple[Proposal, ...] = ()
    replay_subjects: tuple[str, ...] = ()

    def refused(self, case: Case) -> str | None:
        """Why no test is emitted for a case, or None."""
        return None

    def replays(
        self, environment: Any, cases: Iterable[tuple[Case, str]]
    ) -> tuple[dict[str, str], dict[str, PredictedTest]]:
        """The files that replay cases, each with the name of its design, and what their tests are predicted to do."""
        return {}, {}

    def replay_job(self, name: str, case: Case, design: Any) -> ReplayJob:
        """A case ready to be replayed under its name; raises `NotReplayed` where it cannot be."""
        ...

    def not_replayed(self, cases: Iterable[tuple[Case, str]]) -> dict[str, str]:
        """Cases that cannot be replayed, by name, and why."""
        return {}


class Explaining(Protocol):
    """What explaining a case asks of an engine: what each event leaves behind."""

    def walked(self, case: Case, design: str) -> tuple[Standing, ...] | None:
        """How things stand after each event of a case; None where the model does not act it out."""
        return None

    def most_accepted(self, case: Case) -> int | None:
        """The most tokens that one verify of a case accepts, where that is known."""
        return None

    def grids(self, case: Case) -> tuple[tuple[str, int], ...]:
        """The grids that a case is drawn over, each with its name and its step in tokens, the tree's first."""
        ...


class Documenting(Protocol):
    """What the generated pages of the documentation ask of an engine.

    `title`: the engine's name in prose; `least_values`: which parameters of its theorems may be below 1, as sentences;
    `inductions`: families whose theorems are the steps of an induction; `subjects`: what subjects of emitted tests beside
    releases are, as a sentence; `lengths`: names of the lengths shown of a published launch.
    """

    title: str
    least_values: str = ""
    inductions: tuple[str, ...] = ()
    subjects: str = ""
    lengths: tuple[str, ...] = ()

    def mechanisms(self) -> Sequence[Any]:
        """The mechanisms that tests are emitted for, each with its predicates."""
        return ()

    def faults(self) -> Sequence[Any]:
        """Public reports that the rules can model, each as a design and what a search finds in it."""
        return ()

    def unstated(self) -> Sequence[Any]:
        """Public reports that the rules cannot model, each with the reason."""
        return ()

    def count(self, entries: Iterable[Any]) -> int:
        """How many different reports entries are about."""
        return len(list(entries))

    def lengths_of(self, judgement: Judgement) -> Iterable[str]:
        """The lengths of a judged launch, one for each of `lengths`."""
        return ()


class Engine(Protocol):
    """All that the jobs ask of an engine; each part is imported when it is first asked for."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> Model: ...
    @property
    def codes(self) -> tuple[Code, ...]: ...
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
    @property
    def documents(self) -> Documenting: ...


def engine(name: str) -> Engine:
    """The engine of that name; raises `spec.engine.UnknownDesign` where there is none."""
    return registry.part(name, "generators")


def engine_of(design: Any) -> Engine:
    """The engine that a design is a design of."""
    return engine(design.engine)


def engines() -> tuple[Engine, ...]:
    """Every modelled engine."""
    return tuple(engine(name) for name in registry.PACKAGES)
