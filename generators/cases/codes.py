"""What can be wrong with a checkpoint or a launch: the class of a finding code, and the codes that every engine has.

A code is one entry: what it means, what to do, an example, and what `check` needs to find and mend it.  To add one,
write its entry in `generators/ENGINE/codes.py` (one that no engine owns: here, in `COMMON`); nothing else lists codes.
An engine completes a common code, with its own example and flags, by an entry of the same id.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from generators import engines
from spec.engine import PACKAGES

if TYPE_CHECKING:
    from generators.cases.file_format import Case
    from generators.check.findings import Judgement
    from generators.launch.launch import Launch


class Example(NamedTuple):
    """A launch that has a finding in a release (`ENGINE==RELEASE`), and one of the same release without it."""

    requirement: str
    launch: str
    instead: str


@dataclass(frozen=True)
class KnownFault:
    """A fault of releases that no rule models: which launches have it, what happens then.

    `severity`: None for that of the code, `warning` where it takes something that the launch does not show.
    """

    releases: tuple[str, ...]
    has: Callable[[Any, Launch], bool]
    happens: str
    severity: str | None = None


# Flags with the value that each is given; with None a flag is left out.
Flags = Mapping[str, str | None]


@dataclass(frozen=True, eq=False)
class Code:
    """A finding code; two entries of the same id are the same code.

    Texts: `means`: what happens, a clause; `why`: what it costs and how it comes about; `remedy`: what to do, the
    mildest first, with its cost; `symptom`: what is seen of it; `not_explained`: what is no sign of it; `afterwards`: what
    to do about what it has left behind; `upstream`: pages of the engine's own changes.  `theorem`: the one that excludes it in
    a right design.  `severity`: note, warning or error.

    What `check` reads: `producer`: the producer of checkpoints that is wrong; `about`: the fields whose flags a
    finding stands at; `guards`: the start-up guards that it is about; `noted`: the message for a judged launch that
    has it, None for one that has not; `known`: faults that no rule models; `fixes`: changes of flags that may mend a
    launch, the mildest first; `reach`: how many checkpoints of a configuration a case affects.
    """

    id: str
    name: str
    means: str
    severity: str = "error"
    why: str = ""
    remedy: str | None = None
    symptom: str | None = None
    not_explained: str | None = None
    afterwards: str | None = None
    example: Example | None = None
    upstream: tuple[str, ...] = ()
    theorem: str | None = None
    producer: str | None = None
    about: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    noted: Callable[[Any, Launch, Judgement], str | None] | None = None
    known: tuple[KnownFault, ...] = ()
    fixes: Callable[[Any, Launch], Iterable[Flags]] | None = None
    reach: Callable[[Any, Any, Case, int], dict[str, Any]] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> Any:
        return code_named, (self.id,)


REJECTED = Code(
    "GP001",
    "rejected",
    "the release refuses to start with this configuration",
    why="The server stops at start-up, in some cases only after it has loaded the weights.",
    remedy="give values that the start-up guard accepts",
)
INERT = Code(
    "GP002",
    "inert",
    "nothing in the cache can ever be reused: the shortest prefix that can be is longer than the context",
    severity="warning",
    why="The cache takes memory and time and is never used.",
)
NOT_MODELLED = Code(
    "GP003",
    "not-modelled",
    "not checked: gridproof has no rules for this configuration",
    severity="note",
    why="The verdict covers nothing that is named here; that is no approval.",
)
ASSUMED = Code(
    "GP008",
    "assumed-model",
    "the verdict rests on something about the model that neither the launch nor a table gives",
    severity="note",
    why="For a model without recurrent layers nothing of the verdict holds, and the flags of a fix can keep its server from "
    "starting; so no fix is offered where the model is assumed.",
    remedy="name the model's config.json with --config, or give what is known of it with --set",
)
REFUSED_THOUGH_VALID = Code(
    "GP006",
    "refused-though-valid",
    "the start-up guard is stricter than necessary: every checkpoint would be right",
    severity="note",
)
MALFORMED = Code(
    "GP010",
    "malformed",
    "a command or the file it stands in cannot be read",
    why="This launch is not checked; the rest of the file is.",
)
UNRESOLVED = Code(
    "GP011",
    "unresolved-value",
    "a part of the command is only known when it runs or when its template is filled in",
    severity="note",
    why="Environment variables and templates are not expanded, so their values are not checked.",
    remedy="write the value itself into the command, or give --set FIELD=VALUE beside it",
)
MISSPELT = Code(
    "GP012",
    "misspelt",
    "the engine has no flag of this name",
    why="The engine refuses the flag at start-up, or the setting that was meant is not the one in force.",
    remedy="spell the flag as this release does, or leave it out",
)
GIVEN_TWICE = Code(
    "GP013",
    "given-twice",
    "a flag is given twice with different values",
    severity="note",
    why="The engine uses the last value; whoever reads the command may expect the first.",
    remedy="give the flag once",
)
STALE_WAIVER = Code(
    "GP014",
    "stale-waiver",
    "a waiver suppresses nothing: the finding that it names does not occur",
    severity="warning",
    why="It would hide the finding if it came back.",
    remedy="remove the waiver",
)
COMMON = (
    REJECTED,
    INERT,
    NOT_MODELLED,
    ASSUMED,
    REFUSED_THOUGH_VALID,
    MALFORMED,
    UNRESOLVED,
    MISSPELT,
    GIVEN_TWICE,
    STALE_WAIVER,
)


def codes() -> dict[str, Code]:
    """The codes of all engines by id; of a common one the first entry of an engine that completes it."""
    return _codes(engines.engines())


@functools.cache
def _codes(modelled: tuple[engines.Engine, ...]) -> dict[str, Code]:
    found: dict[str, Code] = {}
    for engine in modelled:
        for code in engine.codes:
            found.setdefault(code.id, code)
    for code in COMMON:
        found.setdefault(code.id, code)
    return dict(sorted(found.items()))


def code_named(name: str) -> Code:
    """The code with this id."""
    return codes()[name]


def entry(engine: str, code: Code) -> Code:
    """The entry that an engine, if it is a modelled one, has of a code; else the code itself."""
    if engine not in PACKAGES:
        return code
    return next((own for own in engines.engine(engine).codes if own == code), code)


def entries(name: str) -> list[Code]:
    """The entries of a code: that of each engine that has one, else the common one."""
    own = [code for engine in engines.engines() for code in engine.codes if code.id == name]
    return own or [code for code in COMMON if code.id == name]
