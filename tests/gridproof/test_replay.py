"""`gridproof replay`: its document, its exit codes, what it says of what it cannot do."""

import json
import sys
from importlib import resources

import jsonschema
import pytest

from gpu_checks import choices
from tests.test_docs import examples, squeezed

KIMI = "generated_tests/cases/kimi-k3-b300-megamoe.json"
FAULT = "extend-assertion-relative-off-page-page64-dcp8-interval256-chunk64"


def schema():
    text = resources.files("generators.schemas").joinpath("replay-1.json").read_text("utf-8")
    return json.loads(text)


def case(root, **changes):
    """A file of one case: the decode case of Kimi-K3, with changes."""
    document = json.loads((root / KIMI).read_text(encoding="utf-8"))
    kept = document["cases"][0]
    document["cases"] = [{**kept, **changes}]
    return document


def decoded_to(seq_len):
    """The events of a request that is decoded from its first token on."""
    empty = {"snapshot_depth": None, "slot": None, "node_depth": None}
    return [
        {"event": "extend", "tokens": 1, "seq_len": 1, **empty},
        {"event": "decode", "tokens": seq_len - 1, "seq_len": seq_len, **empty},
        {"event": "finish", "tokens": 0, "seq_len": seq_len, **empty},
    ]


@pytest.fixture
def written(tmp_path):
    def write(document):
        path = tmp_path / "cases.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def with_torch():
    pytest.importorskip("torch")


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "gpu_checks.devices", raising=False)
    monkeypatch.delattr("gpu_checks.devices", raising=False)


