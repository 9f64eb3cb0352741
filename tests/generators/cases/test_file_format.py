"""Case files: what version 1 held is read as before, and what is wrong with a file is one sentence."""

from __future__ import annotations

import json

import pytest

from generators.cases.file_format import FIRST, SCHEMA, read_cases
from generators.common.errors import BadInput


@pytest.fixture
def committed(root):
    return sorted((root / "generated_tests" / "cases").glob("*.json"))


def as_first(path, folder):
    """The file as version 1 had it."""
    older = folder / path.name
    older.write_text(path.read_text().replace(SCHEMA, FIRST))
    return older


def test_a_file_of_version_1_holds_what_it_held_and_is_written_as_version_2(committed, tmp_path):
    assert committed
    for path in committed:
        older = as_first(path, tmp_path)
        assert json.loads(older.read_text())["schema"] == FIRST
        assert read_cases(older) == read_cases(path)
        assert read_cases(older).document() == json.loads(path.read_text())


def test_a_damaged_file_of_version_1_is_refused_by_its_own_name(committed, tmp_path):
    older = as_first(committed[0], tmp_path)
    document = json.loads(older.read_text())
    document["cases"][0]["trace"][0]["event"] = "arrive"
    older.write_text(json.dumps(document))
    with pytest.raises(BadInput, match=f"not a file of {FIRST}: cases/0/trace/0/event"):
        read_cases(older)


def test_a_file_of_an_engine_that_is_not_modelled_is_refused(committed, tmp_path):
    document = json.loads(committed[0].read_text())
    document["design"] = "steam-1.0"
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(document))
    with pytest.raises(BadInput, match="unknown engine 'steam'"):
        read_cases(path)
