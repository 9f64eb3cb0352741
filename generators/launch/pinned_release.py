"""The release of the engine that stands beside a file: in a requirements, lock or project file, or a container's tag."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators.common.errors import MOST_BYTES, BadInput, read_text

# A requirement and a container's tag; the name stands for the engine's package.
_PINNED = r"^\s*['\"]?{name}(?:\[[^\]]*\])?\s*==\s*v?([0-9][\w.]*)"
_TAG = r"{name}(?:-\w+)?:v?(\d+\.\d+\.\d+\w*(?:\.(?:post|dev)\d+)?)"


@dataclass(frozen=True)
class Pinned:
    """A release and where it is pinned."""

    release: str
    where: str


@functools.cache
def _tag_of(engine: str) -> re.Pattern[str]:
    return re.compile(_TAG.format(name=re.escape(engine)))


def of_image(engine: str, image: str | None) -> Pinned | None:
    """The release of an engine in the tag of a container image."""
    match = _tag_of(engine).search(image or "")
    return Pinned(match[1], f"image {image}") if match else None


def beside(engine: str, folder: Path) -> Pinned | None:
    """The release of an engine that a file in this folder pins; lock files before requirements."""
    for path in _candidates(folder):
        try:
            text = read_text(path, MOST_BYTES)
        except BadInput:
            continue
        if (release := _pinned(engine, path.name, text)) is not None:
            return Pinned(release, path.name)
    return None


def _candidates(folder: Path) -> Iterator[Path]:
    for pattern in ("uv.lock", "poetry.lock", "pylock*.toml", "Pipfile.lock", "requirements*.txt"):
        yield from sorted(folder.glob(pattern))
    yield folder / "pyproject.toml"


def _pinned(engine: str, name: str, text: str) -> str | None:
    if engine not in text:
        return None
    try:
        if name == "Pipfile.lock":
            return _of_pipfile(engine, json.loads(text))
        if name.endswith((".lock", ".toml")):
            return _of_toml(engine, tomllib.loads(text))
    except (ValueError, RecursionError):
        return None
    return _required(engine, text)


def _required(engine: str, text: str) -> str | None:
    """The release in a requirement, or in the first line that holds one."""
    pattern = _PINNED.format(name=re.escape(engine))
    match = re.search(pattern, text, re.MULTILINE | re.IGNORECASE)
    return match[1] if match else None


def _of_pipfile(engine: str, data: Any) -> str | None:
    entry = data.get("default", {}).get(engine, {}) if isinstance(data, dict) else {}
    match = re.fullmatch(r"==\s*(\S+)", str(entry.get("version", "")))
    return match[1] if match else None


def _of_toml(engine: str, data: dict[str, Any]) -> str | None:
    """The version of a lock's package, or of a project's pinned dependency."""
    packages = data.get("package", data.get("packages", []))
    for package in packages if isinstance(packages, list) else []:
        if isinstance(package, dict) and package.get("name") == engine:
            return str(package.get("version"))
    project = data.get("project", {})
    for requirement in project.get("dependencies", []) if isinstance(project, dict) else []:
        if release := _required(engine, str(requirement)):
            return release
    return None
