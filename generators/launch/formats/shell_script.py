"""Shell scripts, batch files, PowerShell, and any text that is no other format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from generators.launch.formats.base import Document, Item, shell_items, unplaced

_SUFFIXES = (".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch", ".service")
_OF_WINDOWS = (".bat", ".cmd", ".ps1")
# The ends of lines that go on, in batch files and in PowerShell, with a space before as both need it.
_GOES_ON = re.compile(r"(?<=\s)[`^](?=[ \t]*\r?$)", re.MULTILINE)
# Comments, variables that are set and variables that are read, in the same order.
_REMARK = re.compile(r"^[ \t]*(?:@?rem\b|::)[^\n]*", re.MULTILINE | re.IGNORECASE)
_SET = re.compile(
    r'^([ \t]*)(?:@?set[ \t]+"?|\$(?:env:)?)(\w+)[ \t]*=[ \t]*("[^"\n]*"|\'[^\'\n]*\'|[^\s"]*)"?',
    re.M | re.I,
)
_READ = re.compile(r"%(\w+)%")


class ShellScript:
    """Every simple command of a script; also job scripts and service files, whose commands are shell words.

    Batch files and PowerShell are read as shell text whose lines go on with other marks.
    """

    name = "shell"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in (*_SUFFIXES, *_OF_WINDOWS)

    def sniffs(self, text: str) -> bool:
        return True

    def items(self, document: Document) -> Iterator[Item]:
        if _GOES_ON.search(document.text) is None:
            yield from shell_items(document)
            return
        text = _GOES_ON.sub("\\\\", _REMARK.sub(lambda m: " " * len(m[0]), document.text))
        known = {m[2]: m[3].strip("\"'") for m in _SET.finditer(text)}
        text = _READ.sub(lambda m: known.get(m[1], "${" + m[1] + "}"), text)
        is_moved = len(text) != len(document.text) or bool(_READ.search(document.text))
        part = replace(document, text=text, known={**document.known, **known})
        yield from unplaced(shell_items(part)) if is_moved else shell_items(part)
