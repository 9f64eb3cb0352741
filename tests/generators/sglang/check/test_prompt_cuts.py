"""A prompt that is cut off the page: reported where it can happen, with a trace that can, and a mild fix."""

import shlex
from pathlib import Path

import pytest

from generators.check.session import Judging
from generators.launch.launch import read_launch
from generators.sglang.check import conditions
from spec.sglang.releases import DESIGNS, RELEASES, design_named
from spec.sglang.rules import cuts as rules

JUDGING = Judging()
LAZY = "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --mamba-radix-cache-strategy extra_buffer_lazy"
PAGE = f"{LAZY} --page-size 64"
MIXED = f"{PAGE} --enable-mixed-chunk"
PIPELINED = "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --page-size 64 --pp-size 2"
WIDE = f"{LAZY} --tp-size 8 --dcp-size 8 --page-size 64"
OF_EXTENDS = ("GP201", "GP202", "GP203", "GP204")


def judged(command, release="0.5.23"):
    return JUDGING.judge(DESIGNS[f"sglang-{release}"], read_launch(shlex.split(command)), "x")


def severities(judgement, code="GP201"):
    return {f.severity for f in judgement.findings if f.code.id == code}


def finding(judgement, code="GP201"):
    return next(f for f in judgement.findings if f.code.id == code)


def test_a_page_without_mixed_chunks_is_safe_with_a_warning_that_names_the_condition():
    judgement = judged(PAGE)
    assert judgement.verdict == "safe" and set(judgement.producers.values()) == {"safe"}
    assert rules.WHOLE_PROMPTS == -1 and severities(judgement) == {"warning"}
    message = finding(judgement).message
    assert "--enable-mixed-chunk" in message and "memory runs short" in message
    assert finding(judgement).fix is None
    assert "a_prompt_is_cut_on_the_page_if_its_chunks_are_whole_pages" in judgement.theorems


def test_with_mixed_chunks_it_is_an_error_and_the_fix_leaves_them_out():
    judgement = judged(MIXED)
    assert judgement.verdict == judgement.producers["extend"] == "unsafe"
    assert severities(judgement) == {"error"}
    assert finding(judgement).fix == {
        "flags": {"--enable-mixed-chunk": None},
        "safe": True,
        "cost": "decode steps wait for each piece of a prompt",
    }
    assert finding(judgement).trace == (
        "prefill 1984 tokens (snapshot taken); prefill 2047 tokens (length 4031, snapshot at 3968); "
        "prefill 64 tokens (length 4095, snapshot taken); finish: inserted at node 4032"
    )


@pytest.mark.parametrize(
    ("command", "release", "expected"),
    [
        (f"{LAZY} --enable-mixed-chunk --attention-backend fa3", "0.5.23", set()),
        (f"{LAZY} --enable-mixed-chunk", "0.5.23", {"error"}),
        (f"{MIXED} --chunked-prefill-size -1", "0.5.23", set()),
        (f"{PAGE} --chunked-prefill-size -1", "0.5.23", set()),
        (f"{WIDE} --enable-mixed-chunk", "0.5.23", set()),
        (WIDE, "0.5.21", set()),
        (WIDE, "0.5.20", {"error"}),
        (f"{PIPELINED} --enable-dynamic-chunking", "0.5.23", {"warning"}),
        # Speculation turned mixed chunks off up to 0.5.18; from 0.5.19 on some algorithms go along with them.
        (f"{MIXED} --speculative-algorithm EAGLE", "0.5.18", {"warning"}),
        (f"{MIXED} --speculative-algorithm EAGLE", "0.5.23", {"error"}),
        (f"{MIXED} --speculative-algorithm NGRAM", "0.5.23", {"warning"}),
    ],
)
def test_where_a_cut_off_the_page_can_happen(command, release, expected):
    assert severities(judged(command, release)) == expected


