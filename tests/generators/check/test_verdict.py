"""Verdicts on launch commands."""

import shlex
from dataclasses import replace

import pytest

from generators.check.verdict import judge
from generators.common.errors import BadInput
from generators.launch.launch import read_launch
from spec import candidates
from spec.prove import Obligation
from spec.sglang.configuration import Configuration
from spec.sglang.releases import RELEASES, design_named
from spec.sglang.theorems import LIBRARY
from spec.smt.solver import Limits

BALANCED = (
    "python -m sglang.launch_server --model-path moonshotai/Kimi-K3 --trust-remote-code --tp-size 8 "
    "--dcp-size 8 --mem-fraction-static 0.85 --mamba-full-memory-ratio 7.21 --enable-hierarchical-cache"
)
MEGAMOE = (
    "python -m sglang.launch_server --model-path moonshotai/Kimi-K3 --trust-remote-code --tp-size 8 "
    "--moe-a2a-backend megamoe --ep 8 --dcp-size 8 --mem-fraction-static 0.85 "
    "--speculative-algorithm DSPARK --speculative-draft-model-path RadixArk/Kimi-K3-DSpark "
    "--speculative-dspark-block-size 7 --enable-linear-replayssm-spec"
)


# Releases that label a verify's boundary by all the tokens that were accepted.
OLD_LABELS = RELEASES[: RELEASES.index("0.5.22")]
LAZY = "--mamba-radix-cache-strategy extra_buffer_lazy"
SYNCHRONOUS = "--disable-overlap-schedule --mamba-radix-cache-strategy extra_buffer"


def judged(command, release="0.5.23", **options):
    return judge(
        design_named(f"sglang-{release}"), read_launch(shlex.split(command)), "command", **options
    )


@pytest.mark.parametrize("command", [BALANCED, MEGAMOE])
@pytest.mark.parametrize("release", RELEASES)
def test_the_two_kimi_k3_launches(command, release):
    judgement = judged(command, release)
    old = release in ("0.5.17", "0.5.18")
    relative = old or release in ("0.5.19", "0.5.20")
    assert judgement.producers["decode"] == ("unsafe" if old else "safe")
    assert judgement.producers["extend"] == ("unsafe" if relative else "safe")
    # Eager slots under the overlap scheduler can be overwritten, unless every step is a verify and those are short.
    faulty_slots = command == BALANCED or release in OLD_LABELS
    assert judgement.producers["slots"] == ("unsafe" if faulty_slots else "safe")
    assert judgement.verdict == ("unsafe" if relative or faulty_slots else "not_modelled")
    assert judgement.producers.get("host") == ("not_modelled" if command == BALANCED else None)
    assert judgement.geometry["tree_page"] == 512
    assert judgement.geometry["track_grid"] == 512
    assert judgement.geometry["decode_grid"] == (256 if old else 512)
    assert judgement.first_lost_depth == (256 if old else None)
    if old:
        assert judgement.first_wrong_depth == 768
    if command == MEGAMOE:
        assert judgement.producers["verify"] == ("unsafe" if old else "not_modelled")
        assert judgement.configuration["speculative_num_draft_tokens"] == 8


def test_where_each_value_comes_from():
    launch = read_launch(shlex.split(MEGAMOE))
    assert launch.configuration == Configuration(
        page_size=64,
        dcp_size=8,
        speculative_num_draft_tokens=8,
        speculative_algorithm="DSPARK",
        recurrence="kda",
        page_size_given=False,
        tp_size=8,
    )
    assert launch.sources["page_size"] == launch.sources["mamba_chunk_size"] == "model table"
    assert launch.sources["dcp_size"] == "flag"
    assert launch.sources["mamba_track_interval"] == "default"
    unknown = read_launch(["sglang", "serve", "--model-path", "some/model"])
    assert unknown.sources["mamba_chunk_size"] == "assumed"


