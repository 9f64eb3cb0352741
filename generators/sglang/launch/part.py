"""What reading a launch of SGLang takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.engines import Launching
from generators.launch.formats.base import Format
from generators.launch.launch import Launch
from generators.launch.words import Word
from generators.sglang.launch import flags, resolve
from generators.sglang.launch.config_file import with_settings
from generators.sglang.launch.start_log import StartLog


class _Launching(Launching):
    modules = ("sglang.launch_server", "sglang_router.launch_server", "dynamo.sglang")
    commands = (("sglang", "serve"),)
    scripts = ("launch_server.py",)
    hints = (
        *("server_args=", "page[-_]size", "dcp[-_]size", "mamba[-_]", "chunked[-_]prefill"),
        *("radix[-_]cache", "disable[-_]overlap", "mem[-_]fraction", "draft[-_]tokens"),
    )
    settable = resolve.SETTABLE

    @property
    def formats(self) -> Sequence[Format]:
        return (StartLog(),)

    def resolve(
        self,
        words: Sequence[Word],
        *,
        given: Mapping[str, Any],
        config: Path | None = None,
        resolved: bool = False,
    ) -> Launch:
        return resolve.resolve(words, given=given, config=config, resolved=resolved)

    def with_files(self, words: Sequence[Word], folder: Path) -> Sequence[Word]:
        return with_settings(words, folder)

    def value_of(self, name: str, text: str) -> Any:
        return resolve.value_of(name, text)

    def field_of(self, flag: str) -> str:
        return flags.field_of(flag)

    def is_its_own(self, flag: str) -> bool:
        return flags.is_sglang_only(flag)

    def only_flags(self, words: Sequence[Word]) -> bool:
        return flags.only_flags(words)


PART = _Launching()
