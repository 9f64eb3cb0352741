"""Dockerfiles: CMD, ENTRYPOINT and RUN, in JSON and in shell form, continued lines included."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from generators.launch.formats.base import (
    LIST,
    Command,
    Document,
    Item,
    Problem,
    filled,
    list_command,
    shell_items,
)

_INSTRUCTION = re.compile(
    r"^[ \t]*(ARG|ENV|FROM|CMD|ENTRYPOINT|RUN)[ \t]+((?:[^\n]*\\[ \t]*\r?\n)*[^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_COMMENT = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
_BLANK_INSIDE = re.compile(r"(\\[ \t]*\r?\n)((?:[ \t]*\r?\n)+)")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def _uncommented(text: str) -> str:
    """The text of the same length with comment lines emptied and empty lines inside an instruction continued."""
    text = _COMMENT.sub(lambda m: " " * len(m[0]), text)
    return _BLANK_INSIDE.sub(lambda m: m[1] + re.sub(r"[^\n]", " ", m[2]).replace("\n", " "), text)


class Dockerfile:
    """The words that a container runs: of each stage the last ENTRYPOINT with the last CMD behind it."""

    name = "Dockerfile"

    def claims(self, path: PurePath) -> bool:
        name = path.name.lower()
        return name.startswith(("dockerfile", "containerfile")) or name.endswith(".dockerfile")

    def sniffs(self, text: str) -> bool:
        first = re.search(r"^[ \t]*([^#\s]\S*)", text, re.MULTILINE)
        return (
            first is not None and first[1].upper() in ("FROM", "ARG") and "\nFROM " in f"\n{text}"
        )

    def items(self, document: Document) -> Iterator[Item]:
        text = _uncommented(document.text)
        plain = Document(document.source, text, document.line)
        image: str | None = None
        stage: dict[str, list[Item]] = {}
        known: dict[str, str] = {}
        for match in _INSTRUCTION.finditer(text):
            keyword = match[1].upper()
            if keyword in ("ARG", "ENV"):
                known |= _given(match[2], known)
                plain = replace(plain, known=dict(known))
            elif keyword == "FROM":
                yield from _run_by(stage, image)
                named = [word for word in match[2].split() if not word.startswith("--")]
                image, stage = filled(named[0], known) if named else None, {}
            elif keyword == "RUN":
                yield from shell_items(plain, match.start(2), match.end(2))
            else:
                stage[keyword] = list(_words(plain, match))
        yield from _run_by(stage, image)


def _given(text: str, known: Mapping[str, str]) -> dict[str, str]:
    """The variables that an ARG or ENV instruction gives values, `ENV NAME value` included."""
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError:
        return {}
    if len(words) > 1 and "=" not in words[0]:
        return {words[0]: filled(" ".join(words[1:]), known)}
    pairs = (word.partition("=") for word in words)
    return {name: filled(value, known) for name, separator, value in pairs if separator}


def _words(document: Document, match: re.Match[str]) -> Iterator[Item]:
    """The commands of one CMD or ENTRYPOINT."""
    rest, start = match[2].strip(), match.start(2)
    if not rest.startswith("["):
        yield from shell_items(document, start, match.end(2))
        return
    try:
        texts = json.loads(re.sub(r"\\[ \t]*\r?\n", " ", rest))
    except (json.JSONDecodeError, RecursionError):
        message = "neither a JSON list of texts nor a shell command"
        yield Problem(document.source, document.lines.of(start), message)
        return
    spans = [found.span() for found in _STRING.finditer(document.text, start, match.end(2))]
    if len(spans) != len(texts) or not all(isinstance(text, str) for text in texts):
        yield Problem(document.source, document.lines.of(start), "not a list of texts")
        return
    words = tuple(document.lines.word(text, *span) for text, span in zip(texts, spans, strict=True))
    if words:
        yield Command(document.source, words[0].line or 1, words, LIST)


def _run_by(stage: dict[str, list[Item]], image: str | None) -> Iterator[Item]:
    entry, arguments = stage.get("ENTRYPOINT", []), stage.get("CMD", [])
    joined = [item for item in (*entry, *arguments) if isinstance(item, Command)]
    if len(entry) == len(arguments) == 1 and len(joined) == 2 and joined[0].style == LIST:
        words = (*joined[0].words, *joined[1].words)
        yield from list_command(joined[0].source, words, LIST, image)
        return
    for item in (*entry, *arguments):
        if isinstance(item, Command) and item.style == LIST:
            yield from list_command(item.source, item.words, LIST, image)
        else:
            yield replace(item, image=image) if isinstance(item, Command) else item
