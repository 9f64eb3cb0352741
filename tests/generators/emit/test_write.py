"""Emitted tests: reproducible, readable alone, predicted for every release, red and green where they should be."""

import ast
import json
import subprocess
import sys

import pytest

from generators.cases.domain import Domain
from generators.cases.file_format import read_cases
from generators.emit import manifest, write
from generators.emit.run import model_designs
from generators.search.configurations import search
from spec.sglang.releases import DESIGNS, RELEASES, design_named

ROW = Domain({"page_size": (128,), "mamba_track_interval": (128,)})
OLD = Domain({"page_size": (16,), "dcp_size": (6,), "mamba_track_interval": (256,)})


@pytest.fixture(scope="module")
def committed(request):
    return request.config.rootpath / "generated_tests"


def case_files(folder):
    return {path.name: read_cases(path) for path in sorted((folder / "cases").glob("*.json"))}


TIER = "small"  # what is committed


def test_what_is_committed_is_what_is_emitted(committed):
    for path, text in write.folder(case_files(committed), write.targets(), TIER).items():
        assert (committed / path).read_text(encoding="utf-8") == text, path


def test_two_runs_give_the_same_bytes(committed):
    files = case_files(committed)
    assert write.folder(files, write.targets(), TIER) == write.folder(files, write.targets(), TIER)


def test_the_committed_cases_are_found_again(committed):
    found = search(
        design_named("sglang-0.5.18"),
        Domain({"page_size": (64,), "dcp_size": (8,), "page_size_given": (False,)}),
    )
    kept = read_cases(committed / "cases" / "kimi-k3-b300-balanced.json")
    assert kept.cases == found.cases


MAY_IMPORT = {"model": set(), "sglang": {"sglang", "torch"}, "replay": {"gpu_checks", "spec"}}


@pytest.mark.parametrize("target", write.targets())
def test_emitted_files_stand_alone(committed, target):
    support = {path.stem for path in (committed / target).glob("gridproof_*.py")}
    for path in (committed / target).glob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        modules |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        packages = {module.partition(".")[0] for module in modules}
        allowed = {"pytest", *support, *MAY_IMPORT[target]}
        assert packages <= allowed | sys.stdlib_module_names
        assert "gridproof emit" in ast.get_docstring(tree)


def predicted(committed, target="sglang"):
    return manifest.read(committed / target / "manifest.json")


def test_the_predictions_of_the_kimi_k3_launch(committed):
    tests = predicted(committed).tests
    name = "test_decode.py::test_decode_snapshots_are_depths_the_tree_can_name"
    masks = tests[f"{name}[page64-dcp8-interval256-chunk64-to1280]"].by_subject
    assert masks["0.5.18"] == {"outcome": "fails", "observed": [256, 512, 768, 1024, 1280]}
    assert masks["0.5.19"] == {"outcome": "passes", "observed": [512, 1024]}
    name = "test_decode.py::test_a_follower_of_a_decode_resumes_where_its_state_stopped"
    for stop, expected in {
        256: {"outcome": "passes", "observed": {"node": 0, "state": None}},
        768: {"outcome": "fails", "observed": {"node": 512, "state": 768}},
        1280: {"outcome": "fails", "observed": {"node": 1024, "state": 1280}},
    }.items():
        test = tests[f"{name}[page64-dcp8-interval256-chunk64-to{stop}]"].by_subject
        assert test["0.5.18"] == expected
        assert test["0.5.19"]["outcome"] == "passes"


def test_every_test_has_a_prediction_for_every_release_and_both_colours_occur(committed):
    document = predicted(committed)
    assert set(document.subjects) == {*RELEASES, f"{RELEASES[-1]}+insert-guard"}
    for name, test in document.tests.items():
        assert set(test.by_subject) == set(document.subjects), name
    for release in RELEASES:
        outcomes = {t.by_subject[release]["outcome"] for t in document.tests.values()}
        assert {"passes", "fails"} <= outcomes


def test_a_manifest_is_read_as_it_was_written(committed):
    for target in write.targets():
        text = (committed / target / "manifest.json").read_text(encoding="utf-8")
        assert manifest.parse(json.loads(text)).text() == text


def test_each_tier_has_the_tests_of_the_smaller_ones():
    tests = [
        set(manifest.parse(json.loads(write.tests([], "sglang", tier)["manifest.json"])).tests)
        for tier in ("tiny", "small", "standard")
    ]
    assert tests[0] < tests[1] < tests[2]


def constant_claims(tests, subject):
    """The claims that observe one thing in all their runs on a subject, or have but one run."""
    by_name = {name: test.by_subject[subject] for name, test in tests.items()}
    compared = {n: p["observed"] for n, p in by_name.items() if p["outcome"] != "not comparable"}
    return manifest.constants(compared)


@pytest.mark.parametrize("tier", ["tiny", "small", "standard"])
def test_no_claim_observes_one_thing_in_all_its_runs(tier):
    document = manifest.parse(json.loads(write.tests([], "sglang", tier)["manifest.json"]))
    for subject in document.subjects:
        assert constant_claims(document.tests, subject) == {}, subject


