"""Python files: lists of arguments and texts with commands, read from the syntax tree; nothing is run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from generators.launch.formats.base import (
    LIST,
    Command,
    Document,
    Item,
    Problem,
    list_command,
    shell_items,
    unplaced,
)
from generators.launch.words import TEMPLATE, Word

_LONE_RETURN = re.compile(r"\r(?!\n)")


class Python:
    """List and tuple literals, the positional arguments of a call, and texts that hold a shell command."""

    name = "Python"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() == ".py"

    def sniffs(self, text: str) -> bool:
        return (
            re.search(r"^(?:import \w|from [\w.]+ import |def \w+\()", text, re.MULTILINE)
            is not None
        )

    def items(self, document: Document) -> Iterator[Item]:
        # Python ends a line at a lone carriage return as well.
        document = replace(document, text=_LONE_RETURN.sub("\n", document.text))
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(document.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            why = getattr(error, "msg", None) or "nested too deeply"
            line = line and line + document.line - 1
            yield Problem(document.source, line, f"not valid Python ({why})", of_all=True)
            return
        yield from _Walk(document).of(tree)


class _Walk:
    def __init__(self, document: Document):
        self.document = document

    def of(self, tree: ast.AST) -> Iterator[Item]:
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            if found := list(self.listed(node)):
                yield from found
                continue
            if isinstance(node, ast.Constant | ast.JoinedStr):
                yield from self.text(node)
            else:
                waiting += reversed(list(ast.iter_child_nodes(node)))

    def listed(self, node: ast.AST) -> Iterator[Command]:
        """The command in the elements of a list or the arguments of a call, if at least one of them is a text."""
        parts: list[ast.expr] = []
        if isinstance(node, ast.List | ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.Call):
            parts = node.args
        if any(isinstance(part, ast.Constant) for part in parts):
            words = tuple(self.word(part) for part in parts)
            yield from list_command(self.document.source, words, LIST)

    def word(self, node: ast.expr) -> Word:
        """An element as a word; one that is no plain text is unresolved."""
        line = node.lineno + self.document.line - 1
        text = _plain(node)
        if text is None or not isinstance(node, ast.Constant):
            return Word(text or TEMPLATE, line)
        start = self.offset(node.lineno, node.col_offset)
        return self.document.lines.word(text, start, self.end(node))

    def offset(self, line: int, column: int) -> int:
        """The offset of a place that the syntax tree counts in bytes of UTF-8."""
        start = self.document.lines.start(line + self.document.line - 1)
        head = self.document.text[start : start + column].encode()[:column]
        return start + len(head.decode(errors="ignore"))

    def end(self, node: ast.expr) -> int:
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def text(self, node: ast.Constant | ast.JoinedStr) -> Iterator[Item]:
        text = _plain(node)
        if text is None or "\x00" in text or len(text.split()) < 2:
            return
        line = node.lineno + self.document.line - 1
        yield from unplaced(shell_items(Document(self.document.source, text, line)))


def _plain(node: ast.AST) -> str | None:
    """The text of an expression, its computed parts as placeholders; None where there is no text at all."""
    if isinstance(node, ast.Constant):
        return str(node.value) if isinstance(node.value, str | int | float) else None
    if isinstance(node, ast.JoinedStr):
        parts = (str(v.value) if isinstance(v, ast.Constant) else TEMPLATE for v in node.values)
        return "".join(parts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return _plain(node.args[0]) if len(node.args) == 1 else None
    return None
