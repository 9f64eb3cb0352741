"""Reads a launch command: the configuration it resolves to, and where each value comes from."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from generators.errors import BadInput
from spec.sglang.configuration import STRATEGIES, Configuration

# The flags that decide about checkpoints, by field; the first spelling is the engine's own.
FLAGS: dict[str, tuple[str, ...]] = {
    "page_size": ("--page-size",),
    "dcp_size": ("--dcp-size", "--decode-context-parallel-size", "--dcp"),
    "tp_size": ("--tp-size", "--tensor-parallel-size", "--tp"),
    "mamba_track_interval": ("--mamba-track-interval",),
    "mamba_radix_cache_strategy": ("--mamba-radix-cache-strategy", "--mamba-scheduler-strategy"),
    "chunked_prefill_size": ("--chunked-prefill-size",),
    "context_length": ("--context-length",),
    "speculative_algorithm": ("--speculative-algorithm", "--speculative-algo"),
    "speculative_num_draft_tokens": ("--speculative-num-draft-tokens",),
    "speculative_num_steps": ("--speculative-num-steps",),
    "speculative_dspark_block_size": ("--speculative-dspark-block-size",),
    "speculative_dflash_block_size": ("--speculative-dflash-block-size",),
    "model_path": ("--model-path", "--model"),
}
SWITCHES: dict[str, tuple[str, ...]] = {
    "disable_radix_cache": ("--disable-radix-cache",),
    "disable_overlap_schedule": ("--disable-overlap-schedule",),
}
_TEXT = ("speculative_algorithm", "model_path", "mamba_radix_cache_strategy")
_FIELD_OF = {spelling: name for name, spellings in FLAGS.items() for spelling in spellings}
_SWITCH_OF = {spelling: name for name, spellings in SWITCHES.items() for spelling in spellings}
_LARGEST = 1 << 31


@dataclass(frozen=True)
class Launch:
    """A launch command as far as checkpoints are concerned."""

    engine: str
    model: str | None
    configuration: Configuration
    sources: dict[str, str]
    context_length: int | None
    radix_cache: bool


def _number(spelling: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise BadInput(f"{spelling}: {text!r} is not a whole number") from None
    least = -1 if spelling == "--chunked-prefill-size" else 1
    if not least <= value <= _LARGEST or value == 0:
        wanted = "-1 (off) or at least 1" if least == -1 else "at least 1"
        raise BadInput(f"{spelling}: {value} is not accepted; it must be {wanted}")
    return value


def _flags(command: Sequence[str]) -> dict[str, Any]:
    """The flags that are known, by field; everything else in the command is passed over."""
    given: dict[str, Any] = {}
    words = iter(command)
    for word in words:
        spelling, has_value, value = word.partition("=")
        if spelling in _SWITCH_OF:
            given[_SWITCH_OF[spelling]] = True
        elif spelling in _FIELD_OF:
            name = _FIELD_OF[spelling]
            if not has_value:
                value = next(words, "")
            if not value or (value.startswith("--") and not has_value):
                raise BadInput(f"{spelling}: its value is missing")
            given[name] = value if name in _TEXT else _number(spelling, value)
    return given


def _engine(command: Sequence[str]) -> str:
    text = " ".join(command[:6])
    if "vllm" in text:
        return "vllm"
    return "sglang"


def models() -> list[dict[str, Any]]:
    """The model table: patterns, chunks (tokens) and the pages (tokens) that backends set."""
    text = resources.files("generators").joinpath("models.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["model"]


def _model_facts(model: str | None) -> dict[str, Any]:
    for entry in models():
        if model and entry["pattern"] in model.lower():
            return entry
    return {}


def _draft_tokens(given: dict[str, Any]) -> tuple[int, str]:
    """Tokens of a verify step, as the engine resolves them from block sizes and steps."""
    if given.get("speculative_algorithm", "").upper() in ("", "NONE"):
        return 0, "default"
    if "speculative_num_draft_tokens" in given:
        return given["speculative_num_draft_tokens"], "flag"
    if "speculative_dspark_block_size" in given:
        return given["speculative_dspark_block_size"] + 1, "flag"
    if "speculative_dflash_block_size" in given:
        return given["speculative_dflash_block_size"], "flag"
    if "speculative_num_steps" in given:
        return given["speculative_num_steps"] + 1, "flag"
    return 8, "assumed"


def _strategy(given: dict[str, Any], overlap: bool, page: int) -> tuple[str, str]:
    named = given.get("mamba_radix_cache_strategy", "auto")
    if named == "auto":
        buffered = overlap or ("page_size" in given and page > 1)
        source = "flag" if "mamba_radix_cache_strategy" in given else "default"
        return ("extra_buffer" if buffered else "no_buffer"), source
    if named not in STRATEGIES:
        raise BadInput(
            f"--mamba-radix-cache-strategy: {named!r} is not known; accepted are auto, "
            + ", ".join(STRATEGIES)
        )
    return named, "flag"


def read_launch(command: Sequence[str]) -> Launch:
    """The configuration that a launch command resolves to; `BadInput` for a value no engine would take."""
    if not command:
        raise BadInput("no command after '--'")
    given = _flags(command)
    facts = _model_facts(given.get("model_path"))
    defaults, sources = Configuration(), {}

    def pick(name: str, default: Any) -> Any:
        if name in given:
            sources[name] = "flag"
            return given[name]
        if name in facts:
            sources[name] = "model table"
            return facts[name]
        sources[name] = "default"
        return default

    page = pick("page_size", defaults.page_size)
    dcp = pick("dcp_size", defaults.dcp_size)
    interval = pick("mamba_track_interval", defaults.mamba_track_interval)
    chunked = pick("chunked_prefill_size", defaults.chunked_prefill_size)
    chunk = pick("mamba_chunk_size", defaults.mamba_chunk_size)
    recurrence = pick("recurrence", defaults.recurrence)
    if "mamba_chunk_size" not in facts:
        sources["mamba_chunk_size"] = "assumed"
    overlap = not given.get("disable_overlap_schedule", False)
    sources["overlap"] = "default" if overlap else "flag"
    strategy, sources["strategy"] = _strategy(given, overlap, page)
    draft, sources["speculative_num_draft_tokens"] = _draft_tokens(given)
    algorithm = given.get("speculative_algorithm", "").upper() if draft else None
    sources["speculative_algorithm"] = "flag" if draft else "default"
    return Launch(
        engine=_engine(command),
        model=given.get("model_path"),
        configuration=Configuration(
            page_size=page,
            dcp_size=dcp,
            mamba_track_interval=interval,
            speculative_num_draft_tokens=draft,
            speculative_algorithm=algorithm,
            chunked_prefill_size=chunked,
            strategy=strategy,
            overlap=overlap and strategy != "no_buffer",
            mamba_chunk_size=chunk,
            recurrence=recurrence,
            page_size_given="page_size" in given,
            tp_size=given.get("tp_size"),
        ),
        sources=sources,
        context_length=given.get("context_length"),
        radix_cache=not given.get("disable_radix_cache", False),
    )
