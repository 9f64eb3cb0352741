"""Finds the engine that a command starts, alone or inside other commands, and the words behind it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from generators import engines
from generators.common.errors import BadInput
from generators.launch import shell
from generators.launch.words import TEMPLATE, Word

# Engines that are not modelled: modules behind `-m`, and commands with the subcommand that starts them.
_OTHER_MODULES = {
    "dynamo.vllm": "vllm",
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "dynamo.trtllm": "tensorrt-llm",
    "lmdeploy.serve.openai.api_server": "lmdeploy",
}
_OTHER_COMMANDS = {
    ("vllm", "serve"): "vllm",
    ("lmdeploy", "serve"): "lmdeploy",
    ("trtllm-serve", None): "tensorrt-llm",
}
_SHELLS = ("ash", "bash", "dash", "ksh", "sh", "zsh")
# Commands that run the one behind them.
_WRAPPERS = (
    *("conda", "docker", "env", "eval", "exec", "micromamba", "mpirun", "nerdctl", "nice", "nohup"),
    *("numactl", "pipx", "podman", "setsid", "srun", "stdbuf", "sudo", "taskset", "time"),
    *("timeout", "uv", "uvx", "xvfb-run"),
)
# Commands that hand a text with spaces to a shell, on this machine or on another.
_TEXT_RUNNERS = ("clush", "eval", "parallel", "pdsh", "screen", "ssh", "su", "tmux", "watch")
# What stands between the words of a command as a file writes it.
_BETWEEN_WORDS = re.compile(r"[\s'\",\[\](){}]+")
_CONTAINERS = ("docker", "nerdctl", "podman")


@dataclass
class _Starts:
    """What starts an engine: modules behind `-m`, commands with a subcommand, scripts; the value is the engine."""

    modules: dict[str, str]
    commands: dict[tuple[str, str | None], str]
    scripts: dict[str, str]

    @functools.cached_property
    def names(self) -> re.Pattern[str]:
        """A quick look: every name that can stand before or in one of them."""
        roots = (name.partition(".")[0] for name in (*self.modules, *self.scripts))
        commands = (command for command, _ in self.commands)
        return re.compile("|".join(map(re.escape, dict.fromkeys((*roots, *commands)))))


@functools.cache
def _starts_of(modelled: tuple[engines.Engine, ...]) -> _Starts:
    parts = [(engine.name, engine.launch) for engine in modelled]
    names = {name for name, _ in parts}
    modules = {k: v for k, v in _OTHER_MODULES.items() if v not in names}
    commands = {k: v for k, v in _OTHER_COMMANDS.items() if v not in names}
    return _Starts(
        modules | {module: name for name, part in parts for module in part.modules},
        commands | {command: name for name, part in parts for command in part.commands},
        {script: name for name, part in parts for script in part.scripts},
    )


def _starts() -> _Starts:
    return _starts_of(engines.engines())


def ways_to_start() -> str:
    """The ways to start a modelled engine, for a message."""
    parts = [engine.launch for engine in engines.engines()]
    modules = (f"'python -m {part.modules[0]} ...'" for part in parts if part.modules)
    commands = (
        f"'{' '.join(filter(None, part.commands[0]))} ...'" for part in parts if part.commands
    )
    return " and ".join((*modules, *commands))


def mentions_an_engine(text: str) -> bool:
    """Whether a text can hold a command that starts an engine."""
    return _starts().names.search(text) is not None


def may_hold_a_launch(text: str) -> bool:
    """A quick look whether a file is worth reading: it names an engine, or what only an engine's flags have."""
    hints = (hint for engine in engines.engines() for hint in engine.launch.hints)
    return re.search("|".join((_starts().names.pattern, *hints)), text) is not None


def engine_called(name: str) -> str | None:
    """The engine that a call of this dotted name starts in the process that makes it."""
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    for engine in engines.engines():
        part = engine.launch
        if last in part.calls and any(root == m.partition(".")[0] for m in part.modules):
            return engine.name
    return None


def engine_of_flags(words: Sequence[Word]) -> str | None:
    """The engine whose flags these words are, without the word that starts it; None where they are no flags alone."""
    return next((e.name for e in engines.engines() if e.launch.only_flags(words)), None)


def engine_named_in(key: str) -> str | None:
    """The engine whose name a key of a settings file begins with, as in `sglang_config`."""
    return next((e.name for e in engines.engines() if re.match(rf"{e.name}(?![a-z])", key)), None)


