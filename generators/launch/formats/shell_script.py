"""Shell scripts, and any text that is no other format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from generators.launch.formats.base import Document, Item, shell_items

_SUFFIXES = (".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch", ".service")


class ShellScript:
    """Every simple command of a script; also job scripts and service files, whose commands are shell words."""

    name = "shell"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in _SUFFIXES

    def sniffs(self, text: str) -> bool:
        return True

    def items(self, document: Document) -> Iterator[Item]:
        yield from shell_items(document)
