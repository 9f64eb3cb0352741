"""The published launch configurations of `recipes/published`, and what each modelled release makes of them."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators.check.findings import Judgement
from generators.check.verdict import judge
from generators.launch.launch import Launch, read_launch
from spec.engine import DEFAULT, engine

FILE = Path(__file__).parents[2] / "recipes" / "published" / "configurations.toml"


@dataclass(frozen=True)
class Published:
    """A published configuration: its name, where it stands, its launch."""

    id: str
    source: str
    launch: Launch


def configurations(file: Path = FILE) -> Iterator[Published]:
    """The configurations of a file of them."""
    for entry in tomllib.loads(file.read_text(encoding="utf-8"))["launch"]:
        launch = read_launch(shlex.split(entry["command"]), entry.get("set"))
        yield Published(entry["id"], entry["source"], launch)


def verdicts(published: Published) -> dict[str, Judgement]:
    """The judgement of every modelled release of the engine that is modelled first, by its name."""
    orders: dict[Any, Any] = {}
    model = engine(DEFAULT)
    return {
        release: judge(model.released(release), published.launch, published.id, orders=orders)
        for release in model.releases
    }
