"""Flags files: arguments of the engine alone, one or several a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from generators.launch.formats.base import Command, Document, Item, shell_items


class FlagsFile:
    """Words that begin with a flag; the engine that takes such flags is SGLang."""

    name = "flags"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in (".flags", ".args")

    def sniffs(self, text: str) -> bool:
        return re.search(r"\A(?:\s|#[^\n]*\n)*--[a-z]", text) is not None

    def items(self, document: Document) -> Iterator[Item]:
        for item in shell_items(document, folded=True):
            yield replace(item, engine="sglang") if isinstance(item, Command) else item
