"""Start-up logs: the values that a running engine printed as `server_args=ServerArgs(...)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from generators.launch.formats.base import Command, Document, Item, Problem
from generators.launch.words import Word
from generators.sglang.launch.flags import is_read

_LINE = re.compile(r"server_args=ServerArgs\(([^\n]*)")
_QUOTES = "'\""
_VALUE = re.compile(r"(?:^|[ (,])(\w+)=('[^'\n]*'|\"[^\"\n]*\"|-?\w[\w.+-]*)")


class StartLog:
    """The resolved values of a launch, as the arguments that would give them."""

    name = "start-up log"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in (".log", ".out", ".err")

    def sniffs(self, text: str) -> bool:
        return _LINE.search(text) is not None

    def items(self, document: Document) -> Iterator[Item]:
        for match in _LINE.finditer(document.text):
            line = document.lines.of(match.start())
            words = []
            for name, value in _VALUE.findall(match[1]):
                flag = "--" + name.strip("_").replace("_", "-")
                if not is_read(flag) or value in ("None", "False"):
                    continue
                text = flag if value == "True" else f"{flag}={value.strip(_QUOTES)}"
                words.append(Word(text, line))
            if not words:
                yield Problem(document.source, line, "server_args= without a value that is read")
                continue
            yield Command(document.source, line, tuple(words), "", engine="sglang", resolved=True)
