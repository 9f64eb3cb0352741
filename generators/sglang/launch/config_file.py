"""The settings that a launch takes from a configuration file of the engine.

The engine reads it behind `--config FILE` only; `--config=FILE` is taken for a flag like any other.
Source: SGLang 0.5.17 to 0.5.23, `server_args.py` (`prepare_server_args`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from generators.common.errors import BadInput
from generators.launch.formats import text_of
from generators.launch.formats.yaml_lists import settings_of
from generators.launch.words import Word
from generators.sglang.launch.flags import CONFIG


def with_settings(words: Sequence[Word], folder: Path) -> list[Word]:
    """The words of a launch with the settings of its file before its own flags, which win; as they are without one.

    `folder`: where a relative path of the file begins. A file that is not there or cannot be read is left alone.
    """
    at = next((i for i, word in enumerate(words[:-1]) if word.text == CONFIG), None)
    settings = None if at is None else _settings_in(folder / words[at + 1].text)
    if at is None or settings is None:
        return list(words)
    return [words[0], *settings, *words[1:at], *words[at + 2 :]]


def _settings_in(path: Path) -> list[Word] | None:
    if not os.path.isfile(path):
        return None
    try:
        return settings_of(text_of(path))
    except BadInput:
        return None
