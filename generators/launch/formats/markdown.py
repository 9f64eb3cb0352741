"""Markdown: the commands in fenced and indented code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from generators.launch.formats.base import Document, Format, Item, placed
from generators.launch.formats.dockerfile import Dockerfile
from generators.launch.formats.python_lists import Python
from generators.launch.formats.shell_script import ShellScript
from generators.launch.formats.yaml_lists import Yaml

_BY_LANGUAGE: dict[str, Format] = {
    **dict.fromkeys(("yaml", "yml", "json"), Yaml()),
    **dict.fromkeys(("python", "py"), Python()),
    **dict.fromkeys(("dockerfile", "docker"), Dockerfile()),
}
_SHELL = ShellScript()
_PROMPT = re.compile(r"^(?:\([\w.-]+\) )?[$#>] (?=\S)", re.MULTILINE)


class Markdown:
    """Code of a language that another format reads is read by it, all other code as shell."""

    name = "Markdown"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in (".md", ".markdown", ".mdx")

    def sniffs(self, text: str) -> bool:
        return re.search(r"^[ ]{0,3}(?:```|~~~)", text, re.MULTILINE) is not None

    def items(self, document: Document) -> Iterator[Item]:
        from markdown_it import MarkdownIt

        for token in MarkdownIt("commonmark").disable("inline").parse(document.text):
            if token.type in ("fence", "code_block") and token.map:
                yield from self.block(document, token)

    def block(self, document: Document, token) -> Iterator[Item]:
        first = token.map[0] + document.line + (token.type == "fence")
        language = token.info.split()[0].lower() if token.info.split() else ""
        text = _PROMPT.sub(lambda m: " " * len(m[0]), token.content)
        try:
            start = document.lines.start(first)
        except IndexError:
            return
        stands = document.text.startswith(token.content, start)
        part = Document(document.source, text, first, start if stands else None)
        form = _BY_LANGUAGE.get(language, _SHELL)
        yield from placed(form.items(part), part)
