"""TOML: lists that are commands, and texts that hold shell commands."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from generators.launch.formats.base import (
    LIST,
    Command,
    Document,
    Item,
    Problem,
    list_command,
    shell_items,
    unplaced,
)
from generators.launch.words import Word


class Toml:
    """Every value of the file; the parser keeps no places, so the line is where a command's first word is found."""

    name = "TOML"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() == ".toml"

    def sniffs(self, text: str) -> bool:
        return False

    def items(self, document: Document) -> Iterator[Item]:
        try:
            data = tomllib.loads(document.text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            yield Problem(document.source, None, f"not valid TOML ({error})", of_all=True)
            return
        waiting: list[Any] = [data]
        position = 0
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                waiting += reversed(list(value.values()))
            elif isinstance(value, list) and value and all(isinstance(v, str) for v in value):
                line, position = _place(document, value, position)
                words = tuple(Word(text, line) for text in value)
                found = list(list_command(document.source, words, LIST))
                yield from found
                waiting += [] if found else reversed(value)
            elif isinstance(value, list):
                waiting += reversed(value)
            elif isinstance(value, str) and any(c.isspace() for c in value.strip()):
                line, position = _place(document, [value], position)
                for item in shell_items(Document(document.source, value, line, is_prose=True)):
                    if isinstance(item, Command):
                        yield from unplaced([item])


def _place(document: Document, texts: list[str], position: int) -> tuple[int, int]:
    """The line of a value, and the offset at which it was found: behind the value before it, if it is found there."""
    first = texts[0].strip().split("\n")[0]
    for spelling in (json.dumps(first)[1:-1], first):
        at = document.text.find(spelling, position)
        if at >= 0:
            return document.lines.of(at), at
    return document.line, position
