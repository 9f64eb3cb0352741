"""What `check` is asked to judge: launches with their places and releases, from files, folders, standard input, a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generators import codes, inputs
from generators.check import Finding
from generators.commands import launches
from generators.errors import BadInput, NothingToDo
from generators.inputs import Command, Problem, releases
from generators.inputs.engine_config import with_settings
from generators.inputs.releases import Pinned
from generators.inputs.walk import files_below
from generators.launch import Launch, only_launched, read_words
from generators.waivers import Waiver, in_text
from generators.words import Word

STANDARD_INPUT = "-"
COMMAND = "command"


@dataclass(frozen=True)
class Target:
    """A launch, where it stands and, if anything beside it says so, the release that it runs on."""

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
    """Everything found in what was given; `texts` by source, for places where something can be changed."""

    targets: list[Target] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    waivers: list[Waiver] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    _pinned: dict[Path, Pinned | None] = field(default_factory=dict)

    def pinned(self, image: str | None, folder: Path | None) -> Pinned | None:
        """The release of a container image, else the one pinned in a folder, each of which is looked at once."""
        if (found := releases.of_image(image)) is not None or folder is None:
            return found
        if folder not in self._pinned:
            self._pinned[folder] = releases.beside(folder)
        return self._pinned[folder]


@dataclass(frozen=True)
class Reader:
    """How launches are read: values told apart from them, the model's config.json."""

    told: Mapping[str, Any] = field(default_factory=dict)
    config: Path | None = None

    def of_command(self, words: Sequence[str], found: Found) -> None:
        """The one launch of a command given after `--`."""
        command = Command(COMMAND, 0, tuple(Word(text) for text in words))
        launch = self._launch(*only_launched(command.words), Path())
        found.targets.append(Target(COMMAND, None, launch, command))

    def of_paths(self, paths: Sequence[Path], found: Found) -> None:
        """The launches in files; a named file that cannot be read is refused, one met in a folder passed over."""
        for path in paths:
            if str(path) == STANDARD_INPUT:
                self._of_text(STANDARD_INPUT, _standard_input(), Path(), None, found)
            elif os.path.isdir(path):
                for file in files_below(path):
                    self._of_met_file(file, found)
            else:
                self._of_text(str(path), inputs.text_of(path), path, path.parent, found)

    def _of_met_file(self, path: Path, found: Found) -> None:
        try:
            text = inputs.text_of(path)
        except BadInput as error:
            found.skipped.append(str(error))
            return
        self._of_text(str(path), text, path, path.parent, found)

    def _of_text(
        self, source: str, text: str, path: Path, folder: Path | None, found: Found
    ) -> None:
        waivers, wrong = in_text(source, text)
        found.waivers += waivers
        found.findings += wrong
        found.texts[source] = text
        for item in inputs.items(source, text, path):
            if isinstance(item, Problem):
                found.findings.append(_malformed(source, item.line, item.message))
            else:
                self._of_item(item, folder, found)

    def _launch(
        self, engine: str, words: Sequence[Word], folder: Path, resolved: bool = False
    ) -> Launch:
        words = with_settings(words, folder)
        return read_words(engine, words, told=self.told, config=self.config, resolved=resolved)

    def _of_item(self, command: Command, folder: Path | None, found: Found) -> None:
        pinned = found.pinned(command.image, folder)
        try:
            for engine, words in _launched(command):
                launch = self._launch(engine, words, folder or Path(), command.resolved)
                line = next((w.line for w in words if w.line), command.line)
                found.targets.append(Target(command.source, line, launch, command, pinned))
        except BadInput as error:
            found.findings.append(_malformed(command.source, command.line, str(error)))


def _launched(command: Command) -> Iterator[tuple[str, Sequence[Word]]]:
    if command.engine:
        yield command.engine, command.words
    else:
        yield from launches(command.words)


def _malformed(source: str, line: int | None, message: str) -> Finding:
    return Finding(codes.MALFORMED, codes.MALFORMED.severity, "-", message, source, line)


def _standard_input() -> str:
    try:
        data = sys.stdin.buffer.read(inputs.LARGEST + 1)
    except (OSError, AttributeError):
        raise NothingToDo("standard input cannot be read") from None
    return inputs.plain_text(data, "standard input")
