"""What each flag of the engine has to do with recurrent states: read by the rules, nothing, or not modelled."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from spec.sglang.releases import RELEASES

MODELLED, NOTHING, NOT_MODELLED = "modelled", "nothing", "not modelled"
HELP = ("--help",)


@dataclass(frozen=True)
class FlagGroup:
    """Flags that touch recurrent states in the same way, and why.

    `producers`: the producers of checkpoints that such a flag takes out of the model; `needs`: fields without one of
    which it has no effect; `harmless`: values with which it has none; `matters`: texts of which a value must hold one;
    `field`: the field that all its spellings set, None where each flag has a field of its own.
    """

    touches: str
    why: str
    flags: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    producers: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    matters: tuple[str, ...] = ()
    field: str | None = None

    def field_of(self, flag: str) -> str:
        """The field that a flag of the group sets."""
        return self.field or flag.removeprefix("--").replace("-", "_")

    def spellings(self, flags: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Fields of some flags of the group with the spellings of each."""
        if self.field is not None:
            return {self.field: flags} if flags else {}
        return {self.field_of(flag): (flag,) for flag in flags}

    def takes_effect(self, value: Any) -> bool:
        """Whether a value of such a flag reaches what is not modelled."""
        text = str(value).lower()
        return text not in self.harmless and (
            not self.matters or any(part in text for part in self.matters)
        )


@functools.cache
def _document() -> dict[str, Any]:
    file = resources.files("generators.sglang.launch").joinpath("flags.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


@functools.cache
def flag_groups() -> tuple[FlagGroup, ...]:
    """Every flag of the modelled releases; each stands in one group."""
    return tuple(map(_group, _document()["group"]))


def _group(entry: dict[str, Any]) -> FlagGroup:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    return FlagGroup(**values)


def not_modelled() -> tuple[FlagGroup, ...]:
    """The groups whose flags reach what is not modelled."""
    return tuple(group for group in flag_groups() if group.touches == NOT_MODELLED)


@functools.cache
def engine_flags() -> dict[str, bool]:
    """Every flag of the engine, and whether it is a switch."""
    found = {flag: False for group in flag_groups() for flag in group.flags}
    return found | {flag: True for group in flag_groups() for flag in group.switches}


@functools.cache
def lifetimes() -> dict[str, tuple[str, str]]:
    """The first and the last modelled release that has a flag, for every flag."""
    first, last = (
        {flag: release for release, flags in _document()[end].items() for flag in flags}
        for end in ("first", "last")
    )
    return {f: (first.get(f, RELEASES[0]), last.get(f, RELEASES[-1])) for f in engine_flags()}


@functools.cache
def flags_of(release: str) -> frozenset[str]:
    """The flags that a release has."""
    at = RELEASES.index(release)
    lives = {flag: map(RELEASES.index, ends) for flag, ends in lifetimes().items()}
    return frozenset(flag for flag, (first, last) in lives.items() if first <= at <= last)


def meant_by(spelling: str, release: str) -> tuple[str, ...]:
    """The flags of a release that a spelling may stand for, as argparse has it: itself, else those that begin with it."""
    known = flags_of(release)
    if spelling in (*known, *HELP):
        return (spelling,)
    return tuple(sorted(flag for flag in known if flag.startswith(spelling)))
