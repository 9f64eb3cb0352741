"""What is concluded where the model of a launch is not known, not hybrid, or only assumed to be hybrid."""

import shlex

import pytest

from generators.cases.codes import codes
from generators.check.session import Judging
from generators.check.sources import COMMAND
from generators.launch.launch import read_launch
from spec.sglang.releases import RELEASES, design_named

JUDGING = Judging()
EAGER = "sglang serve"
LAZY = "--mamba-radix-cache-strategy extra_buffer_lazy"
HYBRID = "--model-path Qwen/Qwen3-Next-80B-A3B-Instruct"
SYNCHRONOUS = "--mamba-radix-cache-strategy extra_buffer --disable-overlap-schedule"
HOST = "--enable-hierarchical-cache --hicache-write-policy write_back"


def judged(flags, release="0.5.23", source="a.sh", beside=None):
    launch = read_launch(shlex.split(f"{EAGER} {flags}"), beside)
    return JUDGING.judge(design_named(f"sglang-{release}"), launch, source)


def offered(judgement):
    return [f for f in judgement.findings if f.fix or f.upgrade or f.alternatives]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("model", "recurrent", "said"),
    [
        ("--model-path MiniMaxAI/MiniMax-M2.5", False, "no recurrent state"),
        ("MiniMaxAI/MiniMax-M2.5", False, "no recurrent state"),
        ("--model-path some/model", None, "--config PATH-to-config.json"),
        ("--model-path $MODEL", None, "--set mamba_chunk_size=TOKENS"),
        ("--model-path /model --served-model-name chat", None, "--set recurrence=NAME"),
        ("--model-path /model --served-model-name Qwen/Qwen3-8B", False, "served under"),
    ],
)
def test_a_model_that_is_not_known_to_be_hybrid_gets_no_error_and_no_flags(
    release, model, recurrent, said
):
    for flags in ("", HOST, "--page-size 64 --enable-mixed-chunk", "--dcp-size 3 --tp-size 8"):
        judgement = judged(f"{model} {flags}", release)
        assert judgement.verdict == "not_modelled" and not offered(judgement)
        assert {f.severity for f in judgement.findings} == {"note"}
        assert said in judgement.findings[0].message
        assert judgement.model["recurrent"] is recurrent


@pytest.mark.parametrize("beside", [{"mamba_chunk_size": 64}, {"recurrence": "gdn"}])
def test_what_is_given_beside_a_launch_says_that_its_model_is_hybrid(beside):
    for model in ("some/model", "$MODEL", "Qwen/Qwen3-8B"):
        judgement = judged(f"--model-path {model}", beside=beside)
        assert judgement.verdict == "unsafe" and offered(judgement)
        assert judgement.model["recurrent"] is True


def test_an_assumed_model_stands_first_and_no_flags_are_offered_for_it():
    judgement = judged("--model-path some/model --mamba-track-interval 128")
    first, *others = judgement.findings
    assert first.code.id == "GP008" and "--mamba-track-interval" in first.message
    assert judgement.verdict == "unsafe" and others and not offered(judgement)
    assert judgement.model["recurrent"] is None
    assert offered(judged(f"{HYBRID} --mamba-track-interval 128"))


def test_flags_without_a_model_are_mended_where_they_are_asked_about_and_not_in_files():
    assert judged("--page-size 64").findings[0].code.id == "GP008"
    assert not offered(judged("--page-size 64"))
    assert offered(judged("--page-size 64", source=COMMAND))


def test_a_chunk_that_is_not_known_leaves_no_verdict_safe_that_another_chunk_would_not():
    flags = f"{SYNCHRONOUS} --page-size 128 --chunked-prefill-size -1"
    known = judged(f"--model-path some/model {flags}", "0.5.18", beside={"mamba_chunk_size": 128})
    assert known.verdict == "safe"
    small = judged(f"--model-path some/model {flags}", "0.5.18", beside={"mamba_chunk_size": 64})
    assert small.verdict == "unsafe"
    unknown = judged(f"--model-path some/model {flags}", "0.5.18", beside={"recurrence": "gdn"})
    assert unknown.verdict == "unsafe" and unknown.findings[0].code.id == "GP008"
    falcon = judged("--model-path tiiuae/Falcon-H1-7B-Instruct " + LAZY)
    chunks = [
        judged(f"--model-path x/y {LAZY}", beside={"mamba_chunk_size": n, "recurrence": "mamba2"})
        for n in (64, 128, 256)
    ]
    assert falcon.verdict == "safe" and {c.verdict for c in chunks} == {"safe"}


