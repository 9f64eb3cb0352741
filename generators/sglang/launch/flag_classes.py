"""What each flag of the engine has to do with recurrent states: read by the rules, nothing, or not modelled."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

MODELLED, NOTHING, NOT_MODELLED = "modelled", "nothing", "not modelled"


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
def flag_groups() -> tuple[FlagGroup, ...]:
    """Every flag of the modelled releases; each stands in one group."""
    text = (
        resources.files("generators.sglang.launch")
        .joinpath("flags.toml")
        .read_text(encoding="utf-8")
    )
    entries = tomllib.loads(text)["group"]
    return tuple(map(_group, entries))


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
