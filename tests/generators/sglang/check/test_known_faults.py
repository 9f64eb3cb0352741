"""Flags that reach what no rule models: never called safe, known faults named, and the launch beside them safe."""

import shlex

import pytest

from generators.check.session import Judging
from generators.launch.launch import read_launch
from generators.sglang.launch.flag_classes import MODELLED, NOTHING, engine_flags, flag_groups
from generators.sglang.launch.flags import FLAGS, SWITCHES
from generators.sglang.launch.models import facts_of_config
from spec.sglang.releases import RELEASES, design_named

JUDGING = Judging()
LAZY = "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --mamba-radix-cache-strategy extra_buffer_lazy"
HOST = "--enable-hierarchical-cache"
BACK = f"{HOST} --hicache-write-policy write_back"
STORAGE = f"{HOST} --hicache-storage-backend file"
SPECULATION = "--speculative-algorithm EAGLE --speculative-num-draft-tokens 4"
NEWEST = RELEASES[-1]


def judged(command, release=NEWEST, given=None):
    launch = read_launch(shlex.split(command), given)
    return JUDGING.judge(design_named(f"sglang-{release}"), launch, "x")


def found(judgement, code):
    return {(f.code.id, f.severity) for f in judgement.findings if f.code.id == code}


def test_every_flag_stands_in_one_group_with_a_reason():
    spelled = [f for group in flag_groups() for f in (*group.flags, *group.switches)]
    assert len(spelled) == len(set(spelled)) == len(engine_flags())
    for group in flag_groups():
        assert group.why and bool(group.producers) == (group.touches not in (MODELLED, NOTHING))
        assert set(group.needs) <= {*FLAGS, *SWITCHES}


def test_the_flags_called_modelled_are_those_that_are_read():
    modelled = {f for g in flag_groups() if g.touches != NOTHING for f in (*g.flags, *g.switches)}
    read = {f for spellings in (*FLAGS.values(), *SWITCHES.values()) for f in spellings}
    assert modelled <= read
    # The others are abbreviations, which the engine's parser takes as well.
    assert all(any(full.startswith(flag) for full in modelled) for flag in read - modelled)


def launches_beyond_the_model():
    for group in flag_groups():
        if group.producers:
            needed = HOST if group.needs else ""
            for flag in group.switches:
                yield flag, f"{needed} {flag}", group
            for flag in group.flags:
                value = group.matters[0] if group.matters else "something"
                yield flag, f"{needed} {flag} {value}", group


BEYOND = [
    pytest.param(flags, group, id=flag.removeprefix("--"))
    for flag, flags, group in launches_beyond_the_model()
]


@pytest.mark.parametrize(("flags", "group"), BEYOND)
def test_a_launch_with_a_flag_that_is_not_modelled_is_not_safe_and_the_reason_is_given(
    flags, group
):
    judgement = judged(f"{LAZY} {SPECULATION} {flags}")
    if judgement.verdict == "rejected":
        # Not every flag or value is one of this release.
        assert {f.code.id for f in judgement.findings} & {"GP001", "GP012"}
        return
    assert judgement.verdict in ("not_modelled", "unsafe")
    for producer in group.producers:
        assert judgement.producers[producer] in ("not_modelled", "unsafe")
    assert any(f.code.id == "GP003" or f.severity == "error" for f in judgement.findings)


@pytest.mark.parametrize(
    "flags",
    [
        "",
        SPECULATION,
        "--disaggregation-mode null",
        "--device cuda --model-impl auto --attn-cp-size 1 --linear-attn-prefill-backend triton",
        # A storage backend and a write policy alone start no hierarchical cache.
        "--hicache-storage-backend file --hicache-write-policy write_back",
        "--json-model-override-args '{\"rope_scaling\": null}'",
        "--mamba-ssm-dtype bfloat16 --max-mamba-cache-size 64 --enable-metrics --enable-lora",
        "--enable-dynamic-chunking --prefill-decode-interval 4",
        "--page-size 64",
        "--enable-mixed-chunk --attention-backend fa3",
    ],
)
def test_the_launch_beside_it_is_safe(flags):
    judgement = judged(f"{LAZY} {flags}")
    assert judgement.verdict == "safe" and set(judgement.producers.values()) == {"safe"}
    assert not [f for f in judgement.findings if f.severity == "error"]