@pytest.mark.parametrize(
    ("flags", "verdict", "said"),
    [
        (
            "--page-size 64 --mamba-track-interval 100",
            "rejected",
            "multiple of the given --page-size",
        ),
        ("--page-size 96", "rejected", "must divide the other"),
        ("--tp-size 8 --dcp-size 3", "rejected", "multiple of --dcp-size"),
        (
            "--mamba-track-interval 4 --speculative-algorithm EAGLE --speculative-num-draft-tokens 8",
            "rejected",
            "draft tokens",
        ),
        ("--mamba-radix-cache-strategy no_buffer", "rejected", "--disable-overlap-schedule"),
        (
            "--mamba-radix-cache-strategy no_buffer --disable-overlap-schedule",
            "not_modelled",
            "no_buffer",
        ),
        (
            "--mamba-radix-cache-strategy no_buffer --dcp-size 8 --tp-size 8",
            "rejected",
            "--dcp-size 1",
        ),
        ("--disable-radix-cache", "not_modelled", "radix cache is off"),
        (f"--page-size 64 --chunked-prefill-size -1 {LAZY}", "safe", ""),
        (f"--page-size 64 {LAZY}", "safe", "--enable-mixed-chunk"),
        (f"--page-size 64 --enable-mixed-chunk {LAZY}", "unsafe", "a piece of the prompt"),
        (f"--enable-hierarchical-cache {LAZY}", "not_modelled", "the host and back"),
        ("", "unsafe", "slot is overwritten"),
        (LAZY, "safe", ""),
        (SYNCHRONOUS, "safe", ""),
        (
            "--dcp-size=8 --tp-size=8 --page-size=8192 --mamba-track-interval 8192 --chunked-prefill-size -1 "
            + LAZY,
            "inert",
            "can be reused",
        ),
    ],
)
def test_verdicts(flags, verdict, said):
    judgement = judged(
        f"python -m sglang.launch_server --model-path Qwen/Qwen3-Next-80B-A3B-Instruct {flags}"
    )
    assert judgement.verdict == verdict
    assert any(said in f.message for f in judgement.findings) or not said


def test_unsafe_wins_over_inert_and_the_context_can_be_given():
    flags = f"--dcp-size 8 --tp-size 8 --page-size 64 --mamba-track-interval 64 {LAZY}"
    command = f"python -m sglang.launch_server --model-path m {flags}"
    assert judged(command, "0.5.18", context_length=256).verdict == "unsafe"
    assert judged(command, "0.5.23", context_length=256).verdict == "inert"
    assert judged(command, "0.5.23", context_length=512).verdict == "safe"


def test_another_engine_is_not_modelled():
    assert judged("vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct").verdict == "not_modelled"


SAFE = f"python -m sglang.launch_server --model-path Qwen/Qwen3-Next-80B-A3B-Instruct {SYNCHRONOUS}"
WHOLE = f"{SAFE} --page-size 64 --dcp-size 8 --tp-size 8 --mamba-track-interval 512 --chunked-prefill-size -1"


@pytest.mark.parametrize("command", [SAFE, WHOLE])
@pytest.mark.parametrize("release", RELEASES[1:])
def test_a_safe_verdict_rests_on_theorems_that_hold_for_that_release(command, release):
    judgement = judged(command, release)
    assert judgement.verdict == "safe" and judgement.theorems
    for name in judgement.theorems:
        theorem = LIBRARY[name]
        assert f"sglang-{release}" not in theorem.refuted_by
        design = design_named(f"sglang-{release}")
        parameters = theorem.parameters(design)
        assert candidates.counterexample(theorem, parameters, design) is None
        witness = candidates.witness(theorem, parameters, design)
        assert Obligation(theorem, parameters, witness, design).attempt(Limits()).closed, name


def one_token_chunk():
    """A launch that no theorem fits: the rows of a model whose chunk is one token."""
    launch = read_launch(shlex.split(SAFE))
    return replace(launch, configuration=replace(launch.configuration, mamba_chunk_size=1))


def test_where_no_theorem_fits_the_solver_shows_it_for_the_configuration():
    judgement = judge(design_named("sglang-0.5.23"), one_token_chunk(), "command")
    assert judgement.verdict == "safe" and judgement.producers["extend"] == "safe"
    assert judgement.theorems == () and judgement.shown_alone


def test_what_neither_a_theorem_nor_the_solver_shows_is_not_called_safe(monkeypatch):
    monkeypatch.setattr("generators.search.completeness.shown", lambda theorem: False)
    judgement = judge(design_named("sglang-0.5.23"), one_token_chunk(), "command")
    assert judgement.verdict == judgement.producers["extend"] == "not_modelled"
    assert not judgement.shown_alone


