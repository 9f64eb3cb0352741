"""A second engine goes through every command, with nothing above the seam changed for it."""

import importlib
import json
import os
import subprocess
import sys

import pytest

from gridproof import cli
from spec import engine as registry
from tests.gridproof.test_cli import valid

# The engine itself, each release as a module that emitted tests import.
RELEASED = {
    "1.0": "def cached_under(block, keep, n):\n    return n // block * block if n % keep == 0 else None\n",
    "2.0": "import math\ndef cached_under(block, keep, n):\n"
    "    return n // block * block if n % math.lcm(block, keep) == 0 else None\n",
}


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    monkeypatch.setitem(registry.PACKAGES, "toy", "tests.toy.{room}")
    monkeypatch.chdir(tmp_path)
    importlib.reload(cli)  # its options are made from the fields of the engines that are known
    yield
    monkeypatch.undo()
    importlib.reload(cli)


def test_its_theorem_is_proved_and_refuted_by_the_release_that_breaks_it(gridproof):
    document = valid(gridproof("prove", "--engine", "toy", "--format", "json").out)
    (theorem,) = document["theorems"]
    assert theorem["verdict"] == "proved" and set(theorem["symbolic"]) == {
        "block",
        "keep",
        "tokens",
    }
    assert [h["status"] for h in theorem["hypotheses"]] == ["necessary"]
    assert [r["design"] for r in theorem["refutes"]] == ["toy-1.0"]


def searched(gridproof, *arguments):
    return gridproof("search", "--block", "4..16:4", "--keep", "8", "--format", "json", *arguments)


def test_its_faults_are_found_among_configurations_and_among_orders_of_events(gridproof):
    run = searched(gridproof, "--engine", "toy==1.0", "--kind", "configurations")
    document = valid(run.out)
    assert run.code == 1 and document["complete"]
    assert [c["class"] for c in document["cases"]] == [{"period": 2}, {"period": 3}]
    run = searched(gridproof, "--engine", "toy==1.0", "--kind", "traces")
    (case,) = valid(run.out)["cases"]
    assert case["configuration"] == {"block": 16, "keep": 8, "engine": "toy==1.0"}
    assert case["depths"] == {"state": 8, "node": 0, "replayed": 8}
    for kind in ("configurations", "traces", "all"):
        kinds = () if kind == "all" else ("--kind", kind)
        run = searched(gridproof, "--engine", "toy", *kinds)
        assert run.code == 0 and valid(run.out)["complete"]


def test_a_field_of_another_engine_is_refused(gridproof):
    run = gridproof("search", "--engine", "toy", "--overlap", "off")
    assert run.code == 2 and "--overlap" in run.err and "toy" in run.err


def test_tests_of_its_cases_fail_on_the_release_that_is_wrong_and_pass_on_the_right_one(
    gridproof, tmp_path, root
):
    assert searched(gridproof, "--engine", "toy==1.0", "--out", "cases.json").code == 1
    assert gridproof("emit", "cases.json", "--target", "toy", "--out", "made").code == 0
    text = (tmp_path / "made/toy/test_keep.py").read_text()
    assert "As predicted for each release:" in text and "2 fail: 1.0" in text
    for release, module in RELEASED.items():
        folder = tmp_path / release
        folder.mkdir()
        (folder / "toyd.py").write_text(module)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
                *("-p", "generators.emit.run.pytest_plugin", "--subject", release),
                *("--predictions", "made/toy/manifest.json", "made/toy"),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(folder)])},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "2.0/toyd.py").write_text(RELEASED["1.0"])
    assert (
        subprocess.run(
            done.args,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(tmp_path / "2.0")])},
            capture_output=True,
        ).returncode
        == 1
    )


def test_its_launches_are_judged_and_mended(gridproof):
    run = gridproof("check", "--engine", "toy==1.0", "--", "toyd", "run", "--keep", "40")
    assert run.code == 1 and "error GP901: a state is kept at a length" in run.out
    assert "fix (safe): --keep 16" in run.out
    assert gridproof("check", "--", "toyd", "run", "--keep", "40").code == 0


def test_its_code_and_its_cases_are_explained(gridproof, tmp_path):
    assert "toyd run --keep 8" in gridproof("explain", "GP901").out
    searched(gridproof, "--engine", "toy==1.0", "--kind", "traces", "--out", "cases.json")
    run = gridproof("explain", "cases.json", "--html", "page.html")
    assert run.code == 0 and "8 tokens replayed" in run.out
    assert "block" in (tmp_path / "page.html").read_text()


def test_designs_are_listed_beside_those_of_the_first_engine(gridproof):
    listed = json.loads(gridproof("designs", "--format", "json").out)["designs"]
    assert {d["engine"] for d in listed} == {"sglang", "toy"}
