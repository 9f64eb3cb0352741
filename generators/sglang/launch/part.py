"""What reading a launch of SGLang takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.engines import Launching
from generators.launch.formats.base import Format
from generators.launch.launch import Launch
from generators.launch.words import Word
from generators.sglang.launch import flags, platforms, resolve


class _Launching(Launching):
    modules = ("sglang.launch_server", "sglang_router.launch_server", "dynamo.sglang")
    commands = (("sglang", "serve"),)
    scripts = ("launch_server.py",)
    calls = ("Engine", "ServerArgs")
    hints = (
        *("server_args=", "page[-_]size", "dcp[-_]size", "mamba[-_]", "chunked[-_]prefill"),
        *("radix[-_]cache", "disable[-_]overlap", "mem[-_]fraction", "draft[-_]tokens"),
    )
    settable = resolve.SETTABLE
    value_of = staticmethod(resolve.value_of)
    field_of = staticmethod(flags.field_of)
    has_flag = staticmethod(flags.has_flag)
    is_its_own = staticmethod(flags.is_sglang_only)
    only_flags = staticmethod(flags.only_flags)
    resolve = staticmethod(resolve.resolve)

    @property
    def formats(self) -> Sequence[Format]:
        from generators.sglang.launch.start_log import StartLog

        return (StartLog(),)

    def possibilities(self, design: Any, launch: Launch) -> Sequence[tuple[Launch, str | None]]:
        return resolve.possibilities(launch, design.release)

    def given_by_image(self, image: str) -> Mapping[str, Any]:
        gpu = platforms.of_image(image)
        return {} if gpu is None else {"gpu": gpu}

    def with_files(self, words: Sequence[Word], folder: Path) -> Sequence[Word]:
        if not any(word.text == flags.CONFIG for word in words):
            return words
        from generators.sglang.launch.config_file import with_settings

        return with_settings(words, folder)


PART = _Launching()