# What the replay target measures is no number of tokens: its tests record nothing, and assert on distances.
@pytest.mark.parametrize("target", ["model", "sglang"])
def test_no_committed_claim_observes_one_thing_in_all_its_runs(committed, target):
    document = predicted(committed, target)
    for subject in document.subjects:
        assert constant_claims(document.tests, subject) == {}, subject


def test_a_claim_that_observes_one_thing_is_told_at_the_end_of_a_run(tmp_path):
    predictions = {f"test_it.py::test_it[{n}]": {"outcome": "passes", "observed": 1} for n in "ab"}
    tests = {n: manifest.PredictedTest("small", {"0.5.23": p}) for n, p in predictions.items()}
    assert constant_claims(tests, "0.5.23") == {"test_it.py::test_it": (2, 1)}
    document = manifest.Manifest("sglang", "small", ("0.5.23",), {}, tests)
    (tmp_path / "manifest.json").write_text(document.text())
    body = (
        "import pytest\n"
        "@pytest.mark.parametrize('run', ['a', 'b'])\n"
        "def test_it(run, record_property):\n    record_property('observed', 1)\n"
    )
    done = run_folder(tmp_path, body, "0.5.23")
    assert "OBSERVED NOTHING ELSE test_it.py::test_it: 1 in all its 2 runs" in done.stdout


def run_model(folder, subject, *options):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *options,
        str(folder),
    ]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(subject), cwd=folder
    )


def environment(subject):
    import os
    from pathlib import Path

    root = str(Path(__file__).parents[3])
    return {**os.environ, "GRIDPROOF_DESIGN": subject, "PYTHONPATH": root}


@pytest.mark.parametrize("subject", ["sglang-0.5.17", "sglang-0.5.18", "sglang-0.5.23"])
def test_model_tests_have_their_predicted_colours(committed, subject):
    assert model_designs.run(committed / "model", subject) == 0


def test_model_tests_of_other_faults_have_their_predicted_colours(tmp_path):
    files = {
        "row.json": search(design_named("sglang-0.5.18"), ROW, close=False),
        "grid.json": search(design_named("sglang-0.5.17"), OLD, close=False),
    }
    for path, text in write.folder(files, ["model"]).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    tests = predicted(tmp_path, "model").tests.values()
    assert {t.by_subject["sglang-0.5.18"]["outcome"] for t in tests} == {"passes", "fails"}
    for subject in DESIGNS:
        done = run_model(
            tmp_path / "model",
            subject,
            *("-p", "generators.emit.run.pytest_plugin", "--subject", subject),
            *("--predictions", str(tmp_path / "model" / "manifest.json")),
        )
        assert done.returncode == 0, done.stdout


def test_without_predictions_a_red_test_is_red(committed):
    assert run_model(committed / "model", "sglang-0.5.18").returncode == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outcome": "passes"}, "predicted passes"),
        ({"observed": [1]}, "with [1]"),
    ],
)
def test_a_wrong_prediction_fails_the_run(committed, tmp_path, change, said):
    document = predicted(committed, "model")
    found = (t.by_subject["sglang-0.5.18"] for t in document.tests.values())
    next(p for p in found if p["outcome"] == "fails").update(change)
    path = tmp_path / "manifest.json"
    path.write_text(document.text())
    options = (
        "-p",
        "generators.emit.run.pytest_plugin",
        "--subject",
        "sglang-0.5.18",
        "--predictions",
        str(path),
    )
    done = run_model(committed / "model", "sglang-0.5.18", *options)
    assert done.returncode == 1 and "SURPRISE" in done.stdout and said in done.stdout


def test_a_test_that_was_not_run_fails_the_run(committed):
    path = str(committed / "model" / "manifest.json")
    options = ("-p", "generators.emit.run.pytest_plugin", "--predictions", path, "-k", "verify")
    done = run_model(committed / "model", "sglang-0.5.23", *options, "--subject", "sglang-0.5.23")
    assert done.returncode == 1 and "not run" in done.stdout


def test_an_unknown_subject_is_refused(committed):
    path = str(committed / "model" / "manifest.json")
    options = (
        "-p",
        "generators.emit.run.pytest_plugin",
        "--predictions",
        path,
        "--subject",
        "sglang-9",
    )
    done = run_model(committed / "model", "sglang-0.5.23", *options)
    assert done.returncode == 4 and "no prediction for sglang-9" in done.stderr


def write_manifest(folder, **predictions):
    """A manifest of one test, ``test_it``, with what is predicted of it on each subject."""
    by_subject = {name.replace("_", "."): p for name, p in predictions.items()}
    tests = {"test_it.py::test_it": manifest.PredictedTest("small", by_subject)}
    document = manifest.Manifest("sglang", "small", tuple(by_subject), {}, tests)
    (folder / "manifest.json").write_text(document.text())


PREDICTED = {"outcome": "passes", "observed": 1}


