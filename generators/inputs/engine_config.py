"""The settings that a launch takes from a configuration file of the engine (`--config FILE`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from generators.errors import BadInput
from generators.inputs import text_of
from generators.inputs.yaml_lists import settings_of
from generators.words import Word

_FLAG = "--config"


def with_settings(words: Sequence[Word], folder: Path) -> list[Word]:
    """The words of a launch with the settings of its file before its own flags, which win; as they are without one.

    `folder`: where a relative path of the file begins. A file that is not there or cannot be read is left alone.
    """
    at = next((i for i, word in enumerate(words) if word.text.partition("=")[0] == _FLAG), None)
    if at is None:
        return list(words)
    name, taken = words[at].text.partition("=")[2], 1
    if not name and at + 1 < len(words):
        name, taken = words[at + 1].text, 2
    settings = _settings_in(folder / name) if name else None
    if settings is None:
        return list(words)
    return [words[0], *settings, *words[1:at], *words[at + taken :]]


def _settings_in(path: Path) -> list[Word] | None:
    if not os.path.isfile(path):
        return None
    try:
        return settings_of(text_of(path))
    except BadInput:
        return None
