"""Splits shell text into simple commands, each word with its place; nothing is expanded or run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from generators.launch.words import Lines, Word

# After so many quotes or substitutions that are never closed, the rest of a text is given up.
MOST_UNCLOSED = 20
_PIECE = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v]|\\\r?\n)+)
    | (?P<end>\n|&&|\|\|?|;+|&|[()])
    | (?P<comment>\#[^\n]*)
    | (?P<placeholder><[A-Za-z][\w\ ./-]*>)
    | (?P<redirect>\d*[<>]+&?(?:\d+|-(?=\s|$))?)
    | (?P<single>'[^']*')
    | (?P<double>"(?:\\.|[^"\\])*")
    | (?P<braces>\$\{[^}\n]*\})
    | (?P<backquoted>`[^`\n]*`)
    | (?P<substitution>\$\()
    | (?P<escaped>\\.)
    | (?P<unclosed>['"`])
    | (?P<plain>[^ \t\r\f\v\n'"\\;&|()<>`$]+|\$|\\)
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE = re.compile(r'\\(?:\r?\n|(["\\$`]))')
_PAREN = re.compile(r"[()]")


@dataclass(frozen=True)
class Unclosed:
    """A quote or substitution that is opened at a line and never closed, and its command up to the end of that line."""

    line: int
    mark: str
    text: str


@dataclass
class _Splitter:
    """The state of one pass over a text."""

    text: str
    end: int
    lines: Lines
    folded: bool
    command: list[Word] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    start: int | None = None
    redirected: bool = False

    def add(self, text: str, at: int) -> None:
        if self.start is None:
            self.start = at
        self.parts.append(text)

    def close_word(self, at: int) -> None:
        """End the word before an offset; one that a redirection leads to is no word of the command."""
        if self.start is not None:
            if not self.redirected:
                self.command.append(self.lines.word("".join(self.parts), self.start, at))
            self.redirected = False
        self.start, self.parts = None, []

    def take(self) -> list[Word]:
        done, self.command, self.redirected = self.command, [], False
        return done

    def closing(self, position: int) -> int | None:
        """The offset behind the parenthesis that closes a substitution whose text begins at `position`."""
        depth = 1
        for match in _PAREN.finditer(self.text, position, self.end):
            depth += 1 if match[0] == "(" else -1
            if not depth:
                return match.end()
        return None

    def unclosed(self, position: int, end: int) -> Unclosed:
        """What is given up: the command so far and the rest of its line."""
        rest = self.text[position : end if end >= 0 else self.end]
        words = [*(word.text for word in self.take()), *self.parts, rest[:1000]]
        self.start, self.parts = None, []
        return Unclosed(self.lines.of(position), self.text[position], " ".join(words))

    def pieces(self, position: int) -> Iterator[list[Word] | Unclosed]:
        """Commands from `position` on; behind something unclosed it goes on at the next line."""
        unclosed = 0
        while position < self.end:
            match = _PIECE.match(self.text, position, self.end)
            assert match is not None, "every character begins a piece"
            kind, after = str(match.lastgroup), match.end()
            if kind == "substitution":
                after = self.closing(after) or position
                kind = "unclosed" if after == position else kind
            if kind == "unclosed":
                unclosed += 1
                following = self.text.find("\n", position, self.end)
                yield self.unclosed(position, following)
                if unclosed >= MOST_UNCLOSED or following < 0:
                    return
                after = following
            elif kind == "comment" and self.start is not None:
                self.add("#", position)
                after = position + 1
            elif kind == "redirect":
                self.close_word(position)
                self.redirected = not match[0][-1].isdigit() and match[0][-1] != "-"
            elif kind in ("space", "comment") or (kind == "end" and self.folds(match)):
                self.close_word(position)
            elif kind == "end":
                self.close_word(position)
                yield self.take()
            else:
                self.add(_decoded(kind, self.text[position:after]), position)
            position = after
        self.close_word(self.end)
        yield self.take()

    def folds(self, match: re.Match[str]) -> bool:
        return self.folded and match[0] == "\n"


def _decoded(kind: str, raw: str) -> str:
    if kind == "single":
        return raw[1:-1]
    if kind == "double":
        return _IN_DOUBLE.sub(lambda m: m[1] or "", raw[1:-1])
    return raw[1:] if kind == "escaped" else raw


def split(
    text: str, start: int = 0, end: int | None = None, *, lines: Lines | None = None, folded=False
) -> Iterator[list[Word] | Unclosed]:
    """The simple commands between two offsets of a text; `folded`: ends of lines are spaces, as YAML folds them."""
    stop = len(text) if end is None else end
    splitter = _Splitter(text, stop, lines or Lines(text), folded)
    for piece in splitter.pieces(start):
        if piece:
            yield piece
