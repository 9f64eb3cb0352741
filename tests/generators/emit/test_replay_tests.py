"""The replay target: one file a family, of plain data, for what can be replayed."""

import ast
import subprocess
import sys
from dataclasses import replace

import pytest

from generators.cases.domain import Domain
from generators.cases.file_format import Event, read_cases
from generators.common.errors import BadInput
from generators.emit import write
from generators.emit.jobs import NotReplayed, named
from generators.search.configurations import search
from generators.sglang.emit import replay_tests
from generators.sglang.emit.replay_tests import families, resume_depths
from spec.sglang.checkpoints import node_of
from spec.sglang.engine import ENGINE
from spec.sglang.releases import DESIGNS
from spec.sglang.scheduler import Scheduler
from spec.sglang.trace_runner import acted_out

MEGAMOE = "generated_tests/cases/kimi-k3-b300-megamoe.json"
ORDERS = "generated_tests/cases/flags-that-meet-0.5.23.json"


def order(root, id):
    """One of the committed orders of events of the newest release."""
    return next(case for case in read_cases(root / ORDERS).cases if case.id.startswith(id))


@pytest.fixture
def cases(request):
    return read_cases(request.config.rootpath / MEGAMOE).cases


def emitted(file_cases, design="sglang-0.5.18"):
    return replay_tests.modules(write._environment(), [(case, design) for case in file_cases])


def test_each_family_has_a_file_and_each_case_its_place(cases):
    found, _ = families([(case, "sglang-0.5.18") for case in cases])
    assert {name: len(kept) for name, kept in found.items()} == {
        "decode": 1,
        "verify": 1,
        "extend": 2,
    }


def test_a_case_that_is_found_twice_is_written_once(cases):
    found, _ = families([(case, "sglang-0.5.18") for case in (*cases, *cases)])
    assert sum(map(len, found.values())) == len(cases)


def test_what_is_found_in_two_designs_is_two_cases_named_by_them(cases):
    decode = cases[0]
    found = named(
        [(decode, "sglang-0.5.17"), (decode, "sglang-0.5.18"), (cases[1], "sglang-0.5.18")]
    )
    assert list(found) == [
        f"{decode.id}-sglang-0.5.17",
        f"{decode.id}-sglang-0.5.18",
        cases[1].id,
    ]


STRATEGIES = [("extra_buffer", True), ("extra_buffer", False), ("extra_buffer_lazy", True)]


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(("strategy", "overlap"), STRATEGIES)
@pytest.mark.parametrize("drafts", [0, 4, 40])
def test_what_the_grids_decide_is_left_by_its_own_trace(name, strategy, overlap, drafts):
    design = DESIGNS[name]
    domain = Domain(
        {
            "page_size": (1, 64, 128),
            "dcp_size": (1, 3, 8),
            "mamba_track_interval": (64, 96, 256),
            "strategy": (strategy,),
            "overlap": (overlap,),
            "speculative_num_draft_tokens": (drafts,),
        }
    )
    for case in search(design, domain, close=False).cases:
        c = replace(ENGINE.configuration_of(case.configuration), overlap=overlap)
        *_, last = acted_out(Scheduler(design, c), case.trace)
        if case.outcome == "fault":
            assert last.stopped
            continue
        made = [d.checkpoint for d in last.donated if d.checkpoint.saved]
        left = [(int(node_of(design, c, one)), int(one.state)) for one in made]
        assert (case.depths["node"], case.depths["state"]) in left, case.id


def test_a_case_that_a_grammar_ends_says_so(root):
    files, _ = emitted([order(root, "slot-overwritten-extra-buffer-without-overlap-spec")])
    assert "grammar=True" in files["test_slot_overwritten.py"]


def test_what_the_proposals_do_not_repair_is_predicted_to_stay_wrong(root):
    _, predicted = emitted([order(root, "slot-overwritten-extra-buffer-overlap-alone")])
    assert {name.split("::")[1].split("[")[0] for name in predicted} == {
        replay_tests.DIVERGES,
        replay_tests.RIGHT,
    }
    _, predicted = emitted([order(root, "slot-overwritten-extra-buffer-overlap-speculative")])
    assert {name.split("::")[1].split("[")[0] for name in predicted} == {
        replay_tests.DIVERGES,
        replay_tests.OPEN,
    }


def test_events_that_make_no_trace_are_refused_with_the_name_of_their_case(cases):
    with pytest.raises(BadInput, match=rf"case {cases[0].id}: its decode of 2 tokens"):
        emitted([replace(cases[0], trace=(Event("extend", 5, 5), Event("decode", 2, 9)))])


def test_what_is_not_replayed_is_told_with_its_reason(root, cases):
    unwritten = replace(cases[0], depths={"state": None, "node": 512, "replayed": None})
    file = read_cases(root / MEGAMOE)
    assert [*write.left_out([file], ["replay"])] == []
    (sentence,) = write.left_out([replace(file, cases=(unwritten, *cases[1:]))], ["replay"])
    assert sentence.startswith(f"no replay is written for {unwritten.id}: no forward pass wrote")


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
        replay_tests.STOPPED,
        replay_tests.RIGHT,
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
    assert families([(unwritten, "sglang-0.5.18")])[0] == {}
    file = read_cases(request.config.rootpath / MEGAMOE)
    assert write.replays([replace(file, cases=(unwritten,))]) == {}


def test_the_tests_are_those_of_the_manifest_and_a_gpu_can_be_required(root):
    pytest.importorskip("torch")
    folder = root / "generated_tests" / "replay"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    plugin = [
        "-p",
        "generators.emit.run.pytest_plugin",
        "--predictions",
        str(folder / "manifest.json"),
    ]
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
