"""Words of a command and where they stand in a text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass

# What a template such as {{ .Values.page }} is replaced by, character for character, before a text is parsed.
TEMPLATE = "\ue000"
_TEMPLATE = re.compile(r"\{\{[^\n]{0,200}?\}\}|\{%[^\n]{0,200}?%\}")
# Lines that hold nothing but one template, which may go on over several: a condition, an include, a comment.
_TEMPLATE_ALONE = re.compile(
    r"^[ \t]*(?:\{\{(?:(?!\{\{|\}\}).){0,2000}\}\}|\{%(?:(?!\{%|%\}).){0,2000}%\})[ \t\r]*$",
    re.MULTILINE | re.DOTALL,
)
_LAST_BLANK = re.compile(r" (?=\r?$)", re.MULTILINE)
_NO_LINE_END = re.compile(r"[^\r\n]")
_EXPANSION = re.compile(
    r"\$[A-Za-z_({@*#0-9]|`|<[A-Za-z][\w ./-]*>|^\[[A-Za-z][\w ./-]*\]$|" + TEMPLATE
)


@dataclass(frozen=True)
class Word:
    """A word: its text, its line and column (from 1) and its span of characters in the file, None where unknown.

    `options`: the words that it may become, where the file itself gives several choices.
    """

    text: str
    line: int | None = None
    column: int | None = None
    span: tuple[int, int] | None = None
    options: tuple[tuple[Word, ...], ...] = ()

    @property
    def is_unresolved(self) -> bool:
        """Whether a part of the word is only known when the command is run or the template filled in."""
        return _EXPANSION.search(self.text) is not None

    @property
    def shown(self) -> str:
        """The word as a message shows it."""
        text = re.sub(f"{TEMPLATE}+", "{{...}}", self.text)
        return text if len(text) <= 40 else f"{text[:40]}..."


class Offsets:
    """The offset in characters of each offset in bytes of UTF-8."""

    def __init__(self, data: bytes):
        self._within = [m.start() for m in re.finditer(rb"[\x80-\xbf]", data)]

    def of(self, byte: int) -> int:
        return byte - bisect_left(self._within, byte)


class Lines:
    """The line (from 1) of each offset of a text."""

    def __init__(self, text: str, first: int = 1):
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self._first = first

    def of(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1 + self._first

    def word(self, text: str, start: int, end: int) -> Word:
        """The word that stands between two offsets."""
        line = self.of(start)
        return Word(text, line, start - self.start(line) + 1, (start, end))

    def start(self, line: int) -> int:
        """The offset at which a line begins."""
        return self._starts[line - self._first]


def without_templates(text: str) -> str:
    """The text with each template replaced by as many placeholders, and lines that are only a template left blank."""
    continued: int | None = None

    def blank(match: re.Match[str]) -> str:
        nonlocal continued
        start, empty = match.start(), _NO_LINE_END.sub(" ", match[0])
        if not text.endswith("\\\n", start - 2, start) and start - 1 != continued:
            return empty
        # A shell's line that goes on behind the template's.
        continued = match.end()
        return _LAST_BLANK.sub("\\\\", empty)

    blank_lines = _TEMPLATE_ALONE.sub(blank, text)
    return _TEMPLATE.sub(lambda m: TEMPLATE * len(m[0]), blank_lines)
