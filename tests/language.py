"""The private dialect that a reader from outside cannot follow, in one list, and where it is looked for.

`WORDS` gives each word, in the sense in which it was private, and what to write instead.  `COVERED` names the files that
are free of it; a file that is cleaned is added there and stays clean.
"""

from __future__ import annotations

import ast
import configparser
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

WORDS: dict[str, tuple[str, str]] = {
    r"\b(told|tells|telling|retell\w*)\b": ("told", "given, printed, known, described, reported"),
    r"\b(is|are|was|were|be) said\b|\bsaid (of|to be|beforehand)\b": ("said", "stated, listed"),
    r"\b(hang|hangs|hung|hanging)\b": ("hung", "attached to, inserted under, cached under"),
    r"\bfollowers?\b": ("follower", "next request"),
    r"\bcolours?\b": ("colour", "passes or fails; of a terminal: colors"),
    r"\b(red|green) (on|test|tests)\b|\b(is|are|goes|go|turns?|stays?) (red|green)\b": (
        "red",
        "fails, passes",
    ),
    r"\bholes?\b": ("hole", "unresolved value"),
    r"\bklass(es)?\b": ("klass", "failure class"),
    r"\bresting\b": ("resting", "evidence"),
    r"\bof one's own\b": ("of one's own", "your own, own"),
    r"(?<!file )\breaders?\b": ("reader", "producer, for what writes checkpoints"),
    r"\bso[- ]manieth\b|\bof so many\b|\bevery so many\b": ("so many", "a given number of"),
    r"\bin the middle of nowhere\b|\balone in the world\b": ("a riddle", "a plain sentence"),
    r"\bamiss\b": ("amiss", "wrong, a problem with"),
    r"\ban other\b": ("an other", "another"),
}

# Globs from the root of the repository.
COVERED = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "tox.ini", "pyproject.toml"),
    *("docs/*.md", "docs/decisions/*.md", "docs/conf.py"),
    *("benchmarks/README.md", "recipes/**/*.toml", "recipes/**/*.py", "action.yml"),
    *(".github/**/*.md", ".github/**/*.yml", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml"),
    *(
        "docs/reference/*.md",
        "generators/README.md",
        "benchmarks/*.py",
        "spec/**/*.py",
        "gridproof/**/*.py",
    ),
    *("generators/engines.py", "generators/common/*.py", "generators/cases/*.py"),
    *("generators/launch/**/*.py", "generators/check/*.py", "generators/sglang/*.py"),
    *("generators/search/**/*.py", "generators/sglang/search/**/*.py", "generators/explain/*.py"),
    *("generators/sglang/explain/*.py", "generators/emit/**/*.py", "gpu_checks/**/*.py"),
    *(
        "generators/sglang/launch/*.py",
        "generators/sglang/launch/*.toml",
        "generators/sglang/check/*.py",
    ),
    *("tests/test_docs.py", "tests/test_project_files.py"),
)


def private_words(text: str) -> Iterator[tuple[str, str]]:
    """Each private word of a text as it stands there, and what to write instead."""
    for pattern, (_, instead) in WORDS.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield match[0], instead


def prose(path: Path) -> str:
    """What a person reads in a file: without code, paths and what a program parses."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return python_prose(text)
    if path.suffix == ".md":
        text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    if path.name == "tox.ini":
        sections = configparser.ConfigParser(interpolation=None)
        sections.read_string(text)
        return "\n".join(sections[name].get("description", "") for name in sections)
    if path.name == "pyproject.toml":
        return str(tomllib.loads(text)["project"]["description"])
    return text


def python_prose(source: str) -> str:
    """The texts and comments of a module, and its names as words; a text of one word is a key and no prose."""
    tree = ast.parse(source)
    parts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            parts.append(re.sub(r"`[^`]*`", "", node.value))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            parts.append(node.name.replace("_", " "))
        elif isinstance(node, ast.arg):
            parts.append(node.arg.replace("_", " "))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            parts.append(token.string)
    return "\n".join(parts)


def findings(root: Path) -> list[str]:
    """Every private word in what is covered, with its file and what to write instead."""
    found = []
    for path in sorted({path for pattern in COVERED for path in root.glob(pattern)}):
        for word, instead in private_words(prose(path)):
            found.append(f"{path.relative_to(root)}: {word!r}, write: {instead}")
    return found
