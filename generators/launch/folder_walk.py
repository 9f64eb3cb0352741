"""The files below a folder whose names an input format claims; what `.gitignore` leaves out is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generators.common.errors import MOST_BYTES, BadInput, read_bytes
from generators.launch.formats import is_claimed


class _Ignored:
    """The `.gitignore` files from the top of a working tree down to one folder; the deepest has the last word."""

    def __init__(self, folder: Path, above: tuple[tuple[Path, Any], ...] = ()):
        from pathspec import GitIgnoreSpec

        self.specs = above
        try:
            data = read_bytes(folder / ".gitignore", MOST_BYTES)
        except BadInput:
            return
        lines = data.decode("utf-8", errors="replace").splitlines()
        self.specs = (*above, (folder, GitIgnoreSpec.from_lines(lines)))

    def below(self, folder: Path) -> _Ignored:
        return _Ignored(folder, self.specs)

    def holds(self, path: Path, is_folder: bool) -> bool:
        for folder, spec in reversed(self.specs):
            name = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
            verdict = spec.check_file(name).include
            if verdict is not None:
                return verdict
        return False


def _from_the_top(folder: Path) -> _Ignored:
    """What is ignored in a folder, the `.gitignore` files of the working tree above it included."""
    parents = [folder, *folder.parents]
    top = next((i for i, parent in enumerate(parents) if (parent / ".git").exists()), 0)
    ignored = _Ignored(parents[top])
    for parent in reversed(parents[:top]):
        ignored = ignored.below(parent)
    return ignored


def files_below(folder: Path) -> Iterator[Path]:
    """Files in the order of their names; links to folders are not followed, so no loop is ever entered."""
    waiting: list[tuple[Path, Path, _Ignored | None]] = [(folder, folder.resolve(), None)]
    while waiting:
        shown, folder, above = waiting.pop()
        ignored = above.below(folder) if above else _from_the_top(folder)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        folders = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            path = folder / entry.name
            if entry.name == ".git" or ignored.holds(path, is_folder):
                continue
            if is_folder:
                folders.append((shown / entry.name, path, ignored))
            elif is_claimed(path) and _is_file(entry):
                yield shown / entry.name
        waiting += reversed(folders)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file or a link to one; a link that leads back to itself is neither."""
    try:
        return entry.is_file()
    except OSError:
        return False
