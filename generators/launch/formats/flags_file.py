"""Flags files: arguments of the engine alone, one or several a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from generators.launch.commands import engine_of_flag
from generators.launch.formats.base import Command, Document, Item, shell_items
from spec.engine import DEFAULT


class FlagsFile:
    """Words that begin with a flag, for the engine that alone has one of them, else for the one that is asked first."""

    name = "flags"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in (".flags", ".args")

    def sniffs(self, text: str) -> bool:
        return re.search(r"\A(?:\s|#[^\n]*\n)*--[a-z]", text) is not None

    def items(self, document: Document) -> Iterator[Item]:
        for item in shell_items(document, folded=True):
            if isinstance(item, Command):
                flags = (word.text.partition("=")[0] for word in item.words)
                item = replace(item, engine=engine_of_flag(flags) or DEFAULT)
            yield item