def test_a_verdict_that_depends_on_the_chunk_is_not_modelled_and_names_the_chunk():
    flags = f"{LAZY} --mamba-track-interval 128"
    falcon = judged(f"--model-path tiiuae/Falcon-H1-7B-Instruct {flags}")
    assert falcon.verdict == "not_modelled" and not falcon.theorems
    assert any("a chunk of 256 tokens it is rejected" in f.message for f in falcon.findings)
    given = judged(
        f"--model-path tiiuae/Falcon-H1-7B-Instruct {flags}", beside={"mamba_chunk_size": 128}
    )
    assert given.verdict == "safe"


def test_a_release_that_does_not_serve_an_architecture_is_not_judged():
    flags = f"--model-path Qwen/Qwen3.8-Flash-Next {LAZY}"
    old = judged(flags, "0.5.18")
    assert old.verdict == "not_modelled" and "0.5.20 is the first" in old.findings[0].message
    assert judged(flags, "0.5.20").verdict != "not_modelled"


@pytest.mark.parametrize(
    "model", ["LiquidAI/LFM2-24B-A2B", "Zyphra/ZAYA1-8B", "jet-ai/Jet-Nemotron-4B"]
)
def test_a_model_without_buffers_is_not_judged_as_if_it_had_some(model):
    plain = judged(f"--model-path {model}")
    assert plain.configuration["strategy"] == "no_buffer" and plain.verdict == "not_modelled"
    assert not offered(plain)
    assert judged(f"--model-path {model} {LAZY}").verdict == "rejected"


def test_lazy_slots_are_offered_with_their_cost_and_before_the_slower_way():
    (eager,) = offered(judged(f"{HYBRID} --max-running-requests 2 --max-mamba-cache-size 8"))
    assert eager.fix["flags"] == {"--mamba-radix-cache-strategy": "extra_buffer_lazy"}
    assert "Can not alloc mamba cache" in eager.fix["cost"] and eager.upgrade is None
    (slower,) = eager.alternatives
    assert slower["flags"]["--disable-overlap-schedule"] == "" and "slower" in slower["cost"]
    assert slower["safe"] is True


def test_a_release_that_is_right_with_the_same_flags_is_named_beside_flags():
    flags = (
        f"{HYBRID} --page-size 64 --dcp-size 8 --tp-size 8 --chunked-prefill-size -1 {SYNCHRONOUS}"
    )
    found = next(f for f in judged(flags, "0.5.18").findings if f.code.id == "GP101")
    assert found.upgrade == {"engine": "sglang==0.5.23", "flags": {}}
    assert found.fix["flags"] == {"--mamba-track-interval": "512"} and found.fix["cost"]


@pytest.mark.parametrize("flags", ["", f"--page-size 64 {LAZY}", HOST])
def test_every_fix_is_accepted_by_its_release_and_judged_safe(flags):
    for release in RELEASES:
        launch = read_launch(shlex.split(f"{EAGER} {HYBRID} {flags}"))
        design = design_named(f"sglang-{release}")
        for finding in JUDGING.judge(design, launch, "x").findings:
            for fix in (finding.fix, *finding.alternatives):
                if fix and fix["safe"]:
                    again = JUDGING.judge(design, launch.with_flags(fix["flags"]), "x")
                    assert again.verdict == "safe", (release, fix)


def test_a_cut_off_the_page_is_a_warning_with_its_condition():
    judgement = judged(f"{HYBRID} --page-size 64 {LAZY}")
    (found,) = judgement.findings
    assert judgement.verdict == "safe" and (found.code.id, found.severity) == ("GP201", "warning")
    assert "only where a piece of a prompt ends off the page" in found.message and not found.fix


def test_every_code_of_a_wrong_state_says_what_is_seen_what_is_no_sign_and_what_to_do_then():
    wrong = [c for c in codes().values() if c.producer and c.id != "GP204"]
    assert len(wrong) > 12
    for code in wrong:
        assert "nothing is logged" in code.symptom
        assert all(word in code.not_explained for word in ("misses", "stops", "NaN"))
        assert "/flush_cache" in code.afterwards and "inherit" in code.afterwards
