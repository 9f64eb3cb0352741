"""A launch with its flags corrected: as a command to print, and as changes to the text it stands in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from generators.cases.codes import Flags
from generators.check.sources import Target
from generators.launch.formats.base import ITEMS, LIST, SHELL
from generators.launch.launch import Setting
from generators.launch.words import Word

_LINE_END = re.compile(r"\r?\n|\Z")
_MAY_STAND_PLAIN = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:@%+,$"
)


@dataclass(frozen=True)
class Edit:
    """A span of characters of a text and what it becomes."""

    start: int
    end: int
    text: str


def _quoted(word: Word) -> str:
    """A word as a shell takes it; an expansion stays as it is."""
    if word.is_unresolved:
        plain = set(word.text) <= _MAY_STAND_PLAIN
        return word.shown if plain else f'"{word.shown}"'
    return shlex.quote(word.text)


def command(target: Target, flags: Flags) -> str:
    """The corrected command, the words before the one that starts the engine included; flags where that is all there is."""
    words, first = target.command.words, target.launch.words[0]
    start = next((i for i, word in enumerate(words) if word is first), 0)
    return " ".join(_quoted(w) for w in (*words[:start], *target.launch.words_with(flags)))


def edits(target: Target, flags: Flags, text: str) -> list[Edit] | None:
    """The changes that give a launch these flags where it stands; None where its words do not stand there as they are."""
    last = target.launch.words[-1]
    if last.span is None or target.command.style not in (SHELL, LIST, ITEMS):
        return None
    found, added = [], ""
    for flag, value in flags.items():
        setting = target.launch.setting(flag)
        is_renamed = any(
            target.launch.takes_the_place_of(other, flags)
            and target.launch.setting(other) is setting
            for other in flags
        )
        if value is None and is_renamed:
            continue
        if value is None:
            every = setting.every if setting else ()
            gone = [_removing(target.command.style, one, text) for one in every]
            if not gone or None in gone:
                return None
            found += [edit for edit in gone if edit is not None]
        elif setting is None:
            added += _inserted(target.command.style, text, last.span, flag, value)
        elif (edit := _replacing(setting, value, text)) is not None:
            found.append(edit)
            if target.launch.takes_the_place_of(flag, flags):
                found += _renaming(setting, flag, text)
        else:
            return None
    if added:
        end = _line_end(text, last.span[1]) if target.command.style == ITEMS else last.span[1]
        found.append(Edit(end, end, added))
    return found


def _removing(style: str, setting: Setting, text: str) -> Edit | None:
    """The change that takes a flag out of a shell command, with its value and the spaces before it on its line."""
    flag, holder = setting.flag.span, setting.holder.span
    if style != SHELL or flag is None or holder is None:
        return None
    start = flag[0]
    while start and text[start - 1] in " \t":
        start -= 1
    alone = not start or text[start - 1] in "\r\n"
    return Edit(flag[0] if alone else start, holder[1], "")


def _replacing(setting: Setting, value: str, text: str) -> Edit | None:
    """The change of a value inside the word that holds it; its quotes stay."""
    if setting.holder.span is None:
        return None
    start, end = setting.holder.span
    old = str(setting.value)
    at = text.rfind(old, start, end)
    return Edit(at, at + len(old), value) if at >= 0 else None


def _renaming(setting: Setting, flag: str, text: str) -> list[Edit]:
    """The change of a flag's spelling inside the word that holds it."""
    at = -1 if setting.flag.span is None else text.find(setting.spelling, *setting.flag.span)
    return [Edit(at, at + len(setting.spelling), flag)] if at >= 0 else []


def _inserted(style: str, text: str, span: tuple[int, int], flag: str, value: str) -> str:
    """A flag that was not there, written as the words around it are."""
    words = [flag, value] if value else [flag]
    if style == SHELL:
        return "".join(f" {word}" for word in words)
    if style == LIST:
        quote = text[span[0]] if text[span[0]] in "\"'" else '"'
        return "".join(f", {quote}{word}{quote}" for word in words)
    start = text.rfind("\n", 0, span[0]) + 1
    lead = text[start : span[0]]
    lead = lead if lead.strip() == "-" else " " * (len(lead) - 2) + "- "
    newline = "\r\n" if text[_line_end(text, span[1]) :].startswith("\r") else "\n"
    return "".join(f'{newline}{lead}"{word}"' for word in words)


def _line_end(text: str, position: int) -> int:
    """The offset of the end of the line that a position stands in."""
    match = _LINE_END.search(text, position)
    assert match is not None, "the end of a text ends its last line"
    return match.start()


def edited(text: str, changes: Iterable[Edit]) -> str:
    """The text with all changes made; the same change asked for twice is made once."""
    for edit in sorted(set(changes), key=lambda e: e.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def wanted(fix: dict[str, Any] | None, unsafe_too: bool) -> Flags | None:
    """The flags of a fix that may be applied."""
    return fix["flags"] if fix and (fix["safe"] or unsafe_too) else None
