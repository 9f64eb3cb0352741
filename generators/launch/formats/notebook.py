"""Jupyter notebooks: the cells, each read as the Markdown, Python or shell text that its lines give together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from generators.launch.commands import may_hold_a_launch
from generators.launch.formats.base import Command, Document, Item, Problem, unplaced
from generators.launch.formats.markdown import Markdown
from generators.launch.formats.python_lists import Python
from generators.launch.formats.shell_script import ShellScript
from generators.launch.formats.yaml_lists import by_key, roots

_SHELL_CELL = re.compile(r"%%(?:bash|sh|script +\w+)\b")
_MAGIC = re.compile(r"^([ \t]*)[!%](?=\S)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)


class Notebook:
    """The cells of a notebook; lines are those of the file."""

    name = "notebook"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() == ".ipynb"

    def sniffs(self, text: str) -> bool:
        return text.lstrip().startswith("{") and '"nbformat"' in text

    def items(self, document: Document) -> Iterator[Item]:
        import yaml

        try:
            for root in roots(document.text):
                cells = by_key(root).get("cells") if root is not None else None
                for cell in cells.value if cells is not None else ():
                    yield from self.cell(document, by_key(cell))
        except (yaml.YAMLError, RecursionError, ValueError, AttributeError) as error:
            why = getattr(error, "problem", None) or str(error).split("\n")[0]
            yield Problem(document.source, None, f"not a notebook ({why[:120]})", of_all=True)

    def cell(self, document: Document, cell: dict[str, Any]) -> Iterator[Item]:
        source, kind = cell.get("source"), cell.get("cell_type")
        if source is None or kind is None:
            return
        parts = source.value if source.id == "sequence" else [source]
        text = "".join(part.value for part in parts)
        if not may_hold_a_launch(text):
            return
        # The line of the file at which each line of the cell stands.
        lines = [
            document.lines.of(part.start_mark.index)
            for part in parts
            for _ in range(max(1, part.value.count("\n")))
        ]
        for item in self.read(Document(document.source, text, is_prose=True), kind.value):
            yield _at_lines(item, lines)

    def read(self, cell: Document, kind: str) -> Iterator[Item]:
        if kind == "markdown":
            yield from unplaced(Markdown().items(cell))
            return
        if _SHELL_CELL.match(cell.text):
            yield from unplaced(ShellScript().items(replace(cell, text="#" + cell.text)))
            return
        commands = [(match.start(2), match.end(2)) for match in _MAGIC.finditer(cell.text)]
        for start, end in commands:
            first = cell.lines.of(start)
            part = Document(cell.source, cell.text[start:end], first, None, is_prose=True)
            yield from unplaced(ShellScript().items(part))
        code = _MAGIC.sub(lambda m: m[1] + "pass" + "\n" * m[2].count("\n"), cell.text)
        for item in unplaced(Python().items(replace(cell, text=code))):
            if isinstance(item, Command):
                yield item


def _at_lines(item: Item, lines: list[int]) -> Item:
    """An item with the lines of the file in place of those of its cell."""

    def of(line: int | None) -> int | None:
        return None if line is None else lines[min(max(line, 1), len(lines)) - 1]

    if isinstance(item, Problem):
        return replace(item, line=of(item.line), of_all=False)
    words = tuple(replace(word, line=of(word.line)) for word in item.words)
    return replace(item, line=of(item.line) or 1, words=words)
