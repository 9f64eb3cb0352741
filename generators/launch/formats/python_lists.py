"""Python files: lists of arguments, texts with commands and calls that start an engine, read from the syntax tree.

Nothing is run.  What the file itself assigns to a name is followed: lists that grow, texts put together, keyword arguments.
"""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from generators.launch.commands import engine_called
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
from generators.launch.words import TEMPLATE, Offsets, Word

# A list of fewer flags is more often a part of one, or what a test looks for.
_FEWEST_FLAGS = 3
_LONE_RETURN = re.compile(r"\r(?!\n)")
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MAY_NOT_HAPPEN = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)


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
        document = replace(document, text=_LONE_RETURN.sub("\n", document.text), is_prose=True)
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(document.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            why = getattr(error, "msg", None) or "nested too deeply"
            line = line and line + document.line - 1
            yield Problem(document.source, line, f"not valid Python ({why})", of_all=True)
            return
        yield from _Reading(document).of(tree)


# The conditions and loops that a statement stands in, with the part of each.
_Branch = tuple[tuple[int, str], ...]


@dataclass
class _Variable:
    """What a name was given: the words of a list, a text with its line, the entries of a dictionary, or a launch.

    `is_launch`: an object that a call made which starts an engine.
    """

    words: list[Word] | None = None
    text: str | None = None
    entries: dict[str, ast.expr] | None = None
    line: int = 0
    is_part: bool = False
    is_launch: bool = False
    branch: _Branch = ()


_Names = dict[str, _Variable]


@dataclass
class _Reading:
    """One pass over the statements of a file, with what the names of each scope were given."""

    document: Document
    modules: dict[str, str] = field(default_factory=dict)
    offsets: dict[int, tuple[int, Offsets]] = field(default_factory=dict)

    def of(self, tree: ast.Module) -> Iterator[Item]:
        try:
            yield from self.scope(tree.body, {})
        except RecursionError:
            return

    def scope(self, body: Sequence[ast.stmt], names: _Names) -> Iterator[Item]:
        """The launches of a module or function; those in a variable come once it is whole."""
        outer = {name: id(variable) for name, variable in names.items()}
        yield from self.block(body, names, ())
        for name, variable in names.items():
            if outer.get(name) != id(variable):
                yield from self.held(variable)

    def held(self, variable: _Variable) -> Iterator[Item]:
        if variable.is_part:
            return
        if variable.words:
            yield from self.command(tuple(variable.words))
        elif variable.text is not None:
            yield from self.shell(variable.text, variable.line)

    def block(self, body: Sequence[ast.AST], names: _Names, branch: _Branch) -> Iterator[Item]:
        for statement in body:
            yield from self.statement(statement, names, branch)

    def statement(self, node: ast.AST, names: _Names, branch: _Branch) -> Iterator[Item]:
        """The launches of a statement; `branch`: the conditions and loops that it stands in."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imported(node)
        elif isinstance(node, _SCOPES):
            yield from self.block(node.decorator_list, names, branch)
            yield from self.scope(node.body, dict(names))
        elif any(hasattr(node, block) for block in _BLOCKS):
            may_not_happen = isinstance(node, _MAY_NOT_HAPPEN)
            for name, value in ast.iter_fields(node):
                if name not in _BLOCKS:
                    parts = value if isinstance(value, list) else [value]
                    for part in parts:
                        if isinstance(part, ast.AST):
                            yield from self.expression(part, names)
            for name in _BLOCKS:
                is_branch = may_not_happen or name == "orelse"
                inner = (*branch, (id(node), name)) if is_branch else branch
                yield from self.block(getattr(node, name, ()), names, inner)
        else:
            yield from self.plain_statement(node, names, branch)

    def plain_statement(self, node: ast.AST, names: _Names, branch: _Branch) -> Iterator[Item]:
        target, value = _assigned(node)
        if target is not None and value is not None:
            given = self.value(value, names)
            if given is None:
                yield from self.expression(value, names)
                names.pop(target, None)
                if self.engine_of(value):
                    names[target] = _Variable(is_launch=True)
                return
            if isinstance(node, ast.AugAssign):
                self.extend(names, target, given, branch)
                return
            if target in names and branch == names[target].branch:
                yield from self.held(names[target])
            elif target in names and given.words is not None:
                # Another value in a branch: the launches of both are found.
                yield from self.held(given)
                return
            names[target] = replace(given, branch=branch)
            return
        grown, added = self.grown(node, names)
        if grown is not None:
            self.extend(names, grown, added, branch)
            return
        yield from self.expression(node, names)

    def grown(self, node: ast.AST, names: _Names) -> tuple[str | None, _Variable | None]:
        """The name of the list that `x.append(...)` or `x.extend(...)` adds to, and what is added."""
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return None, None
        base = call.func.value
        if not isinstance(base, ast.Name) or base.id not in names or len(call.args) != 1:
            return None, None
        if names[base.id].words is None or call.func.attr not in ("append", "extend"):
            return None, None
        if call.func.attr == "append":
            return base.id, _Variable(self.words(call.args[0], names))
        return base.id, self.value(call.args[0], names)

    def extend(self, names: _Names, name: str, given: _Variable | None, branch: _Branch) -> None:
        """Add to a list or a text; what is added in a deeper branch than it was made in may be there or not."""
        old = names.get(name)
        if old is None:
            return
        happens = branch == old.branch
        if old.words is not None:
            added = given.words if given is not None and given.words is not None else None
            line = old.words[-1].line if old.words else old.line
            if added is None:
                added = [Word(TEMPLATE, line)]
            elif not happens:
                options = ((), tuple(added))
                added = [Word(TEMPLATE, added[0].line, options=options)] if added else []
            names[name] = replace(old, words=[*old.words, *added])
        elif old.text is not None:
            more = given.text if given is not None and given.text is not None else TEMPLATE
            names[name] = replace(old, text=old.text + (more if happens else f" {TEMPLATE}"))

    # expressions

    def expression(self, tree: ast.AST, names: _Names) -> Iterator[Item]:
        """The launches that stand in an expression as they are."""
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Call) and (called := list(self.called(node, names))):
                yield from called
                continue
            if found := list(self.listed(node, names)):
                yield from found
                continue
            if isinstance(node, ast.Constant | ast.JoinedStr):
                text = self.written(node) or self.text(node, names)
                if text is not None:
                    yield from self.shell(text, self.line(node))
            elif isinstance(node, ast.BinOp) and (text := self.text(node, names)) is not None:
                yield from self.shell(text, self.line(node))
            else:
                waiting += reversed(list(ast.iter_child_nodes(node)))

    def called(self, node: ast.Call, names: _Names) -> Iterator[Command]:
        """The launch of a call that starts an engine in this process: its keyword arguments are the flags."""
        engine = self.engine_of(node)
        given = [*node.args, *(word.value for word in node.keywords)]
        if engine is None or any(self.is_launch(part, names) for part in given):
            return
        words: list[Word] = []
        keywords = [(word.arg, word.value) for word in node.keywords]
        for name, value in keywords:
            if name is None:
                known = names.get(value.id) if isinstance(value, ast.Name) else None
                entries = known.entries if known is not None else _entries(value)
                if entries is None:
                    words.append(Word(TEMPLATE, self.line(value)))
                else:
                    keywords += entries.items()
                continue
            words += self.flag(name, value, names)
        yield Command(self.document.source, self.line(node), tuple(words), "", engine=engine)

    def engine_of(self, node: ast.AST) -> str | None:
        """The engine that an expression starts, if it is a call that does."""
        return engine_called(self.dotted(node.func)) if isinstance(node, ast.Call) else None

    def is_launch(self, node: ast.expr, names: _Names) -> bool:
        """Whether an argument is what another call made that starts an engine; the launch is found there."""
        if isinstance(node, ast.Name):
            return node.id in names and names[node.id].is_launch
        return self.engine_of(node) is not None

    def flag(self, name: str, value: ast.expr, names: _Names) -> list[Word]:
        flag = "--" + name.replace("_", "-")
        if isinstance(value, ast.Constant) and value.value in (None, False):
            return []
        if isinstance(value, ast.Constant) and value.value is True:
            return [Word(flag, self.line(value))]
        text = self.text(value, names)
        return [Word(f"{flag}={TEMPLATE if text is None else text}", self.line(value))]

    def dotted(self, node: ast.AST) -> str:
        """The name of what is called, with the module in place of its alias."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.modules:
            return ""
        return ".".join((self.modules[node.id], *reversed(parts)))

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self.modules[alias.asname or name] = name
            else:
                self.modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def listed(self, node: ast.AST, names: _Names) -> Iterator[Command]:
        """The command in the elements of a list or the arguments of a call, if at least one of them is a text."""
        parts: list[ast.expr] = []
        if isinstance(node, ast.List | ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.Call):
            parts = node.args
        if any(isinstance(part, ast.Constant) for part in parts):
            words = tuple(word for part in parts for word in self.words(part, names))
            yield from self.command(words)

    def command(self, words: tuple[Word, ...]) -> Iterator[Command]:
        """The command of a list, unless it holds flags alone and only a few of them."""
        for command in list_command(self.document.source, words, LIST):
            flags = sum(word.text.startswith("--") for word in words)
            if command.engine is None or flags >= _FEWEST_FLAGS:
                yield command

    def words(self, node: ast.expr, names: _Names) -> list[Word]:
        """The words that an element becomes; one that is no plain text is unresolved."""
        line = self.line(node)
        if isinstance(node, ast.Starred):
            given = self.value(node.value, names)
            if given is not None and given.words is not None:
                return given.words
            return [Word(TEMPLATE, line)]
        text = self.text(node, names)
        if text is None or not isinstance(node, ast.Constant):
            return [Word(TEMPLATE if text is None else text, line)]
        start = self.offset(node.lineno, node.col_offset)
        return [self.document.lines.word(text, start, self.end(node))]

    def value(self, node: ast.expr, names: _Names) -> _Variable | None:
        """A list, text or dictionary that an expression gives as far as the file itself gives it; None for all others."""
        line = self.line(node)
        if isinstance(node, ast.List | ast.Tuple):
            words = [word for part in node.elts for word in self.words(part, names)]
            return _Variable(words=words, line=line)
        if (entries := _entries(node)) is not None:
            return _Variable(entries=entries, line=line)
        if isinstance(node, ast.Name) and node.id in names:
            names[node.id].is_part = True
            return replace(names[node.id], is_part=False)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.value(node.left, names), self.value(node.right, names)
            if left is not None and left.words is not None:
                more = right.words if right is not None and right.words is not None else None
                return replace(left, words=[*left.words, *(more or [Word(TEMPLATE, line)])])
        if isinstance(node, ast.Call):
            return self.split_or_joined(node, names)
        text = self.text(node, names)
        return None if text is None else _Variable(text=text, line=line)

    def split_or_joined(self, node: ast.Call, names: _Names) -> _Variable | None:
        """What `shlex.split(text)`, `text.split()` and `" ".join(words)` give."""
        if not isinstance(node.func, ast.Attribute) or len(node.args) > 1:
            return None
        base, line = node.func.value, self.line(node)
        if node.func.attr == "join" and node.args:
            given = self.value(node.args[0], names)
            if given is not None and given.words is not None:
                return _Variable(text=" ".join(word.text for word in given.words), line=line)
        if node.func.attr != "split":
            return None
        is_shlex = isinstance(base, ast.Name) and base.id == "shlex" and bool(node.args)
        given = self.value(node.args[0] if is_shlex else base, names)
        if given is None or given.text is None or (node.args and not is_shlex):
            return None
        try:
            parts = shlex.split(given.text) if is_shlex else given.text.split()
        except ValueError:
            return None
        return _Variable(words=[Word(part, line) for part in parts], line=line)

    def text(self, node: ast.AST, names: _Names) -> str | None:
        """The text of an expression, its computed parts as placeholders; None where there is no text at all."""
        if isinstance(node, ast.Constant):
            return str(node.value) if isinstance(node.value, str | int | float) else None
        if isinstance(node, ast.JoinedStr):
            return "".join(self.part(value, names) for value in node.values)
        if isinstance(node, ast.Name):
            known = names.get(node.id)
            if known is None or known.text is None:
                return None
            known.is_part = True
            return known.text
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.text(node.left, names), self.text(node.right, names)
            if left is None and right is None:
                return None
            return (left or TEMPLATE) + (right or TEMPLATE)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
            return self.text(node.args[0], names) if len(node.args) == 1 else None
        return None

    def part(self, node: ast.expr, names: _Names) -> str:
        if isinstance(node, ast.FormattedValue):
            node = node.value
        text = self.text(node, names)
        return TEMPLATE if text is None else text

    def written(self, node: ast.AST) -> str | None:
        """A text over several lines as it is written, so that lines that go on keep their numbers; None for all others."""
        if not isinstance(node, ast.Constant) or node.lineno == node.end_lineno:
            return None
        start = self.offset(node.lineno, node.col_offset)
        text = self.document.text[start : self.end(node)]
        # Two backslashes at the end of a line are one in the text.
        return text[3:-3].replace("\\\\\n", "\\\n") if text[:3] in ('"""', "'''") else None

    def shell(self, text: str, line: int) -> Iterator[Item]:
        if "\x00" in text or len(text.split()) < 2:
            return
        part = Document(self.document.source, text, line, is_prose=True)
        yield from unplaced(shell_items(part))

    # places

    def line(self, node: ast.AST) -> int:
        return getattr(node, "lineno", 1) + self.document.line - 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a place that the syntax tree counts in bytes of UTF-8."""
        if line not in self.offsets:
            start = self.document.lines.start(line + self.document.line - 1)
            end = self.document.text.find("\n", start)
            text = self.document.text[start : None if end < 0 else end]
            self.offsets[line] = start, Offsets(text.encode())
        start, offsets = self.offsets[line]
        return start + offsets.of(column)

    def end(self, node: ast.expr) -> int:
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)


def _assigned(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    """The one name that a statement assigns to or adds to, and the value."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.AST = node.targets[0]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        target = node.target
    else:
        return None, None
    return (target.id, node.value) if isinstance(target, ast.Name) else (None, None)


def _entries(node: ast.AST) -> dict[str, ast.expr] | None:
    """The entries of a dictionary whose keys are all texts, written as a literal or as `dict(...)`."""
    if isinstance(node, ast.Dict):
        keys = [k.value if isinstance(k, ast.Constant) else None for k in node.keys]
        texts = [key for key in keys if isinstance(key, str)]
        if keys and len(texts) == len(keys):
            return dict(zip(texts, node.values, strict=True))
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        return None
    if node.func.id == "dict" and node.keywords and all(word.arg for word in node.keywords):
        return {str(word.arg): word.value for word in node.keywords}
    return None