@pytest.mark.parametrize(
    ("flags", "code", "producer", "releases", "severity"),
    [
        (BACK, "GP601", "host", RELEASES, "error"),
        (HOST, "GP601", "host", RELEASES[RELEASES.index("0.5.19") :], "warning"),
        (BACK.replace("hierarchical-cache", "hicache"), "GP601", "host", RELEASES[-1:], "error"),
        (STORAGE, "GP602", "host", RELEASES[RELEASES.index("0.5.20") :], "error"),
        ("--enable-streaming-session", "GP603", "sessions", RELEASES, "error"),
        ("--disaggregation-mode decode", "GP604", "transfer", RELEASES, "warning"),
        ("--enable-mixed-chunk", "GP206", "extend", RELEASES[:-1], "error"),
    ],
)
@pytest.mark.parametrize("release", RELEASES)
def test_a_known_fault_is_found_in_the_releases_that_have_it(
    flags, code, producer, releases, severity, release
):
    judgement = judged(f"{LAZY} {flags}", release)
    has = release in releases
    assert found(judgement, code) == ({(code, severity)} if has else set())
    if has and severity == "error":
        assert judgement.verdict == judgement.producers[producer] == "unsafe"
    elif producer in judgement.producers and producer != "extend":
        assert judgement.producers[producer] == "not_modelled"


def test_a_buffer_in_host_memory_is_neither_called_broken_nor_safe():
    judgement = judged(f"{LAZY} {STORAGE} --hicache-host-memory-mode buffer_only")
    assert judgement.verdict == judgement.producers["host"] == "not_modelled"
    assert not found(judgement, "GP601") and not found(judgement, "GP602")


@pytest.mark.parametrize("flags", ["--disable-radix-cache", "--disable-overlap-schedule"])
def test_of_a_launch_that_is_not_judged_no_fault_is_claimed(flags):
    plain = f"sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct {flags} {BACK}"
    judgement = judged(plain)
    assert judgement.verdict == judgement.producers["host"] == "not_modelled"
    assert not [f for f in judgement.findings if f.severity == "error"]


@pytest.mark.parametrize(
    ("flags", "code", "releases"),
    [
        (BACK, "GP601", RELEASES),
        (STORAGE, "GP602", RELEASES[RELEASES.index("0.5.20") :]),
        ("--enable-streaming-session", "GP603", RELEASES),
    ],
)
@pytest.mark.parametrize("release", RELEASES)
def test_a_fault_that_does_not_depend_on_the_strategy_may_happen_without_buffers(
    flags, code, releases, release
):
    plain = "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --disable-overlap-schedule"
    judgement = judged(f"{plain} {flags}", release)
    assert judgement.configuration["strategy"] == "no_buffer"
    assert judgement.verdict == "not_modelled"
    told = {(f.code.id, f.severity, "not run" in f.message) for f in judgement.findings}
    assert ((code, "warning", True) in told) == (release in releases)
    assert not found(judged(plain, release), code)


@pytest.mark.parametrize("release", ["0.5.18", "0.5.23"])
def test_of_a_write_policy_that_is_not_known_nothing_is_claimed(release):
    judgement = judged(f"{LAZY} {HOST} --hicache-write-policy $POLICY", release)
    (message,) = (f.message for f in judgement.findings if f.code.id == "GP601")
    assert "which is not known here" in message and "With this write policy" not in message
    assert found(judgement, "GP601") == {("GP601", "warning")}
    backend = judged(f"{LAZY} {HOST} --hicache-storage-backend $BACKEND", "0.5.23")
    assert found(backend, "GP602") == {("GP602", "error")}


def test_session_parameters_of_requests_can_be_given_beside_the_launch():
    assert judged(LAZY).verdict == "safe"
    judgement = judged(LAZY, given={"sessions": True})
    assert judgement.verdict == judgement.producers["sessions"] == "unsafe"
    assert found(judgement, "GP603") == {("GP603", "error")}


def test_a_model_without_recurrent_layers_has_none_of_them():
    judgement = judged(f"sglang serve --model-path deepseek-ai/DeepSeek-V3 {BACK}")
    assert {f.code.id for f in judgement.findings} == {"GP003"}


NEMOTRON = {"model_type": "nemotron_h", "chunk_size": 128}


