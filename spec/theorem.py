"""A theorem: a claim in one sentence, and a function that states it on integers, arrays or SMT terms alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from spec.numbers import Truth


@dataclass(frozen=True)
class Statement:
    """Named hypotheses and the conclusion that must follow from them."""

    hypotheses: Mapping[str, Truth]
    conclusion: Truth


@dataclass(frozen=True)
class Setting:
    """What an engine brings to its theorems.

    `fields`: the numeric fields of a configuration and the least value of each;
    `constants`: its other fields; `realistic`: configurations a person would write, best first;
    `design`: the design of a name; `right`: the design that theorems are proved for.
    """

    fields: Mapping[str, int]
    constants: Mapping[str, Any]
    realistic: Sequence[Mapping[str, int]]
    design: Callable[[str], Any]
    right: Any

    def configuration(self, values: Mapping[str, Any]) -> Any:
        """A configuration with these numeric fields: ints, arrays or terms."""
        return SimpleNamespace(**{**self.constants, **values})


class _Recorder:
    """A configuration that notes which fields a statement reads: `read` the numeric ones, `constants` the others."""

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

    `lengths`: its further parameters with the least value of each (tokens, or steps where it says so);
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
    """The theorems of one engine, in the order in which they are written down."""

    def __init__(self, setting: Setting):
        self.setting = setting
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
