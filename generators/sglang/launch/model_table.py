"""The architectures that each release can serve, read off its package: which keep recurrent states, and how.

`python -m generators.sglang.launch.model_table PACKAGE...` writes `architectures.toml` from the folders `sglang` of
installed releases.  Nothing of the package is imported: its source is parsed.
Source: SGLang 0.5.17 to 0.5.23, `srt/models/*.py` (`EntryClass`), `srt/configs/hybrid_arch.py`,
`srt/configs/linear_attn_model_registry.py`, `srt/arg_groups/overrides.py` (`_MAMBA_*_ARCHS`).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("architectures.toml")
_HEAD = """\
# The architectures of SGLang's releases, written by `python -m generators.sglang.launch.model_table`; not edited.
# since: the first modelled release that has it; recurrence: null where its config decides; mamba_chunk_size (tokens):
# left out where a config.json can give it, chunk_default is then what its class has without one;
# extra_buffer = false: its states are kept without extra buffers; by_config = true: only some of its models have
# recurrent layers.
"""
_RECURRENCES = {
    "hybrid_gdn_config": "gdn",
    "kimi_linear_config": "kda",
    "hybrid_kda_config": "kda",
    "glm5_next_config": "kda",
    "mamba2_config": "mamba2",
    "hybrid_lightning_config": "lightning",
}
# Tokens; the engine's, for a config whose class has no chunk of its own.
_ENGINE_CHUNK = 64
# Only some models of these have recurrent layers.
_BY_CONFIG = ("GraniteMoeHybridForCausalLM", "MiniCPMForCausalLM")
# What a release adds behind an architecture for its draft model.
_DRAFT = re.compile(r"(MTP|NextN|Eagle3?|DSpark|DraftModel|DSparkModel)$")


@dataclass(frozen=True)
class Architecture:
    """An architecture of one release: whether it keeps recurrent states, and what is known of them.

    `chunk`: tokens, None where a config.json can give it; `chunk_default`: tokens, what its class has without one.
    """

    name: str
    recurrent: bool
    recurrence: str | None = None
    chunk: int | None = None
    chunk_default: int | None = None
    extra_buffer: bool = False
    by_config: bool = False


@dataclass(frozen=True)
class _Module:
    """A module of models: its architectures, the names it imports, and the modules of models among those."""

    architectures: tuple[str, ...]
    names: frozenset[str]
    others: tuple[str, ...]


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8-sig"))


def _assigned(tree: ast.Module, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]


def _texts(node: ast.AST) -> set[str]:
    return {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def _names(node: ast.AST) -> list[str]:
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]


def _module(path: Path) -> _Module:
    tree = _parsed(path)
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module]
    return _Module(
        tuple(name for value in _assigned(tree, "EntryClass") for name in _names(value)),
        frozenset(alias.name for node in imports for alias in node.names),
        tuple(
            (node.module or "").rpartition(".")[2]
            for node in imports
            if (node.module or "").startswith("sglang.srt.models.")
        ),
    )


def _recurrences(srt: Path) -> dict[str, set[str]]:
    """The recurrences of each class of configurations that keeps recurrent states."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(_parsed(srt / "configs" / "hybrid_arch.py")):
        if isinstance(node, ast.FunctionDef) and node.name in _RECURRENCES:
            for name in _names(node):
                if name.endswith("Config") and name != "ModelConfig":
                    found.setdefault(name, set()).add(_RECURRENCES[node.name])
    return found


def _chunks(srt: Path) -> dict[str, int | None]:
    """The chunk (tokens) that a class of configurations has without one in its file; None where none can stand there."""
    found: dict[str, int | None] = {}
    for path in sorted((srt / "configs").glob("*.py")):
        tree = _parsed(path)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                given = _chunk_of(node, tree)
                if given is not None:
                    found[node.name] = given
    return found


def _chunk_of(node: ast.ClassDef, tree: ast.Module) -> int | None:
    """The default of a parameter of `__init__` that gives the chunk."""
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            plain = method.args.args[len(method.args.args) - len(method.args.defaults) :]
            pairs = [
                *zip(plain, method.args.defaults, strict=True),
                *zip(method.args.kwonlyargs, method.args.kw_defaults, strict=True),
            ]
            for argument, default in pairs:
                if argument.arg in ("mamba_chunk_size", "chunk_size") and default is not None:
                    if isinstance(default, ast.Constant) and isinstance(default.value, int):
                        return default.value
                    named = _assigned(tree, "DEFAULT_MAMBA_CHUNK_SIZE")
                    for value in named:
                        if isinstance(value, ast.Constant) and isinstance(value.value, int):
                            return value.value
    return None


def _registered(srt: Path) -> dict[str, tuple[str, bool]]:
    """The architectures that register themselves: the recurrence of their backend, and whether it has extra buffers."""
    found = {}
    for path in sorted((srt / "configs").glob("*.py")):
        for node in ast.walk(_parsed(path)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "register_linear_attn_model"
                and node.args
                and isinstance(node.args[0], ast.Call)
            ):
                given = {word.arg: word.value for word in node.args[0].keywords}
                backend = " ".join(_texts(given["backend_class_name"]))
                recurrence = next((r for r in ("gdn", "kda", "lightning") if r in backend), "")
                buffered = given.get("support_mamba_cache_extra_buffer")
                has = isinstance(buffered, ast.Constant) and buffered.value is True
                for name in _texts(given["arch_names"]) if "arch_names" in given else ():
                    found[name] = recurrence, has
    return found


