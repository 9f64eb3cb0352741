"""How Sphinx makes the documentation site: ``tox -e site`` writes it to out/site.

The pages are plain Markdown that reads as well in the repository. The source folder is the repository itself, so that
links between README, CONTRIBUTING and docs/ are the same in both; a link that leads nowhere fails the build.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

project = "gridproof"
author = "the gridproof authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/*/*.md",
    "benchmarks/README.md",
    "generators/README.md",
]
exclude_patterns = [".*", "out", "build", "dist"]
root_doc = "docs/index"
myst_heading_anchors = 4

html_theme = "furo"
html_title = "gridproof"
html_permalinks = True
templates_path = ["_templates"]
# The front page of the site, which sends to docs/index.html.
html_additional_pages = {"index": "redirect.html"}

# The pages of the side bar: a caption, and the pages under it.
SIDE_BAR = {
    "Start": ["README", "docs/found", "docs/limits", "docs/version-2"],
    "Use": ["docs/search", "docs/replay", "docs/reference/findings", "docs/reference/published"],
    "Understand": [
        "docs/theory",
        "docs/architecture",
        "docs/vocabulary",
        "generators/README",
        "docs/decisions/*",
    ],
    "Reference": [
        "docs/reference/theorems",
        "docs/reference/designs",
        "docs/reference/coverage",
        "docs/reference/public-reports",
        "benchmarks/README",
    ],
    "Contribute": [
        "CONTRIBUTING",
        "docs/adding-a-release",
        "docs/releasing",
        "SECURITY",
        "CHANGELOG",
    ],
}


def _side_bar(folder: Path) -> str:
    lines = []
    for caption, pages in SIDE_BAR.items():
        there = [f"/{page}" for page in pages if "*" in page or (folder / f"{page}.md").is_file()]
        lines += ["", "```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *there]
        lines.append("```")
    return "\n".join(lines) + "\n"


def _add_side_bar(app: Any, name: str, source: list[str]) -> None:
    """Put the side bar at the end of the index, which has it on the site alone."""
    if name == root_doc:
        source[0] += _side_bar(Path(app.srcdir))


def setup(app: Any) -> None:
    """Let Sphinx call the above when it reads a page."""
    app.connect("source-read", _add_side_bar)
