"""The launches that `check` judges, with their places and releases: from files, folders, standard input, a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from generators.cases import codes
from generators.check.findings import Finding
from generators.check.waivers import Waiver, in_text
from generators.common.errors import MOST_BYTES, BadInput, NothingToDo
from generators.launch import formats, pinned_release
from generators.launch.commands import launches
from generators.launch.folder_walk import files_below
from generators.launch.formats import Command, Problem
from generators.launch.launch import Given, Launch, only_launched, read_words
from generators.launch.pinned_release import Pinned
from generators.launch.words import Word
from spec.engine import PACKAGES

STANDARD_INPUT = "-"
# Called with a text, the number of things done and their total.
Progress = Callable[[str, int, int], None]
COMMAND = "command"


@dataclass(frozen=True)
class Target:
    """A launch, where it stands and, if it is pinned beside it, the release that it runs on."""

    source: str
    line: int | None
    launch: Launch
    command: Command
    pinned: Pinned | None = None

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of the launch."""
        first = self.line or 0
        return first, max([first, *(word.line for word in self.command.words if word.line)])


@dataclass
class Found:
    """Everything found in what was given.

    `texts` by source, for places where something can be changed; `skipped`: files met in folders, `refused`: files
    that were named, of which neither can be read, as sentences; `unparsed`: source, line and message of findings about
    named files that are not what they should be; `places`: first and last line of each launch, one that
    cannot be read included, by source.
    """

    targets: list[Target] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    waivers: list[Waiver] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unparsed: set[tuple[str, int | None, str]] = field(default_factory=set)
    places: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _pinned: dict[tuple[str, Path], Pinned | None] = field(default_factory=dict)

    def pinned(self, engine: str, command: Command, folder: Path | None) -> Pinned | None:
        """The release of a modelled engine: of the container image, else pinned in the folder, which is looked at once."""
        if engine not in PACKAGES:
            return None
        for image in (command.image, *(word.text for word in command.words)):
            if (found := pinned_release.of_image(engine, image)) is not None:
                return found
        if folder is None:
            return None
        if (engine, folder) not in self._pinned:
            self._pinned[engine, folder] = pinned_release.beside(engine, folder)
        return self._pinned[engine, folder]


@dataclass(frozen=True)
class LaunchReader:
    """How launches are read: values that stand beside them, by engine and field, and the model's config.json."""

    given: Given = field(default_factory=dict)
    config: Path | None = None

    def of_command(self, words: Sequence[str], found: Found) -> None:
        """The one launch of a command given after `--`."""
        command = Command(COMMAND, 0, tuple(Word(text) for text in words))
        launch = self._launch(*only_launched(command.words), Path())
        pinned = found.pinned(launch.engine, command, None)
        found.targets.append(Target(COMMAND, None, launch, command, pinned))

    def of_paths(
        self, paths: Sequence[Path], found: Found, progress: Progress | None = None
    ) -> None:
        """The launches in files; a named file that cannot be read is refused, one met in a folder passed over.

        `progress` is called with the name of each file of a folder, how many were read and how many there are.
        """
        for path in paths:
            if str(path) == STANDARD_INPUT:
                if STANDARD_INPUT not in found.texts:
                    self._of_text(STANDARD_INPUT, _standard_input(), Path(), None, found)
            elif os.path.isdir(path):
                files = list(files_below(path))
                for number, file in enumerate(files):
                    if progress is not None:
                        progress(str(file), number, len(files))
                    self._of_file(file, found, found.skipped)
            else:
                self._of_file(path, found, found.refused)

    def _of_file(self, path: Path, found: Found, unread: list[str]) -> None:
        """The launches in a file, once however often it is given; why it cannot be read goes to `unread`."""
        if str(path) in found.texts:
            return
        try:
            text = formats.text_of(path)
        except BadInput as error:
            unread.append(str(error))
            return
        self._of_text(str(path), text, path, path.parent, found, unread is found.refused)

    def _of_text(
        self,
        source: str,
        text: str,
        path: Path,
        folder: Path | None,
        found: Found,
        is_named: bool = True,
    ) -> None:
        waivers, wrong = in_text(source, text)
        found.waivers += waivers
        found.findings += wrong
        found.texts[source] = text
        found.places[source] = []
        for item in formats.items(source, text, path):
            if isinstance(item, Problem):
                _malformed(source, item.line, item.message, found)
                if item.of_all and is_named:
                    found.unparsed.add((source, item.line, item.message))
            else:
                self._of_item(item, folder, found)

    def _launch(
        self, engine: str, words: Sequence[Word], folder: Path, resolved: bool = False
    ) -> Launch:
        return read_words(
            engine, words, given=self.given, config=self.config, folder=folder, resolved=resolved
        )

    def _of_item(self, command: Command, folder: Path | None, found: Found) -> None:
        try:
            for engine, words in _launched(command):
                pinned = found.pinned(engine, command, folder)
                launch = self._launch(engine, words, folder or Path(), command.resolved)
                line = next((w.line for w in words if w.line), command.line)
                target = Target(command.source, line, launch, command, pinned)
                found.targets.append(target)
                found.places[command.source].append(target.lines)
        except BadInput as error:
            _malformed(command.source, command.line, str(error), found)


def _launched(command: Command) -> Iterator[tuple[str, Sequence[Word]]]:
    if command.engine:
        yield command.engine, command.words
    else:
        yield from launches(command.words)


def _malformed(source: str, line: int | None, message: str, found: Found) -> None:
    """Enter what cannot be read of a file."""
    code = codes.MALFORMED
    found.findings.append(Finding(code, code.severity, "-", message, source, line))
    found.places[source].append((line or 0, line or 0))


def _standard_input() -> str:
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    except (OSError, AttributeError):
        raise NothingToDo("standard input cannot be read") from None
    return formats.plain_text(data, "standard input")
