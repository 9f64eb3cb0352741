"""Reads shell text: its simple commands with the values that variables have in the same text; nothing is run.

The syntax tree is that of the bash grammar (tree-sitter).  Assignments, arrays, defaults (`${X:-64}`), functions, loops over
literal words and here-documents are followed; what only a run can tell stays as it is written, and the word that
holds it is unresolved.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from generators.launch.words import Lines, Offsets, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# After so many quotes or substitutions that are never closed, the rest of a text is given up.
MOST_UNCLOSED = 20
# So many bytes are parsed again for them at most.
_ENOUGH = 2_000_000
# Deeper nesting, and functions that call functions, are not followed.
DEEPEST = 60
# Of a loop over literal words so many are tried.
MOST_ROUNDS = 8
# How a placeholder such as <your model> and plain dollars stand in the text that is parsed.
_PLACEHOLDER = re.compile(r"(?<![<\w])<[A-Za-z][\w ./-]*>")
_HIDDEN = str.maketrans("<> $", "\ue001\ue002\ue003\ue004")
_SHOWN = str.maketrans("\ue001\ue002\ue003\ue004", "<> $")
# A dollar that begins no variable, such as $HOST$:5000.
_DOLLAR = re.compile(r"(?<=\w)\$(?=[:/.,])")
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_DOUBLE = re.compile(r'\\(?:\n|(["\\$`]))')
_FIELD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"]|['"])+""")
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_COMMENT = re.compile(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)
_UNNESTED = {"string", "raw_string", "heredoc_body", "comment", "word", "variable_name"}
# How a here-document begins that is YAML: with a key.
_YAML = re.compile(r"\A(?:\s|#[^\n]*\n|---)*(?:- )?[A-Za-z][\w.-]*:(?:\s|\Z)")
_OPENED = re.compile(rb"['\"`]|\$[({]")
_QUOTES = ("'", '"', "`", ")", "}")


@dataclass(frozen=True)
class Unclosed:
    """A quote or substitution that is opened at a line and never closed, and the text of the command it stands in."""

    line: int
    mark: str
    text: str


@dataclass(frozen=True)
class Embedded:
    """A here-document that is no shell text, between two offsets."""

    start: int
    end: int


@dataclass(frozen=True)
class _Value:
    """What a variable holds: the words of an array, else one text."""

    words: tuple[Word, ...]
    is_array: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)


# The values that a variable may have at a place, by its name; more than one where branches differ.
_Environment = dict[str, tuple[_Value, ...]]


@functools.cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def split(
    text: str,
    start: int = 0,
    end: int | None = None,
    *,
    lines: Lines | None = None,
    folded: bool = False,
    known: Mapping[str, str] | None = None,
) -> Iterator[list[Word] | Unclosed | Embedded]:
    """The simple commands between two offsets of a text, values of variables filled in.

    `folded`: ends of lines are spaces, as YAML folds them; `known`: values that variables have from elsewhere.
    """
    stop = len(text) if end is None else end
    part = _prepared(text[start:stop], folded)
    lines = lines or Lines(text)
    root, unclosed = _parsed(part)
    for mark, at, line in unclosed:
        yield Unclosed(lines.of(start + at), mark, line)
    environment: _Environment = {
        name: (_Value((Word(value),)),) for name, value in (known or {}).items()
    }
    yield from _Reading(part, start, lines).of(root, environment)


def _prepared(text: str, folded: bool) -> str:
    """The text of the same length that the grammar reads: placeholders hidden, line ends as the shell has them."""
    text = text.replace("\\\r\n", " \\\n").replace("\r\n", " \n")
    if folded:
        text = (
            _COMMENT.sub(lambda m: " " * len(m[0]), text).replace("\\\n", "  ").replace("\n", " ")
        )
    text = _DOLLAR.sub(lambda m: m[0].translate(_HIDDEN), text)
    return _PLACEHOLDER.sub(lambda m: m[0].translate(_HIDDEN), text)


