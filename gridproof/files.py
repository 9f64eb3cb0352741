"""Writes and removes files; a file is written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from generators.common.errors import BadInput


def check_writable(paths: Iterable[Path]) -> None:
    """Raise `BadInput` for the first path where no regular file can be written; nothing is written yet."""
    for path in paths:
        try:
            target = path.resolve()
            if target.exists() and not target.is_file():
                raise BadInput(f"{path}: cannot be written (it exists and is no regular file)")
            if target.exists() and not target.stat().st_mode & 0o222:
                raise BadInput(f"{path}: cannot be written (it is read-only)")
            folder = target.parent
            while not folder.exists():
                folder = folder.parent
            if not folder.is_dir() or not os.access(folder, os.W_OK):
                raise BadInput(
                    f"{path}: cannot be written ({folder} is not a folder that you may write to)"
                )
        except (OSError, RuntimeError) as error:
            shown = str(path) if len(str(path)) <= 80 else f"{str(path)[:80]}..."
            why = getattr(error, "strerror", None) or "a link that leads back to itself"
            raise BadInput(f"{shown}: cannot be written ({why})") from None


def write(path: Path, text: str) -> None:
    """Write a text file through a temporary file beside it, so that no half-written file is left.

    A file that is replaced keeps its permissions. Raises `BadInput` if the file cannot be written.
    """
    check_writable([path])
    target, temporary = path.resolve(), None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=target.parent, delete=False
        ) as file:
            temporary = file.name
            file.write(text)
        os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o644)
        os.replace(temporary, target)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise BadInput(f"{path}: cannot be written ({error.strerror})") from None


def remove(path: Path) -> None:
    """Remove a file; raises `BadInput` if that fails."""
    try:
        path.unlink()
    except OSError as error:
        raise BadInput(f"{path}: cannot be removed ({error.strerror})") from None