@pytest.mark.parametrize("release", RELEASES)
def test_the_assertion_of_0_5_18_fires_where_a_piece_can_end_off_the_chunk(release):
    def on_0_5_18(*found):
        return set(found) if release == "0.5.18" else set()

    narrow = WIDE.replace("--page-size 64", "--page-size 16")
    assert severities(judged(narrow, release), "GP204") == on_0_5_18("error")
    assert severities(judged(WIDE, release), "GP204") == on_0_5_18("warning")
    assert severities(judged(f"{WIDE} --enable-mixed-chunk", release), "GP204") == on_0_5_18(
        "error"
    )
    assert severities(judged(PAGE, release), "GP204") == set()


def prefixes(trace):
    return [event.seq_len for event in trace if event.event == "extend"][:-1]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "command",
    [
        *(LAZY, PAGE, MIXED, WIDE, f"{WIDE} --enable-mixed-chunk", f"{LAZY} --page-size 128"),
        f"{MIXED} --chunked-prefill-size 8192",
        f"{LAZY} --page-size 16 --enable-mixed-chunk",
    ],
)
def test_the_trace_shown_is_cut_where_the_scheduler_cuts(command, release):
    launch = read_launch(shlex.split(command))
    c, design = launch.configuration, design_named(f"sglang-{release}")
    for found in judged(command, release).findings:
        if found.case is None or found.code.id not in OF_EXTENDS:
            continue
        ends = prefixes(found.case.trace)
        off = [end for end in ends if end % c.page_size]
        if found.severity == "error" and not conditions.mixes(design, launch):
            assert not off
        for end in ends[:1]:
            assert end % c.page_size == 0  # the first piece of a prompt always ends on the page
        if off:
            budget = ends[1] - ends[0]
            size = c.chunked_prefill_size or 2048
            assert size - c.page_size < budget < size
            assert ends[0] == rules.first_cut(c.page_size, budget, 0)
            assert ends[1] == rules.next_cut(budget, ends[0])


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("command", [LAZY, PAGE, MIXED, WIDE, f"{LAZY} --page-size 128"])
def test_no_fix_computes_a_prompt_in_one_piece(command, release):
    design = DESIGNS[f"sglang-{release}"]
    launch = read_launch(shlex.split(command.replace("_lazy", "")))
    for found in JUDGING.judge(design, launch, "x").findings:
        for offered in (found.fix, found.upgrade):
            assert not offered or "-1" not in offered["flags"].values()
        if found.fix and found.fix["safe"]:
            again = JUDGING.judge(design, launch.with_flags(found.fix["flags"]), "x")
            assert again.verdict == "safe"


def test_where_no_flags_help_the_release_that_does_is_named():
    old = finding(judged(WIDE, "0.5.20"))
    assert old.fix is None and old.upgrade == {"engine": "sglang==0.5.23", "flags": {}}
    eager = finding(judged(WIDE.replace("_lazy", ""), "0.5.20"))
    strategy = {"--mamba-radix-cache-strategy": "extra_buffer_lazy"}
    assert eager.upgrade == {"engine": "sglang==0.5.23", "flags": strategy}
    assert finding(judged(MIXED)).upgrade is None


def test_a_flag_is_left_out_where_it_stands(tmp_path):
    from generators.check import apply_fix
    from generators.check.sources import Found, LaunchReader

    file = Path(tmp_path) / "a.sh"
    text = (
        "sglang serve --page-size 64 \\\n  --enable-mixed-chunk \\\n  --hicache-write-policy x -v\n"
    )
    file.write_text(text)
    found = Found()
    LaunchReader({}, None).of_paths([file], found)
    (target,) = found.targets
    gone = {"--enable-mixed-chunk": None, "--hicache-write-policy": None, "--page-size": "1"}
    edits = apply_fix.edits(target, gone, text)
    words = shlex.split(apply_fix.edited(text, edits).replace("\\\n", " "))
    assert words == shlex.split("sglang serve --page-size 1 -v")
    assert apply_fix.command(target, gone) == "sglang serve --page-size 1 -v"
