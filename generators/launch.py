"""Reads a launch command: the configuration it resolves to, and where each value comes from."""

from __future__ import annotations

import shlex
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
# Flags that hand the decision to a file this version does not read.
_UNREAD = ("--config",)
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
    unread: str | None = None


def _number(spelling: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise BadInput(f"{spelling}: {text[:40]!r} is not a whole number") from None
    least = -1 if spelling == "--chunked-prefill-size" else 1
    if not least <= value <= _LARGEST or value == 0:
        wanted = "-1 (off) or at least 1" if least == -1 else "at least 1"
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise BadInput(
            f"{spelling}: {shown} is not accepted; it must be {wanted}, at most {_LARGEST}"
        )
    return value


def _full(spelling: str) -> str:
    """A flag as the engine reads it: an unambiguous beginning stands for the whole, as argparse has it."""
    known = [*_FIELD_OF, *_SWITCH_OF]
    if spelling in known or not spelling.startswith("--") or len(spelling) < 5:
        return spelling
    dashed = spelling.replace("_", "-")
    if dashed != spelling and dashed in known:
        raise BadInput(f"{spelling}: the engine has no such flag; it is spelled {dashed}")
    longer = {k for k in known if k.startswith(spelling)}
    fields = {_FIELD_OF.get(k) or _SWITCH_OF[k] for k in longer}
    return min(longer, key=len) if len(fields) == 1 else spelling


def _flags(command: Sequence[str]) -> dict[str, Any]:
    """The flags that are known, by field; everything else in the command is passed over."""
    given: dict[str, Any] = {}
    words = iter(command)
    for word in words:
        spelling, has_value, value = word.partition("=")
        spelling = _full(spelling)
        if spelling in _UNREAD:
            given["unread"] = spelling
        if spelling in _SWITCH_OF:
            given[_SWITCH_OF[spelling]] = True
        if spelling in _FIELD_OF:
            name = _FIELD_OF[spelling]
            if not has_value:
                value = next(words, "")
            if not value or (value.startswith("--") and not has_value):
                raise BadInput(f"{spelling}: its value is missing")
            given[name] = value if name in _TEXT else _number(spelling, value)
    return given


def _shell_commands(text: str) -> list[list[str]]:
    """The simple commands of a shell text: comments left out, split at ; & | and at ends of lines."""
    commands: list[list[str]] = [[]]
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        lexer.whitespace_split, lexer.commenters = True, "#"
        commands.append([])
        for token in lexer:
            if set(token) <= set(";&|"):
                commands.append([])
            else:
                commands[-1].append(token)
    return [command for command in commands if command]


_SHELLS = ("ash", "bash", "dash", "ksh", "sh", "zsh")


def _is_run(words: Sequence[str], i: int) -> bool:
    """Whether the word at `i` is the text of a command: all there is, or what a shell is given behind -c."""
    if len(words) == 1:
        return True
    before = [w.rsplit("/", 1)[-1] for w in words[:i]]
    return (
        bool(before)
        and before[-1].startswith("-")
        and before[-1].endswith("c")
        and any(name in _SHELLS for name in before)
    )


def _commands(words: Sequence[str]) -> list[list[str]]:
    """The commands in the words of one: those of a shell text that it runs, else the words themselves."""
    texts = [w for i, w in enumerate(words) if any(c.isspace() for c in w) and _is_run(words, i)]
    if not texts:
        return [list(words)]
    try:
        inner = [command for text in texts for command in _shell_commands(text)]
    except ValueError as error:
        raise BadInput(f"the command cannot be split into words: {error}") from None
    return [found for command in inner for found in _commands(command)]


def _starts(words: list[str], i: int) -> str | None:
    """The engine that the word at `i` starts, if it is in a place where a command stands."""
    name = words[i].rsplit("/", 1)[-1]
    follows = words[i + 1] if i + 1 < len(words) else ""
    module = i > 0 and words[i - 1] == "-m"
    if (module and name == "sglang.launch_server") or name == "launch_server.py":
        return "sglang"
    if module and name.startswith("vllm.entrypoints"):
        return "vllm"
    if name in ("sglang", "vllm") and follows == "serve" and _may_precede(words[:i]):
        return name
    return None


# Commands that run the one behind them.
_WRAPPERS = (
    *("conda", "docker", "env", "exec", "micromamba", "mpirun", "nerdctl", "nice", "nohup"),
    *("numactl", "pipx", "podman", "setsid", "srun", "stdbuf", "sudo", "taskset", "time"),
    *("timeout", "uv", "uvx", "xvfb-run"),
)
_CONTAINERS = ("docker", "nerdctl", "podman")


def _may_precede(words: list[str]) -> bool:
    """Whether these words, put before a command, run it: assignments and wrappers do."""
    rest = list(words)
    while rest and "=" in rest[0] and not rest[0].startswith("-"):
        rest.pop(0)
    if not rest:
        return True
    name = rest[0].rsplit("/", 1)[-1]
    if name in _CONTAINERS:
        return "run" in rest[1:3] or "exec" in rest[1:3]
    return name in _WRAPPERS


def _launched(command: Sequence[str]) -> tuple[str, list[str]]:
    """The engine that a command starts, and the words behind the one that starts it."""
    found = [
        (engine, words[i + 1 :])
        for words in _commands(command)
        for i in range(len(words))
        if (engine := _starts(words, i))
    ]
    if len(found) > 1:
        raise BadInput("this command starts more than one engine; give one launch at a time")
    if not found:
        raise BadInput(
            "no engine is started by this command; accepted are 'python -m sglang.launch_server ...' "
            "and 'sglang serve ...', alone or inside another command"
        )
    return found[0]


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
    engine, words = _launched(command)
    given = _flags(words)
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
        engine=engine,
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
        unread=given.get("unread"),
    )
