"""YAML and JSON: lists under command, args and entrypoint, and texts that hold shell commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from generators.launch.commands import are_settings_of, engine_named_in, engine_of_flag
from generators.launch.formats.base import (
    ITEMS,
    LIST,
    SHELL,
    Command,
    Document,
    Item,
    Problem,
    filled,
    list_command,
    shell_items,
    unplaced,
)
from generators.launch.words import Word

_KEYS = ("entrypoint", "command", "args")
# Deeper nesting is refused before the parser sees it; no launch is written so.
_DEEPEST = 100
# Where a fence of Markdown begins.
FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)
_KEY = re.compile(r"^([\w-]+):", re.MULTILINE)


class Yaml:
    """Kubernetes, compose, CI and recipe files; an anchor is read once, however often it is named."""

    name = "YAML"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in (".yaml", ".yml", ".json")

    def sniffs(self, text: str) -> bool:
        return re.search(r"\A(?:\s|#[^\n]*\n|---)*(?:- )?[\w.-]+:(?:\s|$)", text) is not None

    def items(self, document: Document) -> Iterator[Item]:
        import yaml

        try:
            for root in roots(document.text):
                yield from _Walk(document).of(root)
                yield from _engine_config(document, root)
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            line = document.line + mark.line if mark else None
            why = getattr(error, "problem", None) or str(error).split("\n")[0]
            yield Problem(document.source, line, f"not valid YAML ({why[:120]})", of_all=True)


def settings_of(text: str) -> list[Word] | None:
    """The flags that a configuration file of the engine gives, without places; None where it is none."""
    import yaml

    try:
        found = list(roots(text))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    if len(found) != 1 or found[0] is None or found[0].id != "mapping":
        return None
    return [Word(word.text) for word in _settings(Document("", text), by_key(found[0]))]


def roots(text: str) -> Iterator[Any]:
    """The syntax trees of a YAML or JSON text; `yaml.YAMLError` or `ValueError` for what is none."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _refuse_deep(text)
    yield from yaml.compose_all(text, Loader=loader)


def by_key(node: Any) -> dict[str, Any]:
    """The nodes of a mapping's values by their keys, those of mappings that it merges (`<<`) included."""
    found: dict[str, Any] = {}
    for key, value in node.value:
        if key.id == "scalar" and key.value == "<<":
            for merged in value.value if value.id == "sequence" else [value]:
                if merged.id == "mapping" and merged is not node:
                    found = {**_own(merged), **found}
    return {**found, **_own(node)}


def _own(node: Any) -> dict[str, Any]:
    return {
        k.value: v
        for k, v in node.value
        if k.id == "scalar" and isinstance(k.value, str) and k.value != "<<"
    }


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _is_plain(node: Any) -> bool:
    return node.id == "scalar" and not node.value.startswith("-")


def _settings(document: Document, entries: dict[str, Any]) -> list[Word]:
    """Keys as flags: a true one is a switch, one that is false or null is left out; a list gives several values."""
    words = []
    for key, value in entries.items():
        flag = _flag(key)
        if value.id == "sequence" and value.value and all(map(_is_plain, value.value)):
            words.append(Word(flag, document.lines.of(value.start_mark.index)))
            words += [Word(v.value, document.lines.of(v.start_mark.index)) for v in value.value]
        if value.id != "scalar" or value.value.lower() in ("false", "null", "~", ""):
            continue
        text = flag if value.value.lower() == "true" else f"{flag}={value.value}"
        words.append(Word(text, document.lines.of(value.start_mark.index)))
    return words


def _refuse_deep(text: str) -> None:
    depth = 0
    for match in re.finditer(r"[\[{\]}]|^(?:[ ]*[-?:][ ])+", text, re.MULTILINE):
        if match[0][-1] == " ":
            deep = len(match[0]) // 2 > 4 * _DEEPEST
        else:
            depth = max(0, depth + (1 if match[0] in "[{" else -1))
            deep = depth > _DEEPEST
        if deep:
            raise ValueError("nested too deeply")


