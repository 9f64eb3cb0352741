"""The flags that are offered mend the launch: it starts, no reader is wrong, and theorems say so."""

import os
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.check.session import Judging
from generators.launch.launch import read_launch
from spec.sglang.releases import DESIGNS, RELEASES

JUDGING = Judging()
MODEL = "--model-path Qwen/Qwen3-Next-80B-A3B-Instruct"
OFFERED = ("unsafe", "rejected", "inert")


def fix_of(judgement):
    return next((f.fix for f in judgement.findings if f.fix), None)


@settings(max_examples=int(os.environ.get("GRIDPROOF_EXAMPLES", "40")), deadline=None)
@given(
    release=st.sampled_from(RELEASES),
    page=st.sampled_from([1, 2, 16, 48, 64, 96, 128, 8192]),
    ranks=st.sampled_from([1, 2, 3, 8]),
    interval=st.sampled_from([1, 64, 100, 256, 320]),
    more=st.lists(
        st.sampled_from(
            [
                "--chunked-prefill-size 2048",
                "--chunked-prefill-size -1",
                "--enable-mixed-chunk",
                "--enable-hierarchical-cache",
                "--enable-streaming-session",
                "--disable-overlap-schedule",
                "--mamba-radix-cache-strategy extra_buffer_lazy",
                "--mamba-radix-cache-strategy no_buffer",
                "--speculative-algorithm EAGLE --speculative-num-draft-tokens 4",
                "--speculative-algorithm EAGLE --speculative-num-draft-tokens 40",
            ]
        ),
        max_size=3,
        unique=True,
    ),
)
def test_a_fix_that_is_called_safe_is_judged_safe_by_theorems(release, page, ranks, interval, more):
    command = (
        f"sglang serve {MODEL} --tp-size 8 --page-size {page} --dcp-size {ranks} "
        f"--mamba-track-interval {interval} {' '.join(more)}"
    )
    launch, design = read_launch(shlex.split(command)), DESIGNS[f"sglang-{release}"]
    judgement = JUDGING.judge(design, launch, "x")
    fix = fix_of(judgement)
    assert (fix is None) or judgement.verdict in OFFERED
    if fix and fix["safe"]:
        again = JUDGING.judge(design, launch.with_flags(fix["flags"]), "x")
        assert again.verdict == "safe" and again.theorems, (command, fix)


@pytest.mark.parametrize(
    ("flags", "release", "fix"),
    [
        (
            "--page-size 64 --dcp-size 8 --chunked-prefill-size -1",
            "0.5.18",
            {"--mamba-track-interval": "512"},
        ),
        ("--page-size 64 --enable-mixed-chunk", "0.5.23", {"--enable-mixed-chunk": None}),
        ("--dcp-size 6", "0.5.23", {"--dcp-size": "2"}),
        (
            "--mamba-radix-cache-strategy extra_buffer_lazy --dcp-size 2 --page-size 16 --chunked-prefill-size 32",
            "0.5.23",
            {"--chunked-prefill-size": "64"},
        ),
        (
            "--page-size 64 --mamba-track-interval 100 --chunked-prefill-size -1",
            "0.5.23",
            {"--mamba-track-interval": "128"},
        ),
        (
            "--mamba-track-interval 8 --speculative-algorithm EAGLE --speculative-num-draft-tokens 16",
            "0.5.23",
            {"--mamba-track-interval": "16"},
        ),
        (
            "--page-size 8192 --dcp-size 8 --mamba-track-interval 8192 --chunked-prefill-size -1",
            "0.5.23",
            {"--page-size": "64"},
        ),
        (
            "--mamba-track-interval 64 --speculative-algorithm EAGLE --speculative-num-draft-tokens 40",
            "0.5.23",
            {"--mamba-track-interval": "128"},
        ),
    ],
)
def test_the_nearest_flags(flags, release, fix):
    command = (
        f"sglang serve {MODEL} --tp-size 8 --mamba-radix-cache-strategy extra_buffer_lazy {flags}"
    )
    judgement = JUDGING.judge(DESIGNS[f"sglang-{release}"], read_launch(shlex.split(command)), "x")
    assert fix.items() <= fix_of(judgement)["flags"].items()


def test_a_flag_is_changed_where_it_stands_or_put_at_the_end():
    launch = read_launch(shlex.split("sglang serve --page-size=64 --dcp 2 --model-path m"))
    words = launch.words_with(
        {"--page-size": "1", "--dcp-size": "4", "--disable-overlap-schedule": ""}
    )
    assert [w.text for w in words] == shlex.split(
        "sglang serve --page-size=1 --dcp 4 --model-path m --disable-overlap-schedule"
    )
