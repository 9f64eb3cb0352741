"""reStructuredText: the literal blocks below code directives and below a double colon."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import PurePath

from generators.launch.commands import may_hold_a_launch
from generators.launch.formats.base import Command, Document, Item, unplaced
from generators.launch.formats.markdown import format_of_language

_BLOCK = re.compile(
    r"^([ \t]*)(?:\.\. (?:code-block|code|sourcecode|prompt)::[ \t]*(\S*)[^\n]*|(?!\.\. )[^\n]*\S?::)[ \t]*\n"
    r"((?:[ \t]*\n|\1[ \t]+[^\n]*(?:\n|\Z))+)",
    re.MULTILINE,
)
_OPTION = re.compile(r"^[ \t]*:[\w-]+:[^\n]*$", re.MULTILINE)


class RestructuredText:
    """Code of a language that another format reads is read by it, all other code as shell."""

    name = "reStructuredText"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() == ".rst"

    def sniffs(self, text: str) -> bool:
        return False

    def items(self, document: Document) -> Iterator[Item]:
        for match in _BLOCK.finditer(document.text):
            if not may_hold_a_launch(match[3]):
                continue
            text = textwrap.dedent(_OPTION.sub("", match[3]))
            part = Document(
                document.source, text, document.lines.of(match.start(3)), None, is_prose=True
            )
            for item in unplaced(format_of_language(match[2] or "").items(part)):
                if isinstance(item, Command):
                    yield item
