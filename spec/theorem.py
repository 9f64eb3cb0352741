"""A theorem: a claim in one sentence, and a function that states it on integers, arrays or SMT terms alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spec.numbers import Truth

if TYPE_CHECKING:
    from spec.engine import Engine


@dataclass(frozen=True)
class Statement:
    """Named hypotheses and the conclusion that must follow from them."""

    hypotheses: Mapping[str, Truth]
    conclusion: Truth


class _Unread:
    """A symbolic field that a statement was not seen to read; using it is an error, so that no default is proved of all."""

    def __init__(self, name: str):
        self._name = name

    def _used(self, *_: Any) -> Any:
        raise AttributeError(f"the statement reads {self._name} only at some values")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = _used
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _used
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __index__ = _used
    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Setting:
    """What theorems are stated about: an engine, and the design that they are proved for.

    `realistic`: configurations a person would write, best first, by the engine's symbolic fields; `fixed`: fields that
    have a value of their own here, be they symbolic otherwise or not.
    """

    engine: Engine
    realistic: Sequence[Mapping[str, int]]
    right: Any
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def fields(self) -> dict[str, int]:
        """The fields of a configuration that become parameters, with the least value of each."""
        symbolic = (f for f in self.engine.fields if f.symbolic and f.name not in self.fixed)
        return {f.name: 1 if f.least is None else f.least for f in symbolic}

    @cached_property
    def constants(self) -> dict[str, Any]:
        """The other fields, with their values."""
        defaults = {f.name: f.default for f in self.engine.fields if f.name not in self.fields}
        return {**defaults, **self.fixed}

    @cached_property
    def _unread(self) -> dict[str, Any]:
        return {**self.constants, **{name: _Unread(name) for name in self.fields}}

    def design(self, name: str) -> Any:
        """The engine's design of that name."""
        return self.engine.design(name)

    def configuration(self, values: Mapping[str, Any]) -> Any:
        """The engine's configuration with these symbolic fields: ints, arrays or terms."""
        return self.engine.configuration(**{**self._unread, **values})


class _Recorder:
    """A configuration that notes which fields a statement reads: `read` the symbolic ones, `constants` the others."""

    def __init__(self, setting: Setting):
        self._setting = setting
        self.read: list[str] = []
        self.constants: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        setting = self.__dict__["_setting"]
        if name in setting.fields:
            if name not in self.read:
                self.read.append(name)
            return setting.realistic[0][name]
        if name in setting.constants:
            return self.constants.setdefault(name, setting.constants[name])
        raise AttributeError(name)


@dataclass(frozen=True)
class Theorem:
    """A claim that holds for all configurations and lengths that satisfy its hypotheses.

    `lengths`: its further parameters with the least value of each (tokens, or steps where the claim names steps);
    `refuted_by`: designs known to be wrong on which it must fail; `proved_for`: the design it holds for,
    where that is not the setting's.
    """

    id: str
    family: str
    claim: str
    state: Callable[..., Statement]
    setting: Setting
    lengths: Mapping[str, int]
    refuted_by: tuple[str, ...] = field(default=())
    proved_for: str | None = None

    @property
    def engine(self) -> Engine:
        """The engine whose rules it is about."""
        return self.setting.engine

    @property
    def right(self) -> Any:
        """The design it is proved for."""
        return (
            self.setting.right if self.proved_for is None else self.setting.design(self.proved_for)
        )

    def parameters(self, design: Any = None) -> dict[str, int]:
        """Every symbolic parameter with its least value: the fields it reads, then its lengths."""
        read = self._recorded(design).read
        return {**{f: self.setting.fields[f] for f in read}, **self.lengths}

    def constants(self) -> dict[str, Any]:
        """The fields without a symbol that it reads, each with its value."""
        return self._recorded().constants

    def _recorded(self, design: Any = None) -> _Recorder:
        recorder = _Recorder(self.setting)
        lengths = {name: max(least, 1) for name, least in self.lengths.items()}
        self.state(design or self.right, recorder, **lengths)
        return recorder

    def at(self, values: Mapping[str, Any], design: Any = None) -> Statement:
        """The statement for these values of its parameters: ints, arrays or terms."""
        lengths = {name: values[name] for name in self.lengths}
        fields = {k: v for k, v in values.items() if k in self.setting.fields}
        return self.state(design or self.right, self.setting.configuration(fields), **lengths)


class Library:
    """The theorems of one engine, in the order in which they are written down.

    `refuted`: the JSON file that lists which of them refute which wrong rules, if there is one.
    """

    def __init__(self, setting: Setting, refuted: Path | None = None):
        self.setting, self.refuted = setting, refuted
        self._theorems: dict[str, Theorem] = {}

    def theorem(
        self,
        family: str,
        *,
        refuted_by: tuple[str, ...] = (),
        proved_for: str | None = None,
        least: Mapping[str, int] | None = None,
    ) -> Callable[[Callable[..., Statement]], Theorem]:
        """Enter a function ``(design, c, *lengths) -> Statement`` under its own name; its docstring is the claim."""

        def enter(state: Callable[..., Statement]) -> Theorem:
            names = list(inspect.signature(state).parameters)[2:]
            claim = " ".join((inspect.getdoc(state) or "").split())
            theorem = Theorem(
                id=state.__name__,
                family=family,
                claim=claim,
                state=state,
                setting=self.setting,
                lengths={name: (least or {}).get(name, 1) for name in names},
                refuted_by=refuted_by,
                proved_for=proved_for,
            )
            if theorem.id in self._theorems:
                raise ValueError(f"two theorems are called {theorem.id}")
            self._theorems[theorem.id] = theorem
            return theorem

        return enter

    def __iter__(self) -> Iterator[Theorem]:
        return iter(self._theorems.values())

    def __getitem__(self, name: str) -> Theorem:
        return self._theorems[name]

    def __contains__(self, name: str) -> bool:
        return name in self._theorems

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t.family for t in self))