def _configs(name: str, modules: Mapping[str, _Module], known: Iterable[str]) -> set[str]:
    """The recurrent configurations that the module of an architecture uses, itself or by the nearest modules it builds on."""
    wanted = set(known)
    level = [at for at, module in modules.items() if name in module.architectures]
    seen: set[str] = set()
    while level:
        found = {n for at in level for n in modules[at].names & wanted}
        if found:
            return found
        seen |= set(level)
        level = [
            other
            for at in level
            for other in modules[at].others
            if other in modules and other not in seen
        ]
    return set()


def architectures(package: Path) -> Iterator[Architecture]:
    """What an installed release can serve, by name; drafts of other models are left out."""
    srt = package / "srt"
    modules = {path.stem: _module(path) for path in sorted((srt / "models").glob("*.py"))}
    overrides = _parsed(srt / "arg_groups" / "overrides.py")
    cached = {
        text for value in _assigned(overrides, "_MAMBA_RADIX_CACHE_ARCHS") for text in _texts(value)
    }
    buffered = {
        text
        for value in _assigned(overrides, "_MAMBA_EXTRA_BUFFER_ARCHS")
        for text in _texts(value)
    }
    recurrences, chunks, registered = _recurrences(srt), _chunks(srt), _registered(srt)
    stems = {name.removesuffix("Config") for name in recurrences}
    for name in sorted({a for module in modules.values() for a in module.architectures}):
        if _DRAFT.search(name):
            continue
        if name in registered:
            recurrence, has = registered[name]
            yield Architecture(name, True, recurrence or None, _ENGINE_CHUNK, extra_buffer=has)
            continue
        own = {f"{s}Config" for s in stems if name.removesuffix("ForCausalLM") == s}
        own |= {f"{s}Config" for s in stems if name.removesuffix("ForConditionalGeneration") == s}
        listed = name in cached or name in buffered
        direct = next(m for m in modules.values() if name in m.architectures)
        if not (listed or own or direct.names & set(recurrences)):
            yield Architecture(name, False)
            continue
        configs = own or _configs(name, modules, recurrences)
        given = sorted({chunks[c] for c in configs if chunks.get(c) is not None}, key=str)
        kinds = {kind for c in configs for kind in recurrences[c]}
        # Of Mamba2's family, those without a chunk are short convolutions, or have it in their text config.
        of_mamba2 = "mamba2" in kinds
        yield Architecture(
            name,
            True,
            None if len(kinds) != 1 or (of_mamba2 and not given) else min(kinds),
            None if given or of_mamba2 else _ENGINE_CHUNK,
            given[0] if len(given) == 1 else None,
            extra_buffer=name in buffered,
            by_config=name in _BY_CONFIG,
        )


def release_of(package: Path) -> str:
    """The release that a package folder is of, by the metadata beside it."""
    found = sorted(package.parent.glob("sglang-*.dist-info"))
    if len(found) != 1:
        raise SystemExit(f"{package}: no metadata of one installed release beside it")
    return found[0].name.removeprefix("sglang-").removesuffix(".dist-info")


def table(packages: Iterable[Path]) -> str:
    """The text of `architectures.toml`; each architecture as the newest of these releases has it."""
    newest: dict[str, Architecture] = {}
    since: dict[str, str] = {}
    for package in sorted(packages, key=release_of):
        for one in architectures(package):
            newest[one.name] = one
            since.setdefault(one.name, release_of(package))
    lines = [_HEAD]
    for name, one in sorted(newest.items()):
        if one.recurrent:
            lines += ["[[architecture]]", *_settings(one, since[name]), ""]
    lines.append("[without_recurrent_layers]")
    for release in sorted(set(since.values())):
        plain = [
            n for n, one in sorted(newest.items()) if not one.recurrent and since[n] == release
        ]
        lines += [f'"{release}" = [', *(f'    "{name}",' for name in plain), "]"]
    return "\n".join(lines) + "\n"


def _settings(one: Architecture, since: str) -> Iterator[str]:
    yield f'name = "{one.name}"'
    yield f'since = "{since}"'
    if one.recurrence:
        yield f'recurrence = "{one.recurrence}"'
    if one.chunk:
        yield f"mamba_chunk_size = {one.chunk}"
    if one.chunk_default:
        yield f"chunk_default = {one.chunk_default}"
    if not one.extra_buffer:
        yield "extra_buffer = false"
    if one.by_config:
        yield "by_config = true"


if __name__ == "__main__":
    if not sys.argv[1:]:
        raise SystemExit("give the folders `sglang` of the installed releases")
    FILE.write_text(table(Path(name) for name in sys.argv[1:]), encoding="utf-8")