def _parsed(text: str) -> tuple[Node, list[tuple[str, int, str]]]:
    """The syntax tree, lines with a quote that is never closed left out; each with its mark, offset and text."""
    unclosed: list[tuple[str, int, str]] = []
    while True:
        data = text.encode()
        root = _parser().parse(data).root_node
        found = _first_unclosed(root) if root.has_error else None
        if found is None or len(unclosed) >= MOST_UNCLOSED or len(unclosed) * len(data) > _ENOUGH:
            return root, unclosed
        mark, position = found
        at = len(data[:position].decode(errors="ignore"))
        first = text.rfind("\n", 0, at) + 1
        last = text.find("\n", at)
        last = len(text) if last < 0 else last
        while text[:first].endswith("\\\n"):
            first = text.rfind("\n", 0, first - 1) + 1
        unclosed.append((mark, at, text[first:last].replace("\\\n", " ")))
        text = text[:first] + re.sub(r"[^\n]", " ", text[first:last]) + text[last:]


def _first_unclosed(root: Node) -> tuple[str, int] | None:
    """The mark and the offset (bytes) of the first quote or substitution that is not closed."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" and (found := _OPENED.match(node.text or b"")):
            return found[0].decode(), node.start_byte
        if not node.has_error and not node.is_missing:
            continue
        if node.is_missing and node.type in _QUOTES and node.parent is not None:
            mark = (node.parent.text or b"?")[:2].decode(errors="ignore")
            return mark if mark == "$(" else mark[:1], node.parent.start_byte
        waiting += reversed(node.children)
    return None


@dataclass
class _Reading:
    """One pass over a syntax tree; offsets are counted from `start` in the whole text."""

    text: str
    start: int
    lines: Lines
    functions: dict[str, Node] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    found: list[list[Word] | Embedded] = field(default_factory=list)
    seen: set[Embedded | tuple[Word, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.data = self.text.encode()
        self.offsets = Offsets(self.data)

    def of(self, root: Node, environment: _Environment) -> Iterator[list[Word] | Embedded]:
        for node in root.children:
            self.statement(node, environment, 0)
            yield from self.taken()
        for name, body in list(self.functions.items()):
            if name not in self.called:
                self.statement(body, dict(environment), 1)
                yield from self.taken()

    def taken(self) -> Iterator[list[Word] | Embedded]:
        """What was found since the last call; a command of a function or a loop once, however often it is run."""
        found, self.found = self.found, []
        for command in found:
            key = command if isinstance(command, Embedded) else tuple(command)
            if command and key not in self.seen:
                self.seen.add(key)
                yield command

    # places

    def offset(self, byte: int) -> int:
        return self.start + self.offsets.of(byte)

    def placed(self, text: str, node: Node) -> Word:
        start, end = self.offset(node.start_byte), self.offset(node.end_byte)
        return self.lines.word(text, start, end)

    def raw(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode(errors="ignore").translate(_SHOWN)

    # statements

    def statement(self, node: Node, env: _Environment, depth: int) -> None:
        """Follow one statement: its commands are found, its assignments change the environment."""
        if depth > DEEPEST:
            return
        follow = getattr(self, f"_{node.type}", None)
        if follow is not None:
            follow(node, env, depth + 1)
        elif node.type not in _UNNESTED:
            for child in node.children:
                self.statement(child, env, depth + 1)

    def _redirected_statement(self, node: Node, env: _Environment, depth: int) -> None:
        """A command with its redirections; the grammar takes what stands behind a target as further targets."""
        body, *redirects = node.children
        behind = [w for r in redirects for w in r.children_by_field_name("destination")[1:]]
        behind += [w for r in redirects for w in r.children_by_field_name("argument")]
        if body.type == "command":
            self._command(body, env, depth, behind)
        else:
            self.statement(body, env, depth)
        for redirect in redirects:
            self.statement(redirect, env, depth)

    def _file_redirect(self, node: Node, env: _Environment, depth: int) -> None:
        pass

    def _command(
        self, node: Node, env: _Environment, depth: int, behind: Sequence[Node] = ()
    ) -> None:
        words: list[Word] = []
        for child in (*node.children, *behind):
            if child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                self.statement(child, env, depth)
            elif child.type == "variable_assignment":
                words.append(self.placed(self.raw(child), child))
            elif child.type == "command_name":
                words += self.fields(child.children[0], env, depth)
            elif child.type not in ("comment", "ERROR") or child.text == b"\\":
                words += self.fields(child, env, depth)
        name = words[0].text if words else ""
        if name in self.functions and depth < DEEPEST:
            self.called.add(name)
            inner = _called(env, words)
            self.statement(self.functions[name], inner, depth + 10)
            env |= {n: v for n, v in inner.items() if n.isidentifier()}
        else:
            self.found += _chosen(words)

    def _variable_assignment(self, node: Node, env: _Environment, depth: int) -> None:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            return
        key = self.raw(name)
        adds = any(child.type == "+=" for child in node.children)
        given = self.value(value, env, depth)
        if key in env and value is not None and re.match(rf'"?\$\{{?{key}\b', self.raw(value)):
            # A text that goes on begins where it began.
            first = env[key][0].words[:1]
            given = (
                replace(given, words=(replace(given.words[0], line=first[0].line),))
                if first
                else given
            )
        before = env.get(key, (_Value((), given.is_array),))
        env[key] = tuple(_joined(old, given) for old in before) if adds else (given,)

    def _declaration_command(self, node: Node, env: _Environment, depth: int) -> None:
        for child in node.children:
            if child.type == "variable_assignment":
                self._variable_assignment(child, env, depth)

    def _function_definition(self, node: Node, env: _Environment, depth: int) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[self.raw(name)] = body

    def _if_statement(self, node: Node, env: _Environment, depth: int) -> None:
        branches: list[list[Node]] = [[]]
        is_whole = False
        for child in node.children:
            if child.type in ("elif_clause", "else_clause"):
                is_whole = is_whole or child.type == "else_clause"
                branches.append([child])
            else:
                branches[0].append(child)
        self.branches(branches, env, depth, is_whole)

    def _case_statement(self, node: Node, env: _Environment, depth: int) -> None:
        items = [[child] for child in node.children if child.type == "case_item"]
        is_whole = any(re.match(r"\s*\(?\*\)", self.raw(item[0])) for item in items)
        self.branches(items, env, depth, is_whole)

    def _case_item(self, node: Node, env: _Environment, depth: int) -> None:
        patterns = {child.id for child in node.children_by_field_name("value")}
        for child in node.children:
            if child.id not in patterns:
                self.statement(child, env, depth)

    def _while_statement(self, node: Node, env: _Environment, depth: int) -> None:
        self.branches([list(node.children)], env, depth, False)

    def _list(self, node: Node, env: _Environment, depth: int) -> None:
        """Statements behind `&&` and `||`: an assignment behind one is one that may not happen."""
        for number, child in enumerate(node.children):
            if number and child.type == "variable_assignment":
                self.branches([[child]], env, depth, False)
            else:
                self.statement(child, env, depth)

    def _for_statement(self, node: Node, env: _Environment, depth: int) -> None:
        variable, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        if variable is None or body is None:
            return
        name = self.raw(variable)
        words = [
            w for v in node.children_by_field_name("value") for w in self.fields(v, env, depth)
        ]
        if not words or any(word.is_unresolved for word in words):
            env.pop(name, None)
            self.branches([[body]], env, depth, False)
            return
        for word in words[:MOST_ROUNDS]:
            env[name] = (_Value((word,)),)
            self.statement(body, env, depth)

    def _subshell(self, node: Node, env: _Environment, depth: int) -> None:
        inner = dict(env)
        for child in node.children:
            self.statement(child, inner, depth)

    def _heredoc_redirect(self, node: Node, env: _Environment, depth: int) -> None:
        """The text of a here-document, which may be a script; variables in it have their values of this place."""
        for child in node.children:
            if child.type == "heredoc_body":
                start = self.offset(child.start_byte)
                text = self.raw(child)
                if _YAML.match(text):
                    self.found.append(Embedded(start, start + len(text)))
                    continue
                part = _prepared(text, False)
                inner = _Reading(part, start, self.lines)
                root, _ = _parsed(part)
                for statement in root.children:
                    inner.statement(statement, env if depth > DEEPEST else dict(env), depth + 10)
                self.found += inner.found
            elif child.type not in _UNNESTED:
                self.statement(child, env, depth)

    def branches(
        self, branches: Sequence[Sequence[Node]], env: _Environment, depth: int, is_whole: bool
    ) -> None:
        """Follow statements of which one branch happens, or none where they are not the whole."""
        ends = [] if is_whole else [dict(env)]
        for nodes in branches:
            inner = dict(env)
            for node in nodes:
                self.statement(node, inner, depth)
            ends.append(inner)
        for name in {name for end in ends for name in end}:
            left = [end.get(name) for end in ends]
            if any(values is not left[0] for values in left):
                env[name] = _known(name, [value for values in left for value in values or ()])

    # values

    def value(self, node: Node | None, env: _Environment, depth: int) -> _Value:
        """What is assigned: an array, or a text."""
        if node is None:
            return _Value((Word(""),))
        if node.type == "array":
            words = [w for c in node.children[1:-1] for w in self.fields(c, env, depth)]
            return _Value(tuple(words), True)
        if node.type == "command_substitution":
            text = self.document(node)
            if text is not None:
                return _Value((Word(text, self.placed("", node).line),))
        text = self.joined(node, env, depth)
        return _Value((replace(self.placed(text, node), span=None, column=None),))

    def document(self, node: Node) -> str | None:
        """The here-document that `$(cat <<EOF ...)` stands for."""
        inner = self.raw(node)
        match = re.fullmatch(
            r"\$\(\s*cat\s*<<-?\s*(['\"]?)(\w+)\1[^\n]*\n(.*)\n\s*\2\s*\)", inner, re.DOTALL
        )
        return match and match[3]

    def joined(self, node: Node, env: _Environment, depth: int) -> str:
        """The text of a value, which is not split into words."""
        return "".join(
            text if isinstance(text, str) else " ".join(w.text for w in text)
            for text in self.parts(node, env, depth, True)
        )

    def fields(self, node: Node, env: _Environment, depth: int) -> list[Word]:
        """The words that a node of a command becomes."""
        if node.type in ("comment", "\n"):
            return []
        parts = self.parts(node, env, depth, False)
        if len(parts) == 1 and not isinstance(parts[0], str):
            return list(parts[0])
        found: list[str] = []
        opened = False
        for part in parts:
            if isinstance(part, str):
                if opened:
                    found[-1] += part
                else:
                    found.append(part)
                opened = True
            elif part:
                first, *rest = (word.text for word in part)
                found = (
                    [*found[:-1], found[-1] + first, *rest] if opened else [*found, first, *rest]
                )
                opened = True
        return [self.placed(text, node) for text in found]

    def parts(
        self, node: Node, env: _Environment, depth: int, quoted: bool
    ) -> list[str | list[Word]]:
        """What stands side by side in a word: texts, and the words that an expansion becomes."""
        raw = self.raw(node)
        if node.type == "string":
            return self.quoted(node, env, depth)
        if node.type == "raw_string":
            return [raw[1:-1]]
        if node.type in ("ansi_c_string", "translated_string"):
            return [raw[2:-1]]
        if node.type in ("concatenation", "command_name"):
            return [
                part for child in node.children for part in self.parts(child, env, depth, quoted)
            ]
        if node.type in ("simple_expansion", "expansion"):
            return self.expansion(node, env, depth, quoted)
        if node.type == "command_substitution":
            self.statement_inside(node, env, depth)
            return [raw]
        return [_ESCAPED.sub(lambda m: "" if m[1] == "\n" else m[1], raw)]

    def statement_inside(self, node: Node, env: _Environment, depth: int) -> None:
        """The commands of a substitution; text between backquotes is more often prose, and is not looked at."""
        if self.data[node.start_byte : node.start_byte + 2] == b"$(":
            for child in node.children:
                self.statement(child, dict(env), depth + 1)

    def quoted(self, node: Node, env: _Environment, depth: int) -> list[str | list[Word]]:
        """The parts of a text in double quotes: one text, but for arrays, whose elements stay words."""
        found: list[str | list[Word]] = [""]
        position = node.start_byte + 1
        for child in node.children[1:]:
            between = self.data[position : child.start_byte].decode(errors="ignore")
            found.append(between)
            position = child.end_byte
            if child.type in ("simple_expansion", "expansion"):
                found += self.expansion(child, env, depth, True)
            elif child.type == "command_substitution":
                self.statement_inside(child, env, depth)
                found.append(self.raw(child))
            elif child.type != '"':
                found.append(_ESCAPED_IN_DOUBLE.sub(lambda m: m[1] or "", self.raw(child)))
        if any(not isinstance(part, str) for part in found):
            return [part for part in found if part]
        return ["".join(part for part in found if isinstance(part, str)).translate(_SHOWN)]

    def expansion(
        self, node: Node, env: _Environment, depth: int, quoted: bool
    ) -> list[str | list[Word]]:
        """What `$X`, `${X}`, `${X[@]}`, `${X:-word}` and their like become; the text itself where it is not known."""
        raw = self.raw(node)
        match = re.match(r"\$\{?(\w+|[@*#?$!-])(\[[@*]\])?", raw)
        name = match[1] if match else ""
        values = env.get(name, ())
        operator, word = self.operator(node, env, depth)
        if operator in (":-", "-", ":=", "="):
            if not values or (operator.startswith(":") and values[0].texts in ((), ("",))):
                given = (_Value((Word(word, self.placed("", node).line),)),)
                if operator in (":=", "="):
                    env[name] = given
                values = given
        elif operator in (":+", "+"):
            known = bool(values) and any(values[0].texts)
            values = (_Value((Word(word),)),) if known else (_Value((Word(""),)),)
        elif operator:
            values = ()
        if not values:
            return [raw] if quoted else [[self.placed(raw, node)]]
        is_all = bool(match and match[2]) or name in "@*"
        if len(values) > 1:
            if quoted and not is_all:
                return [raw]
            options = tuple(tuple(self.split_value(v, quoted, node)) for v in values)
            return [[replace(self.placed(raw, node), options=options)]]
        value = values[0]
        if quoted and not is_all:
            if not any(value.texts):
                # An empty value where a word is needed is filled by whoever runs the script.
                return [raw]
            is_command = any(c.isspace() for c in value.texts[0])
            return [[value.words[0]]] if is_command else [value.texts[0]]
        if quoted:
            return [list(value.words)]
        return [self.split_value(value, False, node)]

    def split_value(self, value: _Value, quoted: bool, node: Node) -> list[Word]:
        if value.is_array or quoted:
            return list(value.words)
        found = []
        for word in value.words:
            for match in _FIELD.finditer(word.text):
                text = _QUOTED.sub(lambda m: m[1] if m[1] is not None else m[2], match[0])
                found.append(Word(text, word.line))
        if len(found) == 1:
            return [self.placed(found[0].text, node)]
        return found

    def operator(self, node: Node, env: _Environment, depth: int) -> tuple[str, str]:
        """The operator of `${X:-word}` with its word, variables in it filled in; two empty texts where there is none."""
        if node.type != "expansion":
            return "", ""
        text, children = "", node.children
        for number, child in enumerate(children[1:-1], 1):
            if child.type in (":-", "-", ":=", "=", ":+", "+"):
                for part in children[number + 1 : -1]:
                    text += self.joined(part, env, depth)
                return child.type, text
            if child.type not in ("variable_name", "subscript", "special_variable_name"):
                return child.type, ""
        return "", ""


def _chosen(words: list[Word]) -> list[list[Word]]:
    """A command whose beginning has several choices, once for each of them; any other as it is."""
    for number, word in enumerate(words[:3]):
        if any(option and not option[0].text.startswith("-") for option in word.options):
            rest = words[number + 1 :]
            return [[*words[:number], *option, *rest] for option in word.options]
    return [words]


def _called(env: _Environment, words: Sequence[Word]) -> _Environment:
    """The environment inside a function that is called with these words."""
    inner = {name: value for name, value in env.items() if not name.isdigit()}
    inner |= {str(n): (_Value((word,)),) for n, word in enumerate(words[1:], 1)}
    inner["@"] = inner["*"] = (_Value(tuple(words[1:]), True),)
    return inner


def _joined(old: _Value, new: _Value) -> _Value:
    """What `+=` makes of a value."""
    if old.is_array or new.is_array:
        return _Value((*old.words, *new.words), True)
    text = "".join((*old.texts, *new.texts))
    first = old.words or new.words
    return _Value((replace(first[0], text=text),) if first else ())


def _known(name: str, values: Sequence[_Value]) -> tuple[_Value, ...]:
    """The values that branches leave: those that the text itself gives, and where there are many what they share."""
    if len(values) == 2 and _goes_on(*values):
        return _grown(values)
    by_text: dict[tuple[str, ...], _Value] = {}
    for value in values:
        by_text.setdefault(value.texts, value)
    found = list(by_text.values())
    known = [v for v in found if any(v.texts) and not any(word.is_unresolved for word in v.words)]
    is_open = any(word.is_unresolved for v in found for word in v.words)
    if not is_open or (known and not any(v.is_array for v in found)):
        found = known if is_open else found
    elif not known:
        found = [v for v in found if any(word.is_unresolved for word in v.words)]
    if len(found) > 1 and all(value.is_array for value in found):
        return _grown(found)
    shared = _alike([" ".join(value.texts).split(" ") for value in found])
    if len(found) <= MOST_ROUNDS and (len(found) < 2 or len(shared) < 2):
        return tuple(found)
    text = " ".join((*shared, f"${{{name}}}"))
    return (_Value((Word(text, found[0].words[0].line if found[0].words else None),)),)


def _goes_on(old: _Value, new: _Value) -> bool:
    """Whether an array is another one with words added behind it."""
    size = len(old.words)
    return (
        new.is_array
        and 0 < size < len(new.words)
        and bool(old.words[0].text)
        and new.words[:size] == old.words
    )


def _alike(texts: Sequence[Sequence[str]]) -> list[str]:
    """What several lists of texts have in common at their beginnings."""
    same = takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False))
    return [column[0] for column in same]


def _grown(values: Sequence[_Value]) -> tuple[_Value, ...]:
    """Arrays that begin alike as one, in which a word stands for what each has behind that."""
    by_first: dict[str, list[_Value]] = {}
    for value in values:
        by_first.setdefault(value.texts[0] if value.words else "", []).append(value)
    merged = []
    for group in by_first.values():
        words = [value.words for value in group]
        same = len(_alike([value.texts for value in group]))
        shared, rests = words[0][:same], tuple(w[same:] for w in words)
        if any(rests):
            first = next(rest for rest in rests if rest)[0]
            shared = (*shared, replace(first, text=f"${{{first.text}}}", span=None, options=rests))
        merged.append(_Value(shared, True))
    return tuple(merged[:MOST_ROUNDS])