def are_settings_of(name: str, words: Sequence[Word]) -> bool:
    """Whether most flags among the words of a settings file, of several, are an engine's."""
    has_flag = engines.engine(name).launch.has_flag
    given = [word.text.partition("=")[0] for word in words if word.text.startswith("--")]
    known = sum(map(has_flag, given))
    return known >= 2 and 2 * known > len(given)


def engine_of_flag(flags: Iterable[str]) -> str | None:
    """The engine that alone has one of these flags."""
    flags = tuple(flags)
    return next((e.name for e in engines.engines() if any(map(e.launch.is_its_own, flags))), None)


def _shell_commands(word: Word) -> list[list[Word]]:
    """The simple commands of the shell text in a word; an unclosed quote in it is refused."""
    commands = []
    for piece in shell.split(word.text):
        if isinstance(piece, list):
            commands.append([_inside(word, inner) for inner in piece])
        elif isinstance(piece, shell.Unclosed) and is_started_in(piece.text):
            raise BadInput(
                f"the command cannot be split into words: a {piece.mark} is never closed"
            )
    return commands


def _inside(outer: Word, inner: Word) -> Word:
    line = None if outer.line is None else outer.line + (inner.line or 1) - 1
    return replace(inner, line=line, column=None, span=None)


def _texts(words: Sequence[Word]) -> Iterator[Word]:
    """The words that are the text of a command.

    It is the only word there is, what a shell is given behind -c, or what a command is given that hands texts to a shell.
    """
    in_shell, runs_texts, before = False, False, ""
    for word in words:
        is_run = (
            len(words) == 1
            or (in_shell and before.startswith("-") and before.endswith("c"))
            or (runs_texts and mentions_an_engine(word.text))
        )
        if is_run and any(c.isspace() for c in word.text):
            yield word
        before = word.text.rsplit("/", 1)[-1]
        in_shell = in_shell or before in _SHELLS
        runs_texts = runs_texts or before in _TEXT_RUNNERS


def _commands(words: Sequence[Word], depth: int = 0) -> list[list[Word]]:
    """The commands in the words of one: those of a shell text that it runs, else the words themselves."""
    texts = list(_texts(words))
    if not texts or depth > 5:
        return [list(words)]
    inner = [command for text in texts for command in _shell_commands(text)]
    return [found for command in inner for found in _commands(command, depth + 1)]


def _started(words: Sequence[Word]) -> Iterator[tuple[str, int]]:
    """The engines that a command starts, and the place of the word that starts each."""
    runs_others, first = _first(words)
    starts = _starts()
    for i, word in enumerate(words):
        name = word.text.rsplit("/", 1)[-1]
        follows = words[i + 1].text if i + 1 < len(words) else None
        if name in starts.scripts and (i <= first or _is_python(words[:i])):
            yield starts.scripts[name], i
        elif i > 0 and words[i - 1].text == "-m":
            if name in starts.modules:
                yield starts.modules[name], i
        elif i <= first or runs_others:
            engine = starts.commands.get((name, follows)) or starts.commands.get((name, None))
            if engine:
                yield engine, i


def _is_python(before: Sequence[Word]) -> bool:
    """Whether the words before a script run it: a Python, perhaps with options."""
    names = (word.text.rsplit("/", 1)[-1] for word in reversed(before))
    name = next((name for name in names if not name.startswith("-")), "")
    return name.startswith(("python", "torchrun", "uv")) or name == TEMPLATE


def _first(words: Sequence[Word]) -> tuple[bool, int]:
    """The first word behind assignments, and whether it is a command that runs the one behind it."""
    first = 0
    while first < len(words) - 1 and _is_assignment(words[first].text):
        first += 1
    name, *others = (word.text.rsplit("/", 1)[-1] for word in words[first : first + 3])
    runs = "run" in others or "exec" in others if name in _CONTAINERS else name in _WRAPPERS
    return runs, first


def _is_assignment(text: str) -> bool:
    return "=" in text and not text.startswith("-")


def has_launch(words: Sequence[Word]) -> bool:
    """Whether a word among these starts an engine."""
    return bool(words) and any(_started(words))


def is_started_in(text: str) -> bool:
    """Whether a line of a text holds words that start an engine, whatever the text is."""
    return any(
        has_launch([Word(word) for word in _BETWEEN_WORDS.split(line) if word])
        for line in text.splitlines()
        if mentions_an_engine(line)
    )


def launches(words: Sequence[Word]) -> list[tuple[str, list[Word]]]:
    """The engines that a command starts, one a simple command, with its words from the one that starts it on."""
    found = []
    for command in _commands(words):
        if command and (started := next(_started(command), None)):
            found.append((started[0], command[started[1] :]))
    return found