def run_folder(tmp_path, body, subject, *options):
    (tmp_path / "test_it.py").write_text(body)
    if not (tmp_path / "manifest.json").exists():
        write_manifest(tmp_path, **{"0_5_23": PREDICTED})
    named = ("--subject", subject) if subject else ()
    return run_model(
        tmp_path,
        "any",
        *(
            "-p",
            "generators.emit.run.pytest_plugin",
            "--predictions",
            str(tmp_path / "manifest.json"),
        ),
        *("--results", str(tmp_path / "results" / f"{subject}.json")),
        *named,
        *options,
    )


RECORDS = "def test_it(record_property):\n    record_property('observed', {})\n"
LACKS = (
    "import unittest\n"
    "class NotComparable(unittest.SkipTest): ...\n"
    "def test_it():\n    raise NotComparable('no symbol x in 9.9 for verify')\n"
)


def test_a_release_that_is_not_modelled_is_held_against_the_newest(tmp_path):
    same = run_folder(tmp_path, RECORDS.format(1), "0.5.24")
    assert same.returncode == 0 and "held against 0.5.23" in same.stdout
    other = run_folder(tmp_path, RECORDS.format(2), "0.5.24")
    assert other.returncode == 1 and "DRIFT test_it.py::test_it" in other.stdout


def test_what_cannot_be_compared_is_no_failure_of_the_engine(tmp_path):
    done = run_folder(tmp_path, LACKS, "0.5.23")
    assert done.returncode == 3 and "NOT COMPARABLE" in done.stdout
    assert "no symbol x" in done.stdout and "SURPRISE" not in done.stdout


def test_code_that_should_be_lacking_and_is_not_is_told(tmp_path):
    write_manifest(tmp_path, **{"0_5_17": {"outcome": "not comparable", "observed": None}})
    assert run_folder(tmp_path, LACKS, "0.5.17").returncode == 3
    done = run_folder(tmp_path, RECORDS.format(1), "0.5.17")
    assert done.returncode == 1 and "SURPRISE" in done.stdout


def test_a_source_tree_is_tested_in_place_of_a_wheel(tmp_path):
    tree = tmp_path / "checkout" / "python" / "sglang"
    (tree / "srt").mkdir(parents=True)
    (tree / "__init__.py").write_text("LAYERS = 1\n")
    body = "import sglang\n" + RECORDS.format("sglang.LAYERS")
    done = run_folder(tmp_path, body, None, "--source", str(tmp_path / "checkout"))
    assert done.returncode == 0 and "source is not modelled" in done.stdout
    (tree / "_version.py").write_text("__version__ = version = '0.5.23+g1234'\n")
    done = run_folder(tmp_path, body, None, "--source", str(tmp_path / "checkout" / "python"))
    assert done.returncode == 0 and "predictions for 0.5.23" in done.stdout
    done = run_folder(tmp_path, body, None, "--source", str(tmp_path / "results"))
    assert done.returncode == 4 and "holds no sglang package" in done.stderr


def test_code_that_is_lacking_unpredicted_is_no_success(tmp_path):
    lacks = LACKS.replace("def test_it", "def test_two") + RECORDS.format(1)
    by_subject = {"0.5.23": PREDICTED}
    tests = {
        f"test_it.py::{n}": manifest.PredictedTest("small", by_subject)
        for n in ("test_it", "test_two")
    }
    document = manifest.Manifest("sglang", "small", ("0.5.23",), {}, tests)
    (tmp_path / "manifest.json").write_text(document.text())
    done = run_folder(tmp_path, lacks, "0.5.23")
    assert done.returncode == 1 and "predicted to be comparable" in done.stdout


@pytest.mark.parametrize(
    "change",
    [
        {"tests": {}},
        {"tests": []},
        {"tier": "huge"},
        {"subjects": ["0.5.23", "0.5.24"]},
        {"schema": "x"},
    ],
    ids=str,
)
def test_a_bad_manifest_is_refused_with_a_sentence(tmp_path, change):
    write_manifest(tmp_path, **{"0_5_23": PREDICTED})
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    done = run_folder(tmp_path, RECORDS.format(1), "0.5.23")
    assert done.returncode == 4 and "not a manifest" in done.stderr


def test_results_that_cannot_be_written_are_refused_before_the_run(tmp_path):
    done = run_folder(tmp_path, RECORDS.format(1), "0.5.23", "--results", str(tmp_path))
    assert done.returncode == 4 and "cannot be written" in done.stderr


def test_a_smaller_tier_leaves_tests_out(tmp_path):
    done = run_folder(tmp_path, RECORDS.format(2), "0.5.23", "--tier", "tiny")
    assert "1 deselected" in done.stdout and "0 predicted" in done.stdout


def test_the_matrix_tells_what_was_seen_on_each_release(tmp_path, capsys):
    from generators.emit.run import release_table

    run_folder(tmp_path, RECORDS.format(1), "0.5.23")
    assert release_table.main(tmp_path / "results") == 0
    run_folder(tmp_path, RECORDS.format(2), "0.5.24")
    capsys.readouterr()
    assert release_table.main(tmp_path / "results") == 1
    assert "1 NOT AS PREDICTED" in capsys.readouterr().out
    assert release_table.main(tmp_path / "none") == 3
    (tmp_path / "results" / "bad.json").write_text("{}")
    assert release_table.main(tmp_path / "results") == 2