@pytest.fixture
def without_a_gpu(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.every_processor
def test_the_document_is_as_its_schema_has_it(gridproof, root, without_a_gpu):
    ran = gridproof("replay", str(root / KIMI), "--format", "json")
    document = json.loads(ran.out)
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert (ran.code, document["device"], document["dtype"]) == (0, "cpu", "float64")
    phases = schema()["properties"]["results"]["items"]["properties"]["phase"]["enum"]
    assert {(r["recurrence"], r["phase"]) for r in document["results"]} == {
        (r, p) for r in choices.RECURRENCES for p in phases
    }
    assert [skip["what"] for skip in document["skipped"]] == [FAULT]


def test_the_schema_knows_the_names_there_are():
    row = schema()["properties"]["results"]["items"]["properties"]
    assert row["recurrence"]["enum"] == list(choices.RECURRENCES)
    assert schema()["properties"]["device"]["enum"] == list(choices.DEVICES)
    assert schema()["properties"]["dtype"]["enum"] == list(choices.DTYPES)


def test_an_aligned_and_a_shifted_control_stand_beside_the_cases(gridproof, root, with_torch):
    ran = gridproof("replay", str(root / KIMI), "--recurrence", "short_conv", "--format", "json")
    results = json.loads(ran.out)["results"]
    observed = {r["case"]: r["observed"] for r in results if r["case"].endswith("control")}
    assert observed == {"aligned-control": "equal", "one-token-off-control": "diverges"}


def test_a_case_of_one_recurrence_is_replayed_on_that_alone(gridproof, root, written, with_torch):
    document = case(root)
    document["cases"][0]["configuration"]["recurrence"] = "lightning"
    ran = gridproof("replay", written(document), "--format", "json")
    assert {r["recurrence"] for r in json.loads(ran.out)["results"]} == {"lightning"}
    ran = gridproof("replay", written(document), "--recurrence", "gdn,mamba2")
    assert (ran.code, "lightning alone" in ran.out) == (3, True)


def test_a_right_case_is_predicted_and_seen_to_be_equal(gridproof, root, written, with_torch):
    depths = {"state": 512, "node": 512, "replayed": 0}
    path = written(case(root, depths=depths, outcome="right", trace=decoded_to(512)))
    ran = gridproof("replay", path, "--recurrence", "short_conv", "--format", "json")
    results = [r for r in json.loads(ran.out)["results"] if not r["case"].endswith("control")]
    assert ran.code == 0
    assert {(r["predicted"], r["observed"]) for r in results} == {("equal", "equal")}


def test_a_replay_that_goes_otherwise_than_predicted_exits_1(
    gridproof, root, monkeypatch, with_torch
):
    from gpu_checks import equal_or_diverges

    monkeypatch.setattr(equal_or_diverges, "predicted", lambda node, state: "equal")
    ran = gridproof("replay", str(root / KIMI), "--recurrence", "short_conv")
    assert ran.code == 1
    ran = gridproof("replay", str(root / KIMI), "--recurrence", "short_conv", "--exit-zero")
    assert ran.code == 0


def test_a_trace_that_does_not_end_as_its_case_says_is_told_and_exits_1(
    gridproof, root, written, with_torch
):
    path = written(case(root, trace=decoded_to(512)))
    ran = gridproof("replay", path, "--recurrence", "short_conv")
    assert ran.code == 1
    assert "contradicted decode-period2" in ran.out and "0 skipped, 1 contradicted" in ran.out
    assert "its trace leaves state 512 on node 512, not state 768 on node 512" in ran.out


def configured(root, **values):
    """The decode case of Kimi-K3 in another configuration."""
    document = case(root)
    document["cases"][0]["configuration"] |= values
    return document


def test_a_strategy_without_slots_is_skipped(gridproof, root, written, with_torch):
    ran = gridproof("replay", written(configured(root, strategy="no_buffer")))
    assert (ran.code, "its strategy no_buffer keeps no slots" in ran.out) == (3, True)


def test_more_drafts_than_can_be_run_are_skipped(gridproof, root, written, with_torch):
    ran = gridproof("replay", written(configured(root, speculative_num_draft_tokens=1_025)))
    assert (ran.code, "it verifies 1,025 draft tokens; at most 1,024" in ran.out) == (3, True)


def test_a_recurrence_of_a_case_that_nobody_knows_is_refused(gridproof, root, written):
    ran = gridproof("replay", written(configured(root, recurrence="rwkv")))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "its recurrence 'rwkv' is unknown; accepted are mamba2" in ran.err


def test_events_of_a_follower_are_skipped(gridproof, root, written, with_torch):
    split = {**decoded_to(768)[-1], "event": "split"}
    ran = gridproof("replay", written(case(root, trace=[*decoded_to(768), split])))
    assert (ran.code, "its event 'split' is not one that a replay serves" in ran.out) == (3, True)


def test_lengths_that_do_not_follow_are_refused_in_one_sentence(gridproof, root, written):
    ran = gridproof("replay", written(case(root, trace=decoded_to(768)[1:])))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "its decode comes before any extend" in ran.err


def test_a_depth_may_be_written_with_a_fraction_of_nothing(gridproof, root, written, with_torch):
    depths = {"state": 768.0, "node": 512, "replayed": 256}
    ran = gridproof("replay", written(case(root, depths=depths)), "--recurrence", "short_conv")
    assert ran.code == 0


def test_a_case_that_two_designs_have_is_replayed_on_both(gridproof, root, tmp_path, with_torch):
    paths = []
    for design in ("sglang-0.5.17", "sglang-0.5.18"):
        paths.append(tmp_path / f"{design}.json")
        paths[-1].write_text(json.dumps({**case(root), "design": design}), encoding="utf-8")
    ran = gridproof("replay", *map(str, paths), "--recurrence", "short_conv", "--format", "json")
    replayed = {r["case"] for r in json.loads(ran.out)["results"]}
    assert ran.code == 0
    assert {name[-13:] for name in replayed if not name.endswith("control")} == {
        "sglang-0.5.17",
        "sglang-0.5.18",
    }


def test_a_gpu_is_not_required_on_a_cpu(gridproof, root):
    ran = gridproof("replay", str(root / KIMI), "--require-gpu", "--device", "cpu")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_where_everything_is_skipped_it_exits_3(gridproof, root, written, with_torch):
    path = written(case(root, outcome="fault"))
    ran = gridproof("replay", path)
    assert (ran.code, "skipped" in ran.out) == (3, True)


@pytest.mark.parametrize("depths", [{"state": 0, "node": 512}, {"state": 768, "node": 0}])
def test_a_depth_of_0_is_refused_in_one_sentence(gridproof, root, written, depths):
    ran = gridproof("replay", written(case(root, depths={**depths, "replayed": 0})))
    assert (ran.code, ran.out) == (2, "")
    assert "at least 1 token" in ran.err and ran.err.count("\n") == 1


def test_a_state_that_nobody_wrote_is_skipped(gridproof, root, written, with_torch):
    ran = gridproof("replay", written(case(root, depths={"state": -1, "node": 512, "replayed": 0})))
    assert (ran.code, "no forward pass wrote the slot that is donated" in ran.out) == (3, True)


def test_a_case_of_another_schema_is_refused_in_one_sentence(gridproof, root, written):
    ran = gridproof("replay", written({**case(root), "schema": "gridproof/cases/9"}))
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "accepted are 'gridproof/cases/2'" in ran.err


@pytest.mark.parametrize("option", [("--device", "cuda"), ("--require-gpu",)])
def test_a_gpu_that_is_not_there_is_said_and_nothing_runs(gridproof, root, option, without_a_gpu):
    ran = gridproof("replay", str(root / KIMI), *option)
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert "no CUDA device is there" in ran.err


def test_without_torch_it_says_so_and_nothing_runs(gridproof, root, without_torch):
    ran = gridproof("replay", str(root / KIMI))
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert "torch is not installed" in ran.err


def test_an_unknown_recurrence_is_refused(gridproof, root):
    ran = gridproof("replay", str(root / KIMI), "--recurrence", "rwkv")
    assert (ran.code, "accepted are mamba2" in ran.err) == (2, True)


def test_the_example_of_its_document_is_true(gridproof, root, monkeypatch, without_a_gpu):
    monkeypatch.chdir(root)
    ((arguments, expected),) = examples(root, ["docs/replay.md"])
    ran = gridproof(*arguments)
    printed = [squeezed(line) for line in ran.out.splitlines()]
    for line in expected[:-1]:
        assert line == "..." or squeezed(line) in printed, (line, ran.out)
    assert expected[-1] == f"[exit {ran.code}]"
