"""Prints results to stdout, progress and notes to stderr; in colors if the terminal and NO_COLOR allow it."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Columns of a table that goes to a file or to another program, which have no width.
PIPED_WIDTH = 200
_COLORS = {"auto": None, "always": True, "never": False}


def _console_class() -> Any:
    from rich.console import Console

    class Lasting(Console):
        """A console that ends the program with its usual exit code if nobody reads its output any more."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    return Lasting


class Output:
    """Where a command prints: `results` to stdout, `notes` to stderr."""

    def __init__(self, color: str = "auto"):
        for stream in (sys.stdout, sys.stderr):
            # A name with characters that the encoding lacks is shown with escapes.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        console = _console_class()
        forced = _COLORS[color]
        options: dict[str, Any] = {"highlight": False, "soft_wrap": True}
        if forced is not None:
            options |= {"force_terminal": forced or None, "no_color": not forced}
        self.results = console(**options)
        self.notes = console(stderr=True, **options)
        if not self.results.is_terminal:
            self.results.width = PIPED_WIDTH

    def line(self, text: str = "") -> None:
        """One line of results."""
        self.results.print(text, markup=False)

    def rich(self, text: Any) -> None:
        """One line of results with markup, or a table."""
        self.results.print(text)

    def note(self, text: str) -> None:
        """One line on stderr."""
        self.notes.print(text, markup=False, style="dim")

    def raw(self, text: str) -> None:
        """Machine-readable results, unchanged."""
        try:
            self.results.file.write(text)
            self.results.file.flush()
        except BrokenPipeError:
            self.results.on_broken_pipe()


@contextmanager
def progress(output: Output, title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr that appears after one second of work.

    Call what it yields with a text, the number of items done and their total.
    """
    started, bar = time.monotonic(), None

    def update(text: str, done: int, total: int) -> None:
        nonlocal bar
        if bar is None and output.notes.is_terminal and time.monotonic() - started > 1:
            bar = _bar(output, title)
        if bar is not None:
            bar.update(bar.task_ids[0], description=text, completed=done, total=max(total, 1))

    try:
        yield update
    finally:
        if bar is not None:
            bar.stop()


def _bar(output: Output, title: str) -> Any:
    """A bar that is shown, with one task."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(title, markup=False),
        BarColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=output.notes, transient=True)
    bar.add_task("", total=1)
    bar.start()
    return bar
