"""The names that docs/vocabulary.md gives as SGLang's occur in the code of the newest modelled release."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from spec.sglang.releases import RELEASES
from tests.engines.sglang.comparison import engine

PAGE = Path(__file__).parents[3] / "docs" / "vocabulary.md"


def names():
    """The code words of the column of SGLang."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        if len(cells) == 6:
            yield from re.findall(r"`(\w+)`", cells[3])


@pytest.fixture(scope="module")
def words():
    """Every word of the engine's Python files."""
    if engine.release() != RELEASES[-1]:
        pytest.skip(f"the page speaks of {RELEASES[-1]}")
    (folder,) = find_spec("sglang.srt").submodule_search_locations
    texts = (path.read_text(encoding="utf-8") for path in Path(folder).rglob("*.py"))
    return {word for text in texts for word in re.findall(r"\w+", text)}


def test_the_page_has_many_names():
    assert len(set(names())) >= 30


def test_each_name_of_the_engine_occurs_in_its_code(words):
    assert set(names()) - words == set()


def test_a_name_that_the_engine_does_not_have_is_noticed(words):
    assert "mamba_checkpoint_grids" not in words
