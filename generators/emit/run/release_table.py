"""Prints what the emitted tests did on several releases as one table, release by mechanism::

    python -m generators.emit.run.release_table out/matrix

Exit code 0 when every result was predicted, 1 when one was not, 2 for a bad file, 3 where there is none.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from generators.emit.manifest import RESULTS_SCHEMA


def read(folder: Path) -> list[dict[str, Any]]:
    """The results kept in a folder, by release."""
    documents = [json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.json"))]
    if any(d.get("schema") != RESULTS_SCHEMA for d in documents):
        raise ValueError(f"a file in {folder} is not of {RESULTS_SCHEMA}")
    return sorted(documents, key=lambda d: [int(n) for n in d["subject"].split(".") if n.isdigit()])


def cells(document: dict[str, Any]) -> dict[str, str]:
    """For each mechanism, what its tests did on one release."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for name, test in document["tests"].items():
        groups[name.partition(".py")[0].removeprefix("test_")].append(test)
    return {mechanism: _cell(tests) for mechanism, tests in groups.items()}


def _cell(tests: list[dict[str, Any]]) -> str:
    red = sum(t["outcome"] == "fails" for t in tests)
    green = sum(t["outcome"] == "passes" for t in tests)
    parts = [f"{green} green"] if green else []
    parts += [f"{red} red"] if red else []
    if others := len(tests) - red - green:
        parts.append(f"{others} not compared")
    if surprises := sum(not t["as_predicted"] for t in tests):
        parts.append(f"{surprises} NOT AS PREDICTED")
    return ", ".join(parts)


def table(documents: list[dict[str, Any]]) -> Any:
    """The table, one row a mechanism and one column a release."""
    from rich.table import Table

    rows = {d["subject"]: cells(d) for d in documents}
    shown = Table(box=None, pad_edge=False, show_edge=False)
    shown.add_column("mechanism")
    for subject in rows:
        shown.add_column(subject, overflow="fold")
    for mechanism in dict.fromkeys(m for row in rows.values() for m in row):
        shown.add_row(mechanism, *(row.get(mechanism, "-") for row in rows.values()))
    return shown


def main(folder: Path) -> int:
    """Print the table of a folder of results; the exit code."""
    from rich.console import Console

    try:
        documents = read(folder)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        print(f"{folder}: {error}", file=sys.stderr)
        return 2
    if not documents:
        print(
            f"{folder}: holds no results; run the emitted tests of a release first", file=sys.stderr
        )
        return 3
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        console.width = 200
    console.print(table(documents))
    return 0 if all(t["as_predicted"] for d in documents for t in d["tests"].values()) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: python -m generators.emit.run.release_table FOLDER", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1])))