@pytest.mark.parametrize(
    ("config", "differs"),
    [
        ({"model_type": "x", "llm_config": NEMOTRON}, True),
        ({"model_type": "x", "text_config": NEMOTRON}, True),
        ({"model_type": "x", "mamba_chunk_size": 128, "llm_config": NEMOTRON}, False),
        ({"model_type": "x", "llm_config": {**NEMOTRON, "chunk_size": 64}}, False),
        ({"model_type": "x", "llm_config": {"model_type": "nemotron_h"}}, True),
        ({"model_type": "x", "text_config": {"model_type": "qwen3_next"}}, False),
        (NEMOTRON, False),
    ],
)
def test_a_chunk_in_the_text_config_alone_is_a_fault_from_0_5_20_on(tmp_path, config, differs):
    import json

    (tmp_path / "config.json").write_text(json.dumps(config))
    assert facts_of_config(tmp_path / "config.json").nested_chunk is differs
    command = LAZY.replace("Qwen/Qwen3-Next-80B-A3B-Instruct", str(tmp_path))
    for release in RELEASES:
        has = differs and release >= "0.5.20"
        judgement = judged(command, release)
        assert found(judgement, "GP205") == ({("GP205", "error")} if has else set())
        assert not has or judgement.producers["extend"] == "unsafe"


def test_models_and_backends_without_an_extra_buffer_keep_their_states_without_one():
    for model in ("LiquidAI/LFM2-24B-A2B", "Zyphra/ZAYA1-8B", "jet-ai/Jet-Nemotron-4B"):
        plain = f"sglang serve --model-path {model}"
        assert judged(plain).verdict == "not_modelled"
        assert judged(plain).configuration["strategy"] == "no_buffer"
        lazy = f"{plain} --mamba-radix-cache-strategy extra_buffer_lazy"
        assert judged(lazy).verdict == "rejected" and found(judged(lazy), "GP005")
    for flags, verdict in (("flashkda", "rejected"), ("triton", "safe")):
        assert judged(f"{LAZY} --linear-attn-backend {flags}").verdict == verdict


@pytest.mark.parametrize(
    ("flags", "page"),
    [
        ("--prefill-attention-backend triton --decode-attention-backend trtllm_mha", 64),
        ("--prefill-attention-backend trtllm_mha", 64),
        ("--decode-attention-backend flashmla --page-size 32", 64),
        ("--prefill-attention-backend flashmla", 1),
        ("--speculative-draft-attention-backend trtllm_mha", 64),
        ("--decode-attention-backend trtllm_mha --page-size 16", 16),
        ("--decode-attention-backend fa3", 1),
    ],
)
def test_the_backend_of_one_phase_can_set_the_page(flags, page):
    assert judged(f"{LAZY} {flags}").configuration["page_size"] == page


def test_pipeline_parallelism_turns_the_overlap_scheduler_off():
    plain = "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct"
    assert judged(plain).verdict == "unsafe"
    parallel = judged(f"{plain} --pp-size 2")
    assert parallel.verdict == "safe" and not parallel.configuration["overlap"]
    assert parallel.configuration["strategy"] == "extra_buffer"


def test_that_lazy_slots_can_run_out_stands_beside_the_fix_to_them():
    small = "sglang serve --model-path Qwen/Qwen3.5-35B-A3B --max-mamba-cache-size 8"
    (told,) = (f for f in judged(small).findings if f.code.id == "GP401")
    assert told.fix["flags"] == {"--mamba-radix-cache-strategy": "extra_buffer_lazy"}
    assert "Can not alloc mamba cache" in told.document()["accepted"]


@pytest.mark.parametrize(
    ("flags", "fix"),
    [
        (BACK, {"--enable-hierarchical-cache": None}),
        (STORAGE, {"--hicache-storage-backend": None, "--enable-hierarchical-cache": None}),
        ("--enable-streaming-session", {"--enable-streaming-session": None}),
    ],
)
def test_the_fix_of_a_known_fault_leaves_the_flag_out(flags, fix):
    for found in judged(f"{LAZY} {flags}").findings:
        if found.severity == "error":
            assert found.fix is not None and (found.fix["flags"], found.fix["safe"]) == (fix, True)
            assert "again" in found.fix["cost"] or "whole prompt" in found.fix["cost"]