def _engine_config(document: Document, root: Any) -> Iterator[Item]:
    """The launch that a whole document gives whose keys are flags of the engine without their dashes."""
    if root is not None and root.id == "mapping":
        words = tuple(_settings(document, by_key(root)))
        engine = engine_of_flag(word.text.partition("=")[0] for word in words)
        if engine:
            yield Command(document.source, words[0].line or 1, words, "", engine)


@dataclass(frozen=True)
class _Around:
    """What stands beside a node or above it: the container image, values of variables, an engine whose settings these are."""

    image: str | None = None
    known: Mapping[str, str] = field(default_factory=dict)
    engine: str | None = None

    def inside(self, entries: Mapping[str, Any]) -> _Around:
        """What stands around the values of a mapping."""
        image = _image(entries.get("image")) or _image(entries.get("container")) or self.image
        known = {**self.known, **_environment(entries.get("environment", entries.get("env")))}
        return replace(self, image=image and filled(image, known), known=known)

    def below(self, key: Any) -> _Around:
        """What stands around the value of one key; one that bears an engine's name holds its settings."""
        engine = engine_named_in(key.value) if key.id == "scalar" else None
        return replace(self, engine=engine) if engine else self


class _Walk:
    """One pass over the nodes of a document, each with what stands beside it or above it."""

    def __init__(self, document: Document):
        self.document = replace(document, is_prose=True)
        self.seen: set[int] = set()
        self.known: Mapping[str, str] = {}
        self.image: str | None = None

    def of(self, root: Any) -> Iterator[Item]:
        waiting: list[tuple[Any, _Around]] = [(root, _Around())]
        while waiting:
            node, around = waiting.pop()
            if node is None or id(node) in self.seen:
                continue
            self.seen.add(id(node))
            self.known = around.known
            if node.id == "mapping":
                entries = by_key(node)
                around = around.inside(entries)
                self.known, self.image = around.known, around.image or self.image
                yield from self.container(entries, around.image)
                yield from self.settings(entries, around)
                waiting += [(value, around.below(key)) for key, value in reversed(node.value)]
            elif node.id == "sequence":
                yield from self.sequence(node, around.image)
                waiting += [(part, around) for part in reversed(node.value)]
            else:
                for item in self.scalar(node):
                    if isinstance(item, Command):
                        item = replace(item, image=around.image)
                    yield item

    def settings(self, entries: dict[str, Any], around: _Around) -> Iterator[Item]:
        """The launch that a mapping below an engine's name gives, its keys being flags without their dashes."""
        if around.engine is None:
            return
        words = tuple(_settings(self.document, entries))
        if are_settings_of(around.engine, words):
            image = around.image or self.image
            line = words[0].line or 1
            yield Command(self.document.source, line, words, "", around.engine, image=image)

    def container(self, entries: dict[str, Any], image: str | None) -> Iterator[Item]:
        """What a container runs: entrypoint, command and args, one behind the other, where there are several."""
        nodes = [entries[key] for key in _KEYS if key in entries]
        parts = [part for node in nodes if (part := self.part(node)) is not None]
        if len(parts) < 2:
            return
        words = tuple(word for part, _ in parts for word in part)
        found = list(list_command(self.document.source, words, parts[-1][1], image))
        if found:
            self.seen |= {id(node) for node in nodes}
            self.seen |= {id(p) for node in nodes if node.id == "sequence" for p in node.value}
        yield from found

    def part(self, node: Any) -> tuple[list[Word], str] | None:
        """The words of a list, or of a text that is a single command, and how they are written."""
        if (words := self.words(node)) is not None:
            return words, self.style(node)
        items = list(self.shell(node)) if node.id == "scalar" else []
        if len(items) == 1 and isinstance(items[0], Command):
            return list(items[0].words), SHELL
        return None

    def sequence(self, node: Any, image: str | None) -> Iterator[Item]:
        """A list that is a command by itself; else each of its texts is looked at alone."""
        if words := tuple(self.words(node) or ()):
            found = list(list_command(self.document.source, words, self.style(node), image))
            if found:
                self.seen |= {id(scalar) for scalar in node.value}
            yield from found

    @staticmethod
    def style(node: Any) -> str:
        return LIST if node.flow_style else ITEMS

    def words(self, node: Any) -> list[Word] | None:
        if node.id != "sequence" or any(part.id != "scalar" for part in node.value):
            return None
        return [self.word(part) for part in node.value]

    def word(self, node: Any) -> Word:
        start, end = node.start_mark.index, node.end_mark.index
        word = self.document.lines.word(filled(str(node.value), self.known), start, end)
        return replace(word, span=None) if node.style in ("|", ">") else word

    def scalar(self, node: Any) -> Iterator[Item]:
        """A text that holds shell commands or is a configuration file of the engine; a single word is neither."""
        if any(c.isspace() for c in str(node.value).strip()):
            if node.style == "|" and FENCE.search(str(node.value)):
                yield from self.page(node)
                return
            yield from self.shell(node)
            yield from self.file(node)

    def page(self, node: Any) -> Iterator[Item]:
        """The commands of a text that is a Markdown page."""
        from generators.launch.formats.markdown import Markdown

        line = self.document.lines.of(node.start_mark.index) + 1
        part = Document(self.document.source, str(node.value), line, is_prose=True)
        yield from unplaced(Markdown().items(part))

    def file(self, node: Any) -> Iterator[Item]:
        """The launch that a configuration file of the engine gives, as the files of a Kubernetes ConfigMap stand."""
        keys = _KEY.findall(str(node.value)) if node.style == "|" else ()
        engine = engine_of_flag(map(_flag, keys))
        if engine and (words := settings_of(str(node.value))):
            line = self.document.lines.of(node.start_mark.index) + 1
            yield Command(self.document.source, line, tuple(words), "", engine)

    def shell(self, node: Any) -> Iterator[Item]:
        """The commands of a text; one whose characters stand in the file as they are keeps its places.

        A block whose lines are kept may be flags alone, one a line; they are one command then.
        """
        text = str(node.value)
        start, end = node.start_mark.index, node.end_mark.index
        if node.style in ("'", '"'):
            line = self.document.lines.of(start)
            part = Document(self.document.source, text, line, known=self.known, is_prose=True)
            yield from unplaced(shell_items(part))
            return
        if node.style in ("|", ">"):
            start = self.document.text.find("\n", start, end) + 1 or end
        folded = node.style != "|" or text.lstrip().startswith("--")
        yield from shell_items(self.document, start, end, folded=folded, known=self.known)


def _environment(node: Any) -> dict[str, str]:
    """The variables of a container: a mapping, a list of `NAME=value`, or a list of names with values."""
    if node is None or node.id == "scalar":
        return {}
    if node.id == "mapping":
        return {key: v.value for key, v in by_key(node).items() if v.id == "scalar"}
    found: dict[str, str] = {}
    for part in node.value:
        if part.id == "scalar":
            name, separator, value = part.value.partition("=")
            found |= {name: value} if separator else {}
        elif part.id == "mapping":
            entries = by_key(part)
            name, value = entries.get("name"), entries.get("value")
            if name is not None and value is not None and name.id == value.id == "scalar":
                found[name.value] = value.value
    return found


def _image(node: Any) -> str | None:
    """The container image that a node names: as a text, or as the repository and the tag of a chart's values."""
    if node is None or node.id == "scalar":
        return node and str(node.value)
    entries = by_key(node) if node.id == "mapping" else {}
    named = [entries.get(key) for key in ("repository", "tag")]
    return ":".join(part.value for part in named if part is not None and part.id == "scalar")
