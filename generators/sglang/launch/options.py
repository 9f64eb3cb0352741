"""What each release's parser accepts: which flags it has, which values they take, and what took the place of those that are gone."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from typing import Any

from generators.sglang.launch.flag_classes import engine_flags, lifetimes, meant_by
from spec.sglang.releases import RELEASES

_FLAG = re.compile(r"--[a-zA-Z][\w-]{,57}")
_SIZE = re.compile(r"(\d+)(\.\d+)?(Ki|Mi|Gi|Ti|k|M|G|T)")
_UNITS = {"k": 1, "M": 2, "G": 3, "T": 4, "K": 1}
_SHOWN = 6


def size(text: str) -> int:
    """A number of tokens as the engine reads it, such as 1k or 1Ki; `ValueError` where it is none.

    Source: SGLang 0.5.17 to 0.5.23, `utils/common.py` (`human_readable_int`).
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return int(text)
    whole, decimals, unit = match.groups()
    if unit.endswith("i"):
        return int(whole + (decimals or "")) * 1024 ** _UNITS[unit[0]]
    return int(Decimal(whole + (decimals or "")) * 1000 ** _UNITS[unit])


_READ_AS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "size": size}


@dataclass(frozen=True)
class Option:
    """The values that a flag takes in releases: `kind` int, float, size or text; `choices`: None where any will do.

    `many`: whether it takes several; `first`, `last`: the releases.
    """

    kind: str
    many: bool
    choices: tuple[str, ...] | None
    first: str
    last: str

    def objection(self, value: str) -> str | None:
        """Why the parser refuses a value; None where it does not."""
        try:
            parsed: Any = _READ_AS.get(self.kind, str)(value)
        except ValueError:
            return f"{value[:40]!r} is no {'' if self.kind == 'float' else 'whole '}number"
        if self.choices is None or str(parsed) in self.choices:
            return None
        named = ", ".join(self.choices[:_SHOWN])
        more = len(self.choices) - _SHOWN
        return f"{value[:40]!r} is none of {named}{f' and {more} more' if more > 0 else ''}"


@functools.cache
def _document() -> dict[str, Any]:
    file = resources.files("generators.sglang.launch").joinpath("options.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


@functools.cache
def _options() -> dict[str, tuple[Option, ...]]:
    """The flags whose values the parser looks at."""
    found: dict[str, list[Option]] = {}
    for entry in _document()["option"]:
        choices = entry.get("choices")
        one = Option(
            *(entry["kind"], entry.get("many", False), choices and tuple(choices)),
            *(entry.get("first", RELEASES[0]), entry.get("last", RELEASES[-1])),
        )
        for flag in entry["flags"]:
            found.setdefault(flag, []).append(one)
    return {flag: tuple(options) for flag, options in found.items()}


def option(flag: str, release: str) -> Option | None:
    """What a release's parser asks of the values of a flag; None where it takes any text."""
    at = RELEASES.index(release)
    for one in _options().get(flag, ()):
        if RELEASES.index(one.first) <= at <= RELEASES.index(one.last):
            return one
    return None


def successor(flag: str, release: str) -> str | None:
    """The flag that sets in a release what another one set before it was removed."""
    for entry in _document()["renamed"]:
        if entry["flag"] == flag and meant_by(entry["to"], release) == (entry["to"],):
            return entry["to"]
    return None


def is_a_flag(spelling: str) -> bool:
    """Whether a word stands for a flag to the engine's parser."""
    return _FLAG.fullmatch(spelling) is not None


@functools.lru_cache(maxsize=1 << 12)
def objection(spelling: str, values: tuple[str, ...], release: str) -> str | None:
    """Why a release refuses a flag with these values, as the end of a sentence that begins with the release; or None."""
    meant = meant_by(spelling, release)
    if len(meant) > 1:
        return f"has several flags that begin with {spelling} ({', '.join(meant)})"
    if not meant:
        return _gone(spelling, release)
    wanted = option(meant[0], release)
    if wanted is None:
        return None
    for value in values:
        if (why := wanted.objection(value)) is not None:
            return f"does not accept this value of {meant[0]}: {why}"
    return None


def _gone(spelling: str, release: str) -> str:
    if spelling not in lifetimes():
        return f"has no flag {spelling}"
    first, last = lifetimes()[spelling]
    is_gone = RELEASES.index(last) < RELEASES.index(release)
    known = f"{last} is the last" if is_gone else f"{first} is the first"
    instead = successor(spelling, release)
    hint = f"; {instead} has taken its place" if instead else ""
    return f"has no flag {spelling} ({known} release that has it{hint})"


@functools.lru_cache(maxsize=1 << 12)
def is_contested(spelling: str, values: tuple[str, ...]) -> bool:
    """Whether some modelled release refuses a flag with these values."""
    return any(objection(spelling, values, release) is not None for release in RELEASES)


def takes(spelling: str) -> tuple[bool, bool]:
    """Whether a flag takes a value, and whether it takes several."""
    if engine_flags().get(spelling, False):
        return False, False
    return True, any(one.many for one in _options().get(spelling, ()))


def given(texts: Sequence[str | None], position: int) -> Iterator[str]:
    """The values of the flag at a position of a command's words; a word that is not known yet (None) ends them."""
    spelling, has_value, value = (texts[position] or "").partition("=")
    takes_one, takes_more = takes(spelling)
    if has_value:
        yield value
        return
    for text in texts[position + 1 :] if takes_one else ():
        if text is None or (text.startswith("-") and not text.lstrip("-")[:1].isdigit()):
            return
        yield text
        if not takes_more:
            return
