"""What an input format is given and what it yields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Protocol

from generators.launch import shell
from generators.launch.commands import engine_of_flags, has_launch, is_started_in
from generators.launch.words import Lines, Word

# How the words of a command are written, and so how one is put between two others.
SHELL, LIST, ITEMS = "shell", "list", "items"


@dataclass(frozen=True)
class Document:
    """A text to look for commands in; `source` names it, `line` is its first line in the file.

    `offset`: where the text begins in the file (characters), None where it is not a part of it as it stands;
    `known`: values that variables of its commands have from elsewhere; `is_prose`: whether it may be no code at all, so
    that nothing in it is reported as broken.
    """

    source: str
    text: str
    line: int = 1
    offset: int | None = 0
    known: Mapping[str, str] = field(default_factory=dict)
    is_prose: bool = False

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text, self.line)


@dataclass(frozen=True)
class Command:
    """An argument list found at a line of a source.

    `engine`: set where the list holds flags only and the engine that gets them is known otherwise;
    `resolved`: the values are those of a running engine; `image`: the container image it stands beside.
    """

    source: str
    line: int
    words: tuple[Word, ...]
    style: str = SHELL
    engine: str | None = None
    resolved: bool = False
    image: str | None = None


@dataclass(frozen=True)
class Problem:
    """What could not be read, and the line at which that shows; `of_all`: whether the whole document could not."""

    source: str
    line: int | None
    message: str
    of_all: bool = False


Item = Command | Problem


class Format(Protocol):
    """An input format; `name` is how a message calls it."""

    name: str

    def claims(self, path: PurePath) -> bool:
        """Whether a file of this name is of this format."""
        ...

    def sniffs(self, text: str) -> bool:
        """Whether a text without a name looks like this format."""
        ...

    def items(self, document: Document) -> Iterator[Item]:
        """The commands in a document that start an engine, and what could not be read."""
        ...


def shell_items(
    document: Document,
    start: int = 0,
    end: int | None = None,
    *,
    folded: bool = False,
    known: Mapping[str, str] | None = None,
) -> Iterator[Item]:
    """The commands of shell text between two offsets of a document; `known`: as in it, for these alone."""
    known = document.known if known is None else known
    pieces = shell.split(
        document.text, start, end, lines=document.lines, folded=folded, known=known
    )
    for piece in pieces:
        if isinstance(piece, shell.Embedded):
            yield from _embedded(document, piece)
        elif not isinstance(piece, shell.Unclosed):
            yield Command(document.source, piece[0].line or document.line, tuple(piece))
        elif not document.is_prose and is_started_in(piece.text):
            message = f"a {piece.mark} is never closed; the command it stands in is left out"
            yield Problem(document.source, piece.line, message)


def _embedded(document: Document, piece: shell.Embedded) -> Iterator[Item]:
    """The commands of a here-document that is YAML, as one that a cluster is given."""
    from generators.launch.formats.yaml_lists import Yaml

    text = document.text[piece.start : piece.end]
    first = document.lines.of(piece.start)
    offset = None if document.offset is None else document.offset + piece.start
    part = Document(document.source, text, first, offset, is_prose=True)
    for item in placed(Yaml().items(part), part):
        if isinstance(item, Command):
            yield item


_VARIABLE = re.compile(r"\$\{(\w+)(?::?-([^{}]*))?\}|\$(\w+)|\$\((\w+)\)")


def filled(text: str, known: Mapping[str, str]) -> str:
    """A text with the values of its variables, `${X:-64}` and Kubernetes' `$(X)` included; one without a value stays."""

    def value(match: re.Match[str]) -> str:
        default = match[0] if match[2] is None else match[2]
        return known.get(match[1] or match[3] or match[4]) or default

    return _VARIABLE.sub(value, text)


def list_command(
    source: str, words: tuple[Word, ...], style: str, image: str | None = None
) -> Iterator[Command]:
    """The command of a list of words that starts an engine, or that holds flags which only one engine has."""
    starts_one = has_launch(words)
    engine = None if starts_one else engine_of_flags(words)
    if starts_one or engine:
        yield Command(source, words[0].line or 1, words, style, engine=engine, image=image)


def placed(items: Iterable[Item], document: Document) -> Iterator[Item]:
    """Items of a part of a file, their spans counted from the beginning of the file."""
    for item in items:
        if isinstance(item, Problem):
            item = replace(item, of_all=False)
        if isinstance(item, Command) and document.offset != 0:
            moved = tuple(_moved(word, document.offset) for word in item.words)
            item = replace(item, words=moved)
        yield item


def unplaced(items: Iterable[Item]) -> Iterator[Item]:
    """Items of a text that does not stand in the file as it is, so that nothing can be changed there."""
    return placed(items, Document("", "", offset=None))


def _moved(word: Word, offset: int | None) -> Word:
    if offset is None or word.span is None:
        return replace(word, column=None, span=None)
    return replace(word, span=(word.span[0] + offset, word.span[1] + offset))
