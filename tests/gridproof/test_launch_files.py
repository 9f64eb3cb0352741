"""`check` on files as people write them: which launches stand in them, with which flags, and what is found of them."""

import json
import tomllib
from pathlib import Path

import pytest

from generators.check.sources import Found, LaunchReader
from tests.gridproof.test_cli import valid

FILES = tomllib.loads(
    Path(__file__).parents[1].joinpath("data/launch_files.toml").read_text(encoding="utf-8")
)["file"]


@pytest.fixture(params=FILES, ids=lambda file: file["kind"])
def file(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {request.param["name"]: request.param["text"]}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return request.param


def flags(words):
    """Values by flag; what follows a flag belongs to it."""
    found = {}
    for word in words:
        if word.startswith("-") and not word.lstrip("-")[:1].isdigit():
            name, _, value = word.partition("=")
            found[name] = value
        elif found:
            name = list(found)[-1]
            found[name] = f"{found[name]} {word}".strip()
    return found


def test_every_launch_is_found_at_its_line_with_all_its_flags(file):
    found = Found()
    LaunchReader().of_paths([Path(file["name"])], found)
    expected = file.get("launch", [])
    assert [target.line for target in found.targets] == [one["line"] for one in expected]
    for target, one in zip(found.targets, expected, strict=True):
        read, wanted = flags(word.text for word in target.launch.words), flags(one["flags"].split())
        assert read.keys() == wanted.keys()
        assert {name: read[name] for name, value in wanted.items() if value != "*"} == {
            name: value for name, value in wanted.items() if value != "*"
        }


def test_what_is_found_of_a_file_is_what_it_holds(file, gridproof):
    run = gridproof("check", "--format", "json", file["name"])
    if not (expected := file.get("launch")):
        assert run.code == 3 and "no launch command" in run.err
        return
    document = valid(run.out)
    for judged, one in zip(document["configurations"], expected, strict=True):
        assert judged["engine"] == one.get("engine", judged["engine"])
        assert judged["verdict"] == one.get("verdict", judged["verdict"])
        assert one.get("configuration", {}).items() <= judged["configuration"].items()
    codes = {(found["code"], found["severity"]) for found in document["findings"]}
    assert {code for code, severity in codes if severity == "error"} == set(file.get("errors", []))
    assert set(file.get("warnings", [])) <= {c for c, severity in codes if severity == "warning"}
    assert file.get("says", "") in json.dumps(document["findings"])
