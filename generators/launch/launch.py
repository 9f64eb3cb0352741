"""A launch: the words that start an engine, and what the engine makes of them.

Reading a launch belongs to its engine (`generators.engines`, `Launching`); an engine that is not modelled is named,
and nothing is read of its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators import engines
from generators.common.errors import BadInput
from generators.launch.commands import launches, ways_to_start
from generators.launch.words import Word
from spec.engine import PACKAGES

if TYPE_CHECKING:
    from generators.cases.codes import Code, Flags

# The values that `--set FIELD=VALUE` gives, by engine and field.
Given = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Setting:
    """A flag as it was given: its value, the word of the flag and the word that holds the value.

    `before`: how it was given earlier in the same command, where it is given more than once.
    """

    value: Any
    flag: Word
    holder: Word
    before: Setting | None = None

    @property
    def every(self) -> Iterator[Setting]:
        """This one and those before it."""
        one: Setting | None = self
        while one is not None:
            yield one
            one = one.before

    @property
    def spelling(self) -> str:
        """The flag as it is spelled."""
        return self.flag.text.partition("=")[0]

    def named(self, flag: str) -> Word:
        """The word of the flag, with another spelling."""
        return replace(self.flag, text=flag + self.flag.text[len(self.spelling) :])

    def holding(self, value: str, flag: str) -> Word:
        """The word that holds the value, with another one; `flag`: its flag's spelling."""
        if self.holder is not self.flag:
            return replace(self.holder, text=value)
        return replace(self.flag, text=f"{flag}={value}")


@dataclass(frozen=True)
class Note:
    """Something to report about the words of a launch, and the word it is about; `severity`: None for that of the code."""

    code: Code
    message: str
    word: Word
    severity: str | None = None


@dataclass(frozen=True)
class Launch:
    """A launch command as its engine resolves it.

    `words`: from the one that starts the engine on; `configuration`: None where the engine is not modelled; `sources`:
    where each value comes from; `unmodelled`: why no rule fits it, if so; `settings`: the flags that were read, by
    field; `notes`: about its words; `reading`: how the words were read; `facts`: what else its engine knows of it,
    hashable; `read`: what its engine keeps of the words, to resolve them for a release.
    """

    engine: str
    words: tuple[Word, ...]
    configuration: Any = None
    sources: Mapping[str, str] = field(default_factory=dict)
    context_length: int | None = None
    unmodelled: str | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    facts: Any = None
    read: Any = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple[Any, ...]:
        """All that a verdict depends on."""
        values = sorted((name, str(given.value)) for name, given in self.settings.items())
        return (
            *(self.engine, self.configuration, tuple(self.sources.items()), self.facts),
            *(self.context_length, self.unmodelled, tuple(values)),
        )

    def value(self, name: str, default: Any = None) -> Any:
        """The value of a flag that was read, by its field."""
        return self.settings[name].value if name in self.settings else default

    def place(self, *names: str) -> Word | None:
        """The word of the first of these fields, or flags, that were given, else the first word of the launch."""
        for name in names:
            if name in self.settings:
                return self.settings[name].flag
            for word in self.words if name.startswith("-") else ():
                if word.text.partition("=")[0] == name:
                    return word
        return self.words[0] if self.words else None

    def setting(self, flag: str) -> Setting | None:
        """How a flag, or another spelling of it, was given."""
        return self.settings.get(engines.engine(self.engine).launch.field_of(flag))

    def takes_the_place_of(self, flag: str, flags: Flags) -> bool:
        """Whether a change gives a setting the spelling of `flag` in place of one that it takes out."""
        setting = self.setting(flag)
        if setting is None or setting.spelling == flag or flags[flag] is None:
            return False
        return flags.get(setting.spelling, "") is None

    def words_with(self, flags: Flags) -> list[Word]:
        """The words with these flags set: in place where they stand, else at the end; None takes one out."""
        words = list(self.words)
        for flag, value in flags.items():
            setting = self.setting(flag)
            if value is None:
                if any(
                    self.takes_the_place_of(f, flags) and self.setting(f) is setting for f in flags
                ):
                    continue
                every = setting.every if setting else ()
                gone = {id(word) for one in every for word in (one.flag, one.holder)}
                words = [word for word in words if id(word) not in gone]
            elif setting is None:
                words += [Word(flag), Word(value)] if value else [Word(flag)]
            else:
                spelling = flag if self.takes_the_place_of(flag, flags) else setting.spelling
                new = {
                    id(setting.flag): setting.named(spelling),
                    id(setting.holder): setting.holding(value, spelling),
                }
                words = [new.get(id(word), word) for word in words]
        return words

    def with_flags(self, flags: Flags) -> Launch:
        """The launch with these flags set, read in the same way."""
        return engines.engine(self.engine).launch.resolve(self.words_with(flags), **self.reading)


def read_words(
    engine: str,
    words: Sequence[Word],
    *,
    given: Given | None = None,
    config: Path | None = None,
    folder: Path | None = None,
    resolved: bool = False,
) -> Launch:
    """The launch that the words behind an engine give.

    `given`: values that stand beside the command; `config`: the model's config.json; `folder`: where relative paths
    in the words begin, None: their files are not read; `resolved`: the values are those of a running engine.
    `BadInput` for a value that no engine would take.
    """
    if engine not in PACKAGES:
        return Launch(
            engine, tuple(words), unmodelled=f"not checked: gridproof does not model {engine} yet"
        )
    own = (given or {}).get(engine, {})
    if folder is not None:
        words = engines.engine(engine).launch.with_files(words, folder)
    return engines.engine(engine).launch.resolve(words, given=own, config=config, resolved=resolved)


def only_launched(words: Sequence[Word]) -> tuple[str, list[Word]]:
    """The one engine that a command starts and its words; `BadInput` where there is none, or more than one."""
    found = launches(words)
    if len(found) > 1:
        raise BadInput("this command starts more than one engine; give one launch at a time")
    if not found:
        raise BadInput(
            f"no engine is started by this command; accepted are {ways_to_start()}, alone or inside another command"
        )
    return found[0]


def read_launch(command: Sequence[str], given: Mapping[str, Any] | None = None) -> Launch:
    """The launch that one command gives; `given`: values that stand beside it, by field."""
    engine, words = only_launched([Word(text) for text in command])
    return read_words(engine, words, given={engine: given or {}})


def given_values(pairs: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The values of `FIELD=VALUE` texts, by the engines that have the field; `BadInput` where none accepts it."""
    found: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        name = name.strip().lstrip("-").replace("-", "_")
        having = [engine for engine in engines.engines() if name in engine.launch.settable]
        if not separator or not having:
            settable = dict.fromkeys(n for e in engines.engines() for n in e.launch.settable)
            raise BadInput(f"--set {pair!r}: accepted is FIELD=VALUE with {', '.join(settable)}")
        refused = None
        for engine in having:
            try:
                value = engine.launch.value_of(name, text.strip())
                found.setdefault(engine.name, {})[name] = value
            except BadInput as error:
                refused = error
        if refused is not None and not any(name in found.get(e.name, {}) for e in having):
            raise refused
    return found
