"""Launch commands in files: one format a module, tried in this order; a new format is a module and its line here.

An engine brings further ones, such as its start-up log (`Launching.formats`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from generators import engines
from generators.common.errors import MOST_BYTES, BadInput, decoded, read_bytes
from generators.launch.commands import (
    has_launch,
    launches,
    may_hold_a_launch,
    mentions_an_engine,
)
from generators.launch.formats.base import Command, Document, Format, Item, Problem
from generators.launch.formats.dockerfile import Dockerfile
from generators.launch.formats.flags_file import FlagsFile
from generators.launch.formats.markdown import Markdown
from generators.launch.formats.notebook import Notebook
from generators.launch.formats.python_lists import Python
from generators.launch.formats.restructured_text import RestructuredText
from generators.launch.formats.shell_script import ShellScript
from generators.launch.formats.toml_values import Toml
from generators.launch.formats.yaml_lists import Yaml
from generators.launch.words import without_templates

_FORMATS: tuple[Format, ...] = (
    Dockerfile(),
    FlagsFile(),
    Python(),
    Notebook(),
    Toml(),
    Yaml(),
    Markdown(),
    RestructuredText(),
    ShellScript(),
)


def all_formats() -> tuple[Format, ...]:
    """Every format, those of an engine first."""
    own = (form for engine in engines.engines() for form in engine.launch.formats)
    return (*own, *_FORMATS)


def format_of(path: PurePath, text: str) -> Format:
    """The format of a file: by its name, else by what its text looks like."""
    formats = all_formats()
    named = next((form for form in formats if form.claims(path)), None)
    return named or next(form for form in formats if form.sniffs(text))


def is_claimed(path: PurePath) -> bool:
    """Whether a file of this name is looked at when a folder is walked."""
    return any(form.claims(path) for form in all_formats())


def text_of(path: Path) -> str:
    """The text of a file; `BadInput` for one that is no text, too large or cannot be read."""
    if not os.path.lexists(path):
        shown = str(path) if len(str(path)) <= 80 else f"{str(path)[:80]}..."
        raise BadInput(f"{shown}: there is no such file; a launch command goes behind '--'")
    return plain_text(read_bytes(path, MOST_BYTES), str(path))


def plain_text(data: bytes, name: str) -> str:
    """Bytes as a text to look for commands in; `BadInput` for more than is read, or what is no text."""
    if len(data) > MOST_BYTES:
        raise BadInput(f"{name}: not read, as it is larger than {MOST_BYTES >> 20} MiB")
    text = decoded(data, name)
    if "\x00" in text:
        raise BadInput(f"{name}: cannot be read (it is no text)")
    return text


def items(source: str, text: str, path: PurePath) -> Iterator[Item]:
    """The commands of a text that start an engine, and what could not be read of it, in the order of their lines."""
    found = format_of(path, text)
    if not may_hold_a_launch(text):
        return
    document = Document(source, without_templates(text))
    every = list(found.items(document))
    if not found.claims(path) and any(isinstance(i, Problem) and i.of_all for i in every):
        # It only looked like that format.
        every = list(ShellScript().items(replace(document, is_prose=True)))
    kept = [item for item in every if _is_wanted(item)]
    yield from sorted(kept, key=lambda item: item.line or 0)


def _is_wanted(item: Item) -> bool:
    return isinstance(item, Problem) or bool(item.engine) or starts_something(item)


def starts_something(command: Command) -> bool:
    """Whether a command starts an engine, perhaps in a shell text inside it."""
    if not mentions_an_engine(" ".join(word.text for word in command.words)):
        return False
    if has_launch(command.words):
        return True
    try:
        return bool(launches(command.words))
    except BadInput:
        return True


__all__ = [
    "Command",
    "Format",
    "Item",
    "Problem",
    "all_formats",
    "format_of",
    "is_claimed",
    "items",
    "text_of",
]
