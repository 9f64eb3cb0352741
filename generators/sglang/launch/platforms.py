"""Kinds of GPU, and the pages that the engine sets on them by release, model and attention backend."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from spec.sglang.releases import RELEASES

# What a launch that names no GPU may run on; of the others SM90 stands for all that pages do not tell apart.
OTHERS, BLACKWELL = "sm90", "sm100"
CONDITIONS = {
    OTHERS: "on a GPU that is no data-center Blackwell",
    BLACKWELL: "on a data-center Blackwell GPU (SM100 or SM103: B200, B300, GB200, GB300)",
}
_ALIKE = ("sm80", "sm90", "sm120", "amd")
_NAMES = {
    "sm80": ("a100", "a800", "a10", "a30", "l4", "l40", "l40s", "rtx4090", "4090", "sm89"),
    "sm90": ("h100", "h200", "h20", "h800", "gh200", "hopper"),
    "sm100": ("b200", "b300", "gb200", "gb300", "sm103", "blackwell"),
    "sm120": ("rtx5090", "5090", "sm121", "gb10", "spark", "thor"),
    "amd": ("rocm", "mi300x", "mi325x", "mi350x", "mi355x", "mi30x", "mi35x"),
    "npu": ("ascend", "910b", "910c", "a2", "a3"),
    "xpu": ("intel",),
}
KINDS = tuple(_NAMES)
_DEVICES = {"npu": "npu", "xpu": "xpu"}
_BACKENDS = {"ascend": "npu", "intel_xpu": "xpu", "aiter": "amd"}
# Backends whose page the engine sets after that of all others.
_LAST = ("fa4", "intel_xpu")
# Words of a container's tag that say for which GPU it was built; shorter ones may be anything.
_TAGS = ("npu", "xpu", "rocm", "b200", "b300", "gb200", "gb300", "mi30x", "mi35x", "h100", "h200")
MLA = ("Kimi", "Bailing", "Glm5Next", "GigaChat")


def kind_of(name: str) -> str | None:
    """The kind of a GPU by its name; None where it is not known."""
    plain = name.lower().replace("-", "").replace("_", "").replace(" ", "")
    return next((kind for kind, names in _NAMES.items() if plain == kind or plain in names), None)


def of_image(image: str) -> str | None:
    """The kind of GPU that a container's tag names."""
    words = image.rpartition(":")[2].lower().replace("_", "-").replace(".", "-").split("-")
    found = {kind_of(word[:5]) for word in words if word.startswith(_TAGS)}
    return found.pop() if len(found) == 1 else None


def possible(device: str | None, backends: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of GPU that a launch which names none may run on, the likeliest first."""
    known = _DEVICES.get(device or "") or next(
        (_BACKENDS[b] for b in backends.values() if b in _BACKENDS), None
    )
    return (known,) if known else (OTHERS, BLACKWELL)


@dataclass(frozen=True)
class PageRule:
    """What becomes of a page (tokens): `out` where none is given; a given one that is not in `keeps` becomes `to`."""

    out: int
    keeps: tuple[int, ...] = ()
    to: int | None = None

    @property
    def is_early(self) -> bool:
        """Whether the page is set, whatever was given, before a strategy is chosen, and not only adapted to a backend."""
        return self.to is not None and set(self.keeps) <= {self.to} and self.to in (1, 64)

    def of(self, page: int | None) -> int | None:
        if page is None:
            return self.out
        return page if self.to is None or page in self.keeps else self.to


@functools.cache
def _document() -> dict[str, Any]:
    file = resources.files("generators.sglang.launch").joinpath("pages.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _entries(table: str, release: str, **keys: Any) -> Iterator[dict[str, Any]]:
    """The entries of a table that are true of a release and of these keys."""
    at = RELEASES.index(release)
    for entry in _document().get(table, ()):
        first, last = entry.get("first", RELEASES[0]), entry.get("last", RELEASES[-1])
        is_true = RELEASES.index(first) <= at <= RELEASES.index(last)
        if is_true and all(value in entry[name] for name, value in keys.items()):
            yield entry


def _rule(entry: Mapping[str, Any]) -> PageRule:
    return PageRule(entry["out"], tuple(entry.get("keeps", ())), entry.get("to"))


@functools.cache
def of_model(
    release: str, gpu: str, architecture: str, speculation: str, strategy: str, phase: str
) -> PageRule | None:
    """What a model's own choice of a backend does to the page; None where it does nothing.

    `speculation`: none, chain, tree, unset (drafts and their shape left to the engine) or an algorithm that has a way of its
    own; `strategy`: auto or named; `phase`: none, or one where a backend is named for one phase alone.
    """
    if gpu != BLACKWELL:
        gpu, speculation, phase = OTHERS if gpu in _ALIKE else gpu, "none", "none"
    keys = {"architecture": architecture, "gpu": gpu, "speculation": speculation}
    found = _entries("default", release, **keys, strategy=strategy, phase=phase)
    return next(map(_rule, found), None)


@functools.cache
def of_backend(release: str, gpu: str, architecture: str | None, flag: str, name: str) -> Any:
    """What a named attention backend does to the page; None where it does nothing."""
    at = BLACKWELL if gpu == BLACKWELL else OTHERS
    latent = (architecture or "").startswith(MLA)
    found = _entries("backend", release, backend=name, flag=flag, gpu=at, latent=latent)
    return next(map(_rule, found), None)


def in_order(backends: Mapping[str, str]) -> list[tuple[str, str]]:
    """Flags and the backends that they name, in the order in which the engine looks at them."""
    return sorted(backends.items(), key=lambda pair: (pair[1] in _LAST, pair[1]))


@functools.cache
def is_unbuffered(release: str, architecture: str | None, gpu: str) -> bool:
    """Whether the engine, left to choose, has no extra buffer for a model on a kind of GPU."""
    at = gpu if gpu == "xpu" else OTHERS
    return any(_entries("unbuffered", release, architecture=architecture, gpu=at))


@functools.cache
def is_refused(release: str, architecture: str | None, gpu: str) -> bool:
    """Whether a release refuses an extra buffer on a kind of GPU."""
    return any(_entries("refused", release, architecture=architecture, gpu=gpu))
