"""The replay target: one file a family, of plain data, for what can be replayed."""

import ast
import subprocess
import sys
from dataclasses import replace

import pytest

from generators import emit, replays
from generators.cases import Event, read_cases
from generators.errors import BadInput
from generators.replays import NotReplayed, families, resume_depths

MEGAMOE = "generated_tests/cases/kimi-k3-b300-megamoe.json"


@pytest.fixture
def cases(request):
    return read_cases(request.config.rootpath / MEGAMOE).cases


def emitted(file_cases, design="sglang-0.5.18"):
    return replays.modules(emit._environment(), [(case, design) for case in file_cases])


def test_each_family_has_a_file_and_each_case_its_place(cases):
    found = families([(case, "sglang-0.5.18") for case in cases])
    assert {name: len(kept) for name, kept in found.items()} == {
        "decode": 1,
        "verify": 1,
        "extend": 2,
    }


def test_a_case_that_is_found_twice_is_written_once(cases):
    found = families([(case, "sglang-0.5.18") for case in (*cases, *cases)])
    assert sum(map(len, found.values())) == len(cases)


def test_a_flush_case_leaves_its_inputs_pending(cases):
    decode = cases[0]
    flush = replace(decode, code="GP301", id="flush")
    files, _ = emitted([flush])
    assert "pending=True" in files["test_flush.py"]
    assert "pending" not in emitted([decode])[0]["test_decode.py"]


def test_a_family_of_faults_alone_is_python(cases):
    fault = next(case for case in cases if case.outcome == "fault")
    files, predicted = emitted([fault])
    ast.parse(files["test_extend.py"])
    assert {name.split("::")[1].split("[")[0] for name in predicted} == {
        replays.STOPPED,
        replays.REPAIRED,
    }


def test_a_case_of_one_recurrence_is_run_on_that_alone(cases):
    decode = replace(cases[0], configuration={**cases[0].configuration, "recurrence": "kda"})
    _, predicted = emitted([decode])
    assert {name.rpartition("-")[2] for name in predicted} == {"kda]"}


@pytest.mark.parametrize("depths", [{"state": 0, "node": 512}, {"state": 768, "node": 0}])
def test_a_depth_of_0_is_refused(cases, depths):
    with pytest.raises(BadInput, match="at least 1 token"):
        resume_depths(replace(cases[0], depths=depths))


@pytest.mark.parametrize(
    "depths",
    [{"state": 768, "node": None}, {"state": -1, "node": 512}, {"state": 1 << 20, "node": 64}],
)
def test_what_cannot_be_resumed_says_why(cases, depths):
    with pytest.raises(NotReplayed):
        resume_depths(replace(cases[0], depths=depths))


def test_what_cannot_be_resumed_is_in_no_file(request, cases):
    unwritten = replace(cases[0], depths={"state": -1, "node": 512, "replayed": None})
    assert families([(unwritten, "sglang-0.5.18")]) == {}
    file = read_cases(request.config.rootpath / MEGAMOE)
    assert emit.replay_tests([replace(file, cases=(unwritten,))]) == {}


def test_the_tests_are_those_of_the_manifest_and_a_gpu_can_be_required(root):
    pytest.importorskip("torch")
    folder = root / "generated_tests" / "replay"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    plugin = ["-p", "generators.predictions", "--predictions", str(folder / "manifest.json")]
    ran = subprocess.run(
        [*command, *plugin, "--subject", "cpu", "-k", "short_conv"],
        capture_output=True,
        text=True,
        cwd=root,
    )
    assert "nothing was predicted" not in ran.stdout and "passed" in ran.stdout
    import torch

    if not torch.cuda.is_available():
        ran = subprocess.run(
            [*command, "--require-gpu", "-k", "short_conv"],
            capture_output=True,
            text=True,
            cwd=root,
        )
        assert ran.returncode == 1
        assert "no CUDA device is there" in ran.stdout


def test_events_are_written_with_what_they_add_and_reach(cases):
    decode = replace(cases[0], trace=(Event("extend", 7, 7), Event("decode", 761, 768)))
    text = emitted([decode])[0]["test_decode.py"]
    assert 'Step("extend", 7, 7)' in text and 'Step("decode", 761, 768)' in text