def test_an_unsafe_launch_claims_no_proof():
    judgement = judged(BALANCED, "0.5.18")
    assert judgement.verdict == "unsafe" and not judgement.shown_alone


@pytest.mark.parametrize(
    "command",
    [
        BALANCED,
        f"bash -c '{BALANCED}'",
        f"docker run --gpus all image sh -c 'exec {BALANCED}'",
        BALANCED.replace("--dcp-size", "--dcp-s"),
        BALANCED.replace("python -m sglang.launch_server", "/usr/local/bin/sglang serve"),
        BALANCED.replace("moonshotai/Kimi-K3", "/models/vllm-quant/Kimi-K3"),
    ],
)
def test_ways_to_write_one_launch(command):
    assert read_launch(shlex.split(command)).configuration.dcp_size == 8
    assert judged(command, "0.5.18").verdict == "unsafe"
    assert read_launch([command]).configuration == read_launch(shlex.split(command)).configuration


def test_slots_are_judged_by_the_orders_of_events_that_the_launch_allows():
    eager = "python -m sglang.launch_server --model-path Qwen/Qwen3-Next-80B-A3B-Instruct"

    def told(flags, release="0.5.23"):
        found = {f.code.id for f in judged(f"{eager} {flags}", release).findings}
        return found & {"GP401", "GP402", "GP403"}

    assert told("") and told("", "0.5.18") and told("", "0.5.17")
    assert not told(LAZY) and told(LAZY, "0.5.21")
    assert not told(f"--page-size 64 {SYNCHRONOUS}")
    drafts = "--speculative-algorithm EAGLE --speculative-num-steps 3"
    assert not told(drafts) and told(drafts, "0.5.21")
    assert told(f"{drafts} {SYNCHRONOUS}")
    long = (
        "--speculative-algorithm EAGLE --speculative-num-draft-tokens 40 --mamba-track-interval 64"
    )
    assert told(long) == {"GP401"}


@pytest.mark.parametrize(
    "command",
    [
        "sglang serve --page-size 64 # --dcp-size 8",
        "sglang serve --page-size 64 && other --dcp-size 8",
        "sglang serve --page-size 64; other --dcp-size 8",
        "sglang serve --page-size 64\nother --dcp-size 8",
        "sglang serve --page-size 64 # first\nother --dcp-size 8",
        "sglang serve --page-size 64 | tee --dcp-size 8",
        "cd /x && HF_HOME=/y exec sglang serve \\\n --page-size 64 &",
    ],
)
def test_flags_of_comments_and_other_commands_are_not_the_launchs(command):
    for words in ([command], ["bash", "-c", command], ["docker", "run", "i", "sh", "-c", command]):
        configuration = read_launch(words).configuration
        assert (configuration.page_size, configuration.dcp_size) == (64, 1)


@pytest.mark.parametrize(
    "command",
    [
        "echo sglang serve",
        "grep 'sglang serve' log",
        "man sglang serve",
        "docker rm sglang serve",
        "ls sglang serve --page-size 64",
        "pip install sglang",
    ],
)
def test_what_starts_no_engine_is_refused(command):
    with pytest.raises(BadInput, match="no engine is started"):
        read_launch(shlex.split(command))
    with pytest.raises(BadInput, match="no engine is started"):
        read_launch(["# sglang serve --page-size 64"])


def test_two_launches_in_one_command_are_refused():
    with pytest.raises(BadInput, match="more than one engine"):
        read_launch(["sglang serve --page-size 64 & sglang serve --dcp-size 8"])


def test_a_configuration_file_is_not_read():
    assert judged(f"{SAFE} --config launch.yaml").verdict == "not_modelled"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sglang", "serve", "--page-size", "sixty"], "not a whole number"),
        (["sglang", "serve", "--page-size", "0"], "at least 1"),
        (["sglang", "serve", "--page-size"], "value is missing"),
        (["sglang", "serve", "--dcp-size", "--tp-size", "8"], "value is missing"),
        (["sglang", "serve", "--page-size", "9" * 30], "at most"),
        (["sglang", "serve", "--mamba-radix-cache-strategy", "lazy"], "accepted are auto"),
        ([], "no engine is started"),
    ],
)
def test_bad_launch_values_are_refused_in_one_sentence(command, said):
    with pytest.raises(BadInput, match=said):
        read_launch(command)
