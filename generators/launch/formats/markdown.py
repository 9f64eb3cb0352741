"""Markdown: the commands in fenced and indented code."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from generators.launch.commands import is_started_in, may_hold_a_launch
from generators.launch.formats.base import Document, Format, Item, Problem, placed
from generators.launch.formats.dockerfile import Dockerfile
from generators.launch.formats.python_lists import Python
from generators.launch.formats.shell_script import ShellScript
from generators.launch.formats.yaml_lists import FENCE, Yaml

_BY_LANGUAGE: dict[str, Format] = {
    **dict.fromkeys(("yaml", "yml", "json"), Yaml()),
    **dict.fromkeys(("python", "py"), Python()),
    **dict.fromkeys(("dockerfile", "docker"), Dockerfile()),
}
_SHELL = ShellScript()
# A block of a documentation site, whose text is indented below its title.
_ADMONITION = re.compile(
    r"^([ ]*)(?:\?\?\?\+?|!!!|===) [^\n]*\n((?:\1 {4}[^\n]*(?:\n|\Z)|[ \t]*\n)+)", re.MULTILINE
)
_NO_LINE_END = re.compile(r"[^\n]")
# Languages of fences that hold a shell's text, with its prompts.
_SHELLS = ("", "bash", "cmd", "console", "powershell", "ps1", "sh", "shell", "shell-session", "zsh")
_PROMPT = re.compile(
    r"^(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+(?::\S*)? ?)?([$#>]|PS>) (?=(\S[^\n]*))", re.MULTILINE
)


def format_of_language(language: str) -> Format:
    """The format that reads code of a language; shell text for a language that no format is for."""
    return _BY_LANGUAGE.get(language.lower(), _SHELL)


class Markdown:
    """Code of a language that another format reads is read by it, all other code as shell."""

    name = "Markdown"

    def claims(self, path: PurePath) -> bool:
        return path.suffix.lower() in (".md", ".markdown", ".mdx")

    def sniffs(self, text: str) -> bool:
        return FENCE.search(text) is not None

    def items(self, document: Document) -> Iterator[Item]:
        from markdown_it import MarkdownIt

        for match in _ADMONITION.finditer(document.text):
            first = document.lines.of(match.start(2))
            text = textwrap.dedent(match[2])
            yield from self.items(replace(document, text=text, line=first, offset=None))
        text = _ADMONITION.sub(lambda m: _NO_LINE_END.sub(" ", m[0]), document.text)
        document = replace(document, text=text)
        for token in MarkdownIt("commonmark").disable("inline").parse(document.text):
            if token.type in ("fence", "code_block") and token.map:
                yield from self.block(document, token)

    def block(self, document: Document, token) -> Iterator[Item]:
        if not may_hold_a_launch(token.content):
            return
        first = token.map[0] + document.line + (token.type == "fence")
        language = token.info.split()[0].lower() if token.info.split() else ""
        text = token.content
        if language in _SHELLS:
            text = _PROMPT.sub(_without_prompt, text)
        try:
            start = document.lines.start(first)
        except IndexError:
            return
        offset = (
            start
            if document.offset == 0 and document.text.startswith(token.content, start)
            else None
        )
        part = Document(document.source, text, first, offset, is_prose=document.is_prose)
        form = format_of_language(language)
        found = list(form.items(part))
        if any(isinstance(item, Problem) and item.of_all for item in found):
            # A fence with another language than it says, or with dots for what is left out.
            found = list(_SHELL.items(replace(part, is_prose=True)))
        yield from placed(found, part)


def _without_prompt(match: re.Match[str]) -> str:
    """A prompt as blanks; a `#` is one only where a command that starts an engine follows, else it begins a comment."""
    if match[1] == "#" and not is_started_in(match[2]):
        return match[0]
    return " " * len(match[0])
