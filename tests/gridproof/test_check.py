"""`gridproof check` on files: sources, formats, waivers, fixes, bad input."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gridproof.test_cli import valid

KIMI = "python -m sglang.launch_server --model-path moonshotai/Kimi-K3 --tp-size 8 --dcp-size 8"
SYNCHRONOUS = f"{KIMI} --mamba-radix-cache-strategy extra_buffer --disable-overlap-schedule"
MODEL = "--model-path Qwen/Qwen3-Next-80B-A3B-Instruct"
LAZY = "--mamba-radix-cache-strategy extra_buffer_lazy"
FA3 = "--attention-backend fa3"  # the page then depends on no kind of GPU
SMALL = f"sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct {LAZY} --page-size 64"
MIXED = f"{SMALL} --enable-mixed-chunk"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(run):
    return valid(run.out)


def test_a_finding_stands_at_the_line_of_its_flag(gridproof, here):
    (here / "a.sh").write_text(f"\n{KIMI} \\\n  --mamba-track-interval 256\n")
    found = document(gridproof("check", "--engine", "sglang==0.5.18", "--format", "json", "a.sh"))
    (judged,) = found["configurations"]
    assert (judged["source"], judged["line"]) == ("a.sh", 2)
    places = {f["code"]: (f["source"], f["line"]) for f in found["findings"]}
    assert places["GP101"] == ("a.sh", 3) and places["GP201"] == ("a.sh", 2)


def test_the_release_is_the_one_that_was_asked_for_else_pinned_else_the_newest(gridproof, here):
    def engine(*arguments):
        run = gridproof("check", "--format", "json", *arguments)
        return document(run)["configurations"][0]["engine"]

    (here / "a.sh").write_text(SMALL)
    assert engine("a.sh") == "sglang==0.5.23"
    (here / "requirements.txt").write_text("sglang==0.5.19\n")
    assert engine("a.sh") == "sglang==0.5.19"
    assert engine("--engine", "sglang==0.5.20", "a.sh") == "sglang==0.5.20"
    (here / "Dockerfile").write_text(f"FROM lmsysorg/sglang:v0.5.21\nCMD {SMALL}\n")
    assert engine("Dockerfile") == "sglang==0.5.21"
    inside = f"docker run --gpus all lmsysorg/sglang:v0.5.20-cu129 {SMALL}"
    (here / "b.sh").write_text(inside)
    assert engine("b.sh") == engine("--", *inside.split()) == "sglang==0.5.20"
    (here / "a.sh").write_text(SMALL)
    assert engine("a.sh") == "sglang==0.5.19"


def test_a_pinned_release_that_is_not_modelled_is_reported(gridproof, here):
    (here / "a.sh").write_text(SMALL)
    (here / "requirements.txt").write_text("sglang==0.5.9\n")
    found = document(gridproof("check", "--format", "json", "a.sh"))
    assert found["configurations"][0]["verdict"] == "not_modelled"
    assert found["configurations"][0]["engine"] == "sglang==0.5.9"
    assert "0.5.9" in found["findings"][0]["message"]


def test_all_releases_give_one_row_each(gridproof, here):
    (here / "a.sh").write_text(KIMI)
    run = gridproof("check", "--all-releases", "a.sh")
    rows = [line.split()[:2] for line in run.out.splitlines() if line.startswith("sglang==")]
    assert [row[0] for row in rows] == [f"sglang==0.5.{n}" for n in range(17, 24)]
    assert rows[0][1] == "unsafe"


def test_a_value_that_the_command_does_not_hold_is_assumed_given_or_read(gridproof, here):
    def chunk(*arguments):
        run = gridproof("check", "--format", "json", *arguments)
        judged = document(run)["configurations"][0]
        return judged["configuration"]["mamba_chunk_size"], judged["sources"]["mamba_chunk_size"]

    (here / "model").mkdir()
    (here / "model/config.json").write_text('{"model_type": "nemotron_h", "chunk_size": 128}')
    (here / "other.json").write_text('{"model_type": "granitemoehybrid", "mamba_chunk_size": 256}')
    launch = ("--", "sglang", "serve", "--model-path")
    assert chunk(*launch, "some/model") == (64, "assumed")
    assert chunk(*launch, "nvidia/Nemotron-H") == (128, "model table")
    assert chunk(*launch, "model") == (128, "config.json")
    assert chunk("--config", "other.json", *launch, "model") == (256, "config.json")
    assert chunk("--set", "mamba_chunk_size=32", *launch, "model") == (32, "flag")


@pytest.mark.parametrize(
    ("model", "source"),
    [
        ("some/model", "assumed"),
        ("Qwen/Qwen3-Next", "default"),
        ("moonshotai/Kimi-K3", "model table"),
    ],
)
def test_the_page_of_a_model_that_nothing_is_known_of_is_assumed(gridproof, model, source):
    run = gridproof("check", "--format", "json", "--", "sglang", "serve", "--model-path", model)
    assert document(run)["configurations"][0]["sources"]["page_size"] == source


def test_the_evidence_for_the_verdict_on_slots_is_given(gridproof):
    def judged(*words):
        arguments = ("--format", "json", "--", "sglang", "serve", *words)
        return document(gridproof("check", *arguments))["configurations"][0]

    safe = judged(*LAZY.split())
    assert safe["readers"]["slots"] == "safe" and safe["orders"]["events"] == 5
    assert judged("--page-size", "1")["orders"] == {"events": 3, "closed": False, "untried": []}
    assert judged("--disable-radix-cache")["orders"] is None


def test_settings_of_the_engines_own_file_come_before_its_flags(gridproof, here):
    def judged(text):
        (here / "a.sh").write_text(f"{text}\n")
        return document(gridproof("check", "--format", "json", "a.sh"))["configurations"][0]

    (here / "launch.yaml").write_text(
        "page-size: 64\ndcp_size: 8\ntp-size: 8\ndisable-radix-cache: false\n"
    )
    both = judged("sglang serve --config launch.yaml --page-size 32")["configuration"]
    assert (both["page_size"], both["dcp_size"]) == (32, 8)
    assert (
        judged("sglang serve --page-size 32 --config launch.yaml")["configuration"]["page_size"]
        == 32
    )
    assert judged("sglang serve --config=launch.yaml")["configuration"]["page_size"] == 1
    assert "GP012" in gridproof("check", "a.sh").out
    assert judged("sglang serve --config none.yaml")["verdict"] == "not_modelled"
    (here / "launch.yaml").write_text("- a list\n")
    assert judged("sglang serve --config launch.yaml")["verdict"] == "not_modelled"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--set", "page_size", "--", "sglang", "serve"), "FIELD=VALUE"),
        (("--set", "pages=1", "--", "sglang", "serve"), "FIELD=VALUE"),
        (("--set", "page_size=0", "--", "sglang", "serve"), "no whole number"),
        (("--set", "page_size=" + "9" * 30, "--", "sglang", "serve"), "no whole number"),
        (("--set", "recurrence=rnn", "--", "sglang", "serve"), "mamba2"),
        (("--config", "none.json", "--", "sglang", "serve"), "none.json"),
        (("--write", "--", "sglang", "serve"), "--fix"),
        (("--fix", "--all-releases", "--", "sglang", "serve"), "--engine"),
        (("none.sh",), "no such file.*--"),
        (("sglang", "serve", "--page-size", "64"), "--page-size.*behind '--'"),
        (("sglang serve " + "--page-size 64 " * 500,), "no such file.*--"),
        (("binary.sh",), "no UTF-8"),
        (("zeros.sh",), "no text"),
        (("loop.sh",), "symbolic links"),
        (("large.sh",), "larger than"),
    ],
)
def test_bad_usage_is_one_sentence(gridproof, here, arguments, said):
    (here / "binary.sh").write_bytes(b"\xff\xfe sglang serve")
    (here / "zeros.sh").write_bytes(b"sglang serve\x00")
    (here / "loop.sh").symlink_to(here / "loop.sh")
    with open(here / "large.sh", "wb") as file:
        file.truncate(1 << 30)
    run = gridproof("check", *arguments)
    assert run.code == 2 and re.search(said, run.err) and len(run.err.splitlines()) == 1, run.err


def test_bad_files_met_in_a_folder_are_skipped_and_reported(gridproof, here):
    (here / "binary.sh").write_bytes(b"\xff\xfe sglang serve")
    (here / "a.sh").write_text(SMALL)
    run = gridproof("check", ".")
    assert "a.sh:1" in run.out and "skipped: binary.sh" in run.err and run.code == 1


def test_a_named_file_that_cannot_be_read_keeps_no_other_from_being_judged(gridproof, here):
    (here / "binary.sh").write_bytes(b"\xff\xfe sglang serve")
    (here / "a.sh").write_text(SMALL)
    run = gridproof("check", "--format", "json", "none.sh", "a.sh", "binary.sh")
    assert [c["source"] for c in document(run)["configurations"]] == ["a.sh"]
    assert run.code == 2 and len(run.err.splitlines()) == 1
    assert "none.sh: there is no such file" in run.err and "binary.sh: cannot be read" in run.err


def test_a_file_is_judged_once_however_often_it_is_given(gridproof, here):
    (here / "b").mkdir()
    (here / "b/a.sh").write_text(SMALL)
    run = gridproof("check", "--format", "json", "b", "b/a.sh", "./b/a.sh")
    assert [c["source"] for c in document(run)["configurations"]] == ["b/a.sh"]


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_a_name_that_no_encoding_has_characters_for_is_shown(here, form):
    file = os.fsdecode(b"na\xffme.sh")
    (here / file).write_text(SMALL)
    done = subprocess.run(
        [sys.executable, "-m", "gridproof", "check", "--format", form, file],
        capture_output=True,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONIOENCODING": "utf-8",
        },
    )
    assert done.returncode == (0 if form == "sarif" else 1) and b"me.sh" in done.stdout


@pytest.mark.parametrize("text", ["", "echo hello\n", "vllm is not sglang\n"])
def test_a_file_without_a_launch_is_nothing_to_do(gridproof, here, text):
    (here / "a.sh").write_text(text)
    assert gridproof("check", "a.sh").code == 3
    assert gridproof("check", ".").code == 3


@pytest.mark.parametrize(
    ("text", "verdict", "code"),
    [
        ("sglang serve MODEL --page-size $PAGE", "not_modelled", "GP011"),
        ("sglang serve MODEL --dcp-size $DCP --page-size 64", "not_modelled", "GP011"),
        ("sglang serve MODEL LAZY FA3 --dcp-size ${DCP:-1} --page-size ${PAGE-1}", "safe", None),
        ("sglang serve MODEL LAZY --page-size 1 $EXTRA", "not_modelled", "GP011"),
        ("sglang serve MODEL LAZY FA3 --page-size 1 ${EXTRA:-}", "safe", None),
        ('sglang serve MODEL LAZY FA3 --page-size 1 "$@"', "safe", "GP011"),
        ("sglang serve MODEL LAZY FA3 --host $HOST --page-size 1", "safe", None),
        ("sglang serve MODEL LAZY --mamba-track-intervall 64", "rejected", "GP012"),
        ("sglang serve MODEL LAZY FA3 --page-size 16 --page-size 1", "safe", "GP013"),
        ("sglang serve MODEL --page-size 99999999999999999999", None, "GP010"),
        ("sglang serve MODEL --page-size x", None, "GP010"),
        (
            "sglang serve MODEL --mamba-radix-cache-strategy no_buffer --dcp-size 8 --tp-size 8",
            "rejected",
            "GP005",
        ),
        ("sglang serve --model-path meta-llama/Llama-3.1-8B", "not_modelled", "GP003"),
    ],
)
def test_what_can_be_checked_is_checked_and_the_rest_is_reported(
    gridproof, here, text, verdict, code
):
    (here / "a.sh").write_text(
        text.replace("LAZY", LAZY).replace("MODEL", MODEL).replace("FA3", FA3) + "\n"
    )
    found = document(gridproof("check", "--format", "json", "a.sh"))
    assert [c["verdict"] for c in found["configurations"]] == ([verdict] if verdict else [])
    told = {f["code"] for f in found["findings"]}
    assert told == ({code, "GP003"} if verdict == "not_modelled" and code else {code} - {None})


@pytest.mark.parametrize(
    "release", ["0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23"]
)
@pytest.mark.parametrize(
    ("flags", "refuses"),
    [
        ("--page-size 16 --dcp-size 2 --chunked-prefill-size 32", True),
        ("--page-size 16 --dcp-size 2 --chunked-prefill-size 64", False),
        ("--page-size 128 --dcp-size 2 --chunked-prefill-size 128", False),
        ("--page-size 16 --dcp-size 2 --chunked-prefill-size -1", False),
        ("--page-size 16 --dcp-size 2", False),
        ("--page-size 16 --chunked-prefill-size 32", False),
    ],
)
def test_a_prefill_chunk_below_the_cache_chunk_is_refused_under_dcp_from_0_5_23_on(
    gridproof, release, flags, refuses
):
    launch = f"sglang serve --model-path Qwen/Qwen3-Coder-Next {LAZY} --tp-size 2 {flags}"
    engine = ("--engine", f"sglang=={release}")
    found = document(gridproof("check", *engine, "--format", "json", "--", *launch.split()))
    rejected = found["configurations"][0]["verdict"] == "rejected"
    assert rejected == (refuses and release == "0.5.23")
    told = [f["message"] for f in found["findings"] if f["code"] == "GP001"]
    assert any("at least the cache chunk" in message for message in told) == rejected


@pytest.mark.parametrize("page", [1, 2**31 - 1, 2**31])
@pytest.mark.parametrize("ranks", [2**31 - 2, 2**31])
def test_the_largest_numbers_are_judged(gridproof, page, ranks):
    launch = f"sglang serve --page-size {page} --dcp-size {ranks} --mamba-track-interval {page}"
    for release in ("0.5.18", "0.5.23"):
        run = gridproof(
            "check",
            "--set",
            "mamba_chunk_size=1",
            "--engine",
            f"sglang=={release}",
            "--",
            *launch.split(),
        )
        assert run.code in (0, 1), run.err


def test_many_unknown_flags_come_to_an_end(gridproof, here):
    flags = " ".join(f"--page-sizes-{n} 1" for n in range(20_000))
    (here / "a.sh").write_text(f"sglang serve {flags} --page-size 1 --{'x' * 1_000_000}\n")
    assert document(gridproof("check", "--format", "json", "a.sh"))["configurations"]


@pytest.mark.parametrize(
    ("release", "flags", "told"),
    [
        ("0.5.23", "--no-such-flag 1", "has no flag --no-such-flag"),
        ("0.5.23", "--no-such-flag=1", "has no flag --no-such-flag"),
        ("0.5.19", "--mamba-scheduler-strategy extra_buffer_lazy", None),
        ("0.5.20", "--mamba-scheduler-strategy extra_buffer_lazy", "0.5.19 is the last release"),
        ("0.5.23", "--enable-http-worker-reuseport", None),
        ("0.5.22", "--enable-http-worker-reuseport", "0.5.23 is the first release"),
        ("0.5.22", "--page 1", None),
        ("0.5.23", "--page 1", "several flags that begin with --page (--page-size, --paged-"),
        (
            "0.5.23",
            "--tp 2 --mem-fraction 0.8 --host=$HOST --watermark-config '{\"--a\": 1}'",
            None,
        ),
        ("0.5.23", "--model-type diffusion --no-such-flag 1", None),
    ],
)
def test_a_flag_that_the_release_does_not_have_is_found_where_it_stands(
    gridproof, here, release, flags, told
):
    (here / "a.sh").write_text(f"sglang serve {LAZY} \\\n  {flags}\n")
    engine = ("--engine", f"sglang=={release}")
    found = document(gridproof("check", *engine, "--format", "json", "a.sh"))
    unknown = [(f["line"], f["message"]) for f in found["findings"] if f["code"] == "GP012"]
    assert [line for line, _ in unknown] == ([2] if told else [])
    assert all(told in message for _, message in unknown)


@pytest.mark.parametrize(
    "start",
    [
        "python -m sglang_router.launch_server --worker-startup-timeout-secs 9",
        "python -m dynamo.sglang --endpoint dyn://a.b.c",
        "docker run --gpus all --shm-size 32g lmsysorg/sglang:v0.5.23 sglang serve",
    ],
)
def test_flags_of_a_wrapper_are_not_looked_up_in_the_engine(gridproof, start):
    assert "GP012" not in gridproof("check", "--", *start.split(), *LAZY.split()).out


def test_near_names_of_other_flags_are_not_taken_for_misspelt(gridproof):
    run = gridproof(
        "check", "--", "sglang", "serve", "--dp-size", "2", "--pp-size", "2", "--ep-size", "2"
    )
    assert "did you mean" not in run.out


def test_standard_input_is_read(here):
    done = subprocess.run(
        [sys.executable, "-m", "gridproof", "check", "--format", "json", "-"],
        input=f"FROM x\nCMD {SMALL}\n",
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    judged = valid(done.stdout)["configurations"]
    assert [(c["source"], c["line"]) for c in judged] == [("-", 2)] and done.returncode == 1


def test_waivers_of_files_and_settings(gridproof, here):
    (here / "a.sh").write_text(f"# gridproof: waive GP201: accepted until autumn\n{SMALL}\n")
    run = gridproof("check", "a.sh")
    assert run.code == 0 and "1 waived" in run.out and "GP201" not in run.out
    (here / "b.sh").write_text(f"{SMALL}\n")
    (here / "pyproject.toml").write_text(
        '[tool.gridproof]\nwaivers = [{ code = "GP201", path = "b.sh", reason = "why" }]\n'
    )
    assert gridproof("check", "b.sh").code == 0
    (here / "b.sh").write_text(f"sglang serve {LAZY} --page-size 1\n")
    stale = gridproof("check", "b.sh")
    assert stale.code == 1 and "GP014" in stale.out
    (here / "pyproject.toml").write_text("[tool.gridproof]\nwaivers = 3\n")
    assert gridproof("check", "b.sh").code == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.yaml", "sglang: [\n"), ("a.json", '{"sglang": '), ("a.py", "sglang = (\n")],
)
def test_a_named_file_that_is_not_what_it_should_be_is_bad_input(gridproof, here, name, text):
    (here / name).write_text(text)
    (here / "b.sh").write_text(f"{SMALL}\n")
    run = gridproof("check", name, "b.sh")
    assert run.code == 2 and "GP010" in run.out and "b.sh:1" in run.out
    assert run.err.count(f"{name}: not valid") == 1
    assert gridproof("check", ".").code == 1
    (here / name).write_text(f"# gridproof: waive GP010: a template\n{text}")
    assert gridproof("check", name).code == 0
    (here / "a.md").write_text("```yaml\nsglang: [\n```\n")
    assert gridproof("check", "a.md").code == 3


def test_what_cannot_be_read_can_be_waived(gridproof, here):
    (here / "a.sh").write_text(
        "# gridproof: waive GP010: a placeholder\nsglang serve --page-size N\n"
    )
    run = gridproof("check", "a.sh")
    assert run.code == 0 and "1 waived" in run.out


def test_a_waiver_whose_launch_is_gone_is_a_finding(gridproof, here):
    (here / "a.sh").write_text("# gridproof: waive GP401: why\necho no more\n")
    run = gridproof("check", "a.sh")
    assert run.code == 1 and "GP014" in run.out


SARIF = json.loads((Path(__file__).parents[1] / "data/sarif-schema-2.1.0.json").read_text())


def test_sarif_is_valid_and_points_at_the_flag(gridproof, here):
    (here / "my file.sh").write_text(
        f"# gridproof: waive GP401: why\n{KIMI} --mamba-track-interval 256\n"
    )
    (here / "bad.yaml").write_text("sglang: [\n")
    run = gridproof("check", "--engine", "sglang==0.5.18", "--format", "sarif", ".")
    log = json.loads(run.out)
    jsonschema.Draft4Validator(SARIF).validate(log)
    results = {r["ruleId"]: r for r in log["runs"][0]["results"]}
    place = results["GP101"]["locations"][0]["physicalLocation"]
    line = (here / "my file.sh").read_text().splitlines()[1]
    assert place["artifactLocation"]["uri"] == "my%20file.sh"
    assert place["region"] == {"startLine": 2, "startColumn": line.index("--mamba") + 1}
    assert results["GP401"]["suppressions"][0]["justification"] == "why"
    assert (
        results["GP010"]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "bad.yaml"
    )
    assert run.code == 0
    jsonschema.Draft4Validator(SARIF).validate(
        json.loads(gridproof("check", "--format", "sarif", "--", *SMALL.split()).out)
    )


def test_sarif_names_files_by_their_place_in_the_folder_and_waivers_by_where_they_stand(
    gridproof, here, tmp_path_factory
):
    other = tmp_path_factory.mktemp("other") / "b c.sh"
    for file in (here / "a.sh", other):
        file.write_text(SMALL)
    (here / "pyproject.toml").write_text(
        '[tool.gridproof]\nwaivers = [{ code = "GP201", path = "*a.sh", reason = "why" }]\n'
    )
    run = gridproof("check", "--format", "sarif", str(here / "a.sh"), str(other))
    first, second = json.loads(run.out)["runs"][0]["results"]
    assert first["suppressions"] == [{"kind": "external", "justification": "why"}]
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in (first, second)
    ]
    assert uris == ["a.sh", other.as_uri()]


def test_github_shows_ten_the_summary_first(gridproof, here):
    (here / "a,b.sh").write_text(f"{KIMI}\n" * 8)
    run = gridproof("check", "--engine", "sglang==0.5.18", "--format", "github", "a,b.sh")
    lines = run.out.splitlines()
    assert len(lines) == 10 and run.code == 1
    assert re.match("::error title=gridproof check::8 verdicts: \\d+ errors", lines[0])
    assert lines[1].startswith("::error file=a%2Cb.sh,line=1,")


def test_min_severity_hides_and_keeps_the_exit_code(gridproof):
    run = gridproof(
        *("check", "--min-severity", "error", "--", "python", "-m", "dynamo.sglang"),
        *(*LAZY.split(), "--mamba-track-intervall", "8"),
    )
    assert run.code == 1 and "GP012" not in run.out


def test_fix_prints_the_corrected_command(gridproof):
    whole = f"{SYNCHRONOUS} --chunked-prefill-size -1"
    run = gridproof("check", "--fix", "--engine", "sglang==0.5.18", "--", *whole.split())
    (fixed,) = (line for line in run.out.splitlines() if line.startswith("python -m"))
    assert fixed == f"{whole} --mamba-track-interval 512"
    again = gridproof("check", "--engine", "sglang==0.5.18", "--", *fixed.split())
    assert again.code == 0


def test_where_no_flags_help_the_release_that_does_is_printed(gridproof):
    run = gridproof("check", "--fix", "--engine", "sglang==0.5.18", "--", *SYNCHRONOUS.split())
    assert "  fix (safe): sglang==0.5.23\n" in run.out
    assert "safe on sglang==0.5.23 with the same flags; nothing is changed" in run.out
    form = ("--format", "json", "--engine", "sglang==0.5.18")
    for finding in document(gridproof("check", *form, "--", *SYNCHRONOUS.split()))["findings"]:
        upgrade = {"engine": "sglang==0.5.23", "flags": {}}
        assert finding["fix"] is None and finding["upgrade"] in (upgrade, None)


def test_a_fix_leaves_a_flag_out_in_place(gridproof, here):
    (here / "a.sh").write_text(f"{MIXED} \\\n  --port 1\n")
    shown = gridproof("check", "a.sh")
    assert shown.code == 1 and "fix (safe): without --enable-mixed-chunk" in shown.out
    assert gridproof("check", "--fix", "--write", "a.sh").out.endswith("a.sh: changed\n")
    assert (here / "a.sh").read_text() == f"{SMALL} \\\n  --port 1\n"
    (found,) = document(gridproof("check", "--format", "json", "a.sh"))["configurations"]
    assert found["verdict"] == "safe"


def test_a_fix_leaves_out_a_flag_that_is_given_twice_in_both_places(gridproof, here):
    twice = f"{MIXED} --port 1 --enable-mixed-chunk"
    (here / "a.sh").write_text(f"{twice}\n")
    assert gridproof("check", "--fix", "--", *twice.split()).out.splitlines()[-1] == (
        f"{SMALL} --port 1"
    )
    gridproof("check", "--fix", "--write", "a.sh")
    assert (here / "a.sh").read_text() == f"{SMALL} --port 1\n"


def test_a_write_policy_that_is_not_known_is_not_taken_for_one(gridproof):
    launch = f"sglang serve {LAZY} --enable-hierarchical-cache --hicache-write-policy"
    text = gridproof("check", "--", *launch.split(), "$POLICY").out
    assert "warning GP601" in text and "Where the write policy is not write_back" in text


FIXABLE = {
    "a.sh": "#!/bin/sh\n# not 100\nsglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --page-size 64 \\\n  --mamba-track-interval=100 \\\n  --chunked-prefill-size -1 # end\n",
    "Dockerfile": 'FROM x\nCMD ["sglang", "serve", "--model-path", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--page-size", "64", "--mamba-track-interval", "100"]\n',
    "k.yaml": "command: [sglang, serve, --model-path, Qwen/Qwen3-Next-80B-A3B-Instruct]\nargs:\n  - --page-size\n  - '64' # why\nother: 1\n",
    "flow.yaml": "args: ['sglang', 'serve', '--model-path', 'Qwen/Qwen3-Next-80B-A3B-Instruct', '--page-size', '64']\n",
    "a.py": "run(['sglang', 'serve', '--model-path', 'Qwen/Qwen3-Next-80B-A3B-Instruct', '--page-size', '64'])\n",
    "a.md": "# x\n\n```sh\n$ sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --page-size 64\n```\n",
    "crlf.sh": "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --page-size 64\r\necho done\r\n",
    "crlf.yaml": "args:\r\n- sglang\r\n- serve\r\n- --model-path=Qwen/Qwen3-Next-80B-A3B-Instruct\r\n- --page-size=64\r\nother: 1\r\n",
    "texts.yaml": "entrypoint: sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct\ncommand: --page-size 64\nother: 1\n",
    "log.sh": "sglang serve --model-path Qwen/Qwen3-Next-80B-A3B-Instruct --page-size 64 > log 2>&1 &\n",
}


@pytest.mark.parametrize("name", FIXABLE)
def test_files_are_mended_in_place_and_nothing_else_is_touched(gridproof, here, name):
    file = here / name
    file.write_bytes(FIXABLE[name].encode())
    file.chmod(0o755)
    assert gridproof("check", name).code == 1
    run = gridproof("check", "--fix", "--write", name)
    assert f"{name}: changed" in run.out
    after = file.read_bytes().decode()
    (found,) = document(gridproof("check", "--format", "json", name))["configurations"]
    assert found["verdict"] == "safe", after
    assert name.startswith("crlf") == ("\r\n" in after) and not re.search(r"(?<!\r)\n.*\r\n", after)
    assert file.stat().st_mode & 0o777 == 0o755
    for line in FIXABLE[name].splitlines(keepends=True):
        if "sglang" not in line and "--" not in line and "64" not in line:
            assert line in after
    assert gridproof("check", "--fix", "--write", name).out.count("changed") == 0


def test_where_one_file_is_read_only_none_is_changed(gridproof, here):
    for name in ("a.sh", "b.sh"):
        (here / name).write_text(MIXED)
    (here / "b.sh").chmod(0o444)
    run = gridproof("check", "--fix", "--write", ".")
    assert run.code == 2 and "b.sh: cannot be written (it is read-only)" in run.err
    assert (here / "a.sh").read_text() == (here / "b.sh").read_text() == MIXED


def test_standard_input_is_not_written(gridproof, here):
    run = gridproof("check", "--fix", "--write", "-")
    assert run.code == 2 and "standard input cannot be changed" in run.err and not run.out


def test_what_no_theorem_covers_is_not_changed(gridproof, here, monkeypatch):
    monkeypatch.setattr("generators.sglang.check.judged.rests_on", lambda *a: None)
    (here / "a.sh").write_text(f"{MIXED}\n")
    run = gridproof("check", "--fix", "--write", "a.sh")
    assert (
        "no fix is known that theorems cover" in run.out
        and (here / "a.sh").read_text() == f"{MIXED}\n"
    )
    run = gridproof("check", "--fix", "--unsafe-fixes", "a.sh")
    assert run.out.splitlines()[-1] == SMALL


def test_a_command_inside_another_is_printed_not_changed(gridproof, here):
    (here / "a.sh").write_text(f'bash -c "{MIXED}"\n')
    run = gridproof("check", "--fix", "--write", "a.sh")
    assert (
        "cannot be changed in place" in run.out
        and (here / "a.sh").read_text() == f'bash -c "{MIXED}"\n'
    )


def test_one_check_imports_neither_z3_nor_torch(root):
    code = (
        "import sys; from gridproof.cli import run\n"
        f"sys.argv = ['gridproof', 'check', '--fix', '--engine', 'sglang==0.5.18', '--', *{KIMI.split()!r}]\n"
        "try: run()\nexcept SystemExit: pass\n"
        "print(*(m for m in ('z3', 'torch', 'jsonschema', 'jinja2', 'yaml', 'hypothesis') if m in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.stderr.strip() == "" and "GP101" in done.stdout


PIECES = st.sampled_from(
    [
        "sglang",
        "serve",
        "-m sglang.launch_server",
        "--page-size",
        "--dcp-size 8",
        "64",
        "=",
        "'",
        '"',
        "$(",
        "`",
        "${X}",
        "{{ x }}",
        "\\\n",
        "\n",
        "&",
        "|",
        ";",
        "#",
        "[",
        "]",
        "{",
        "}",
        "- ",
        ": ",
        ",",
        "CMD ",
        "FROM x\n",
        "```\n",
        "args:",
        "*a",
        "&a ",
        "\t",
        "\u2028",
        "é",
        "\ue000",
        "9" * 30,
        "-1",
        "bash -c",
        "server_args=ServerArgs(page_size=",
        "# gridproof: waive GP401: x\n",
        "import x\n",
        "--mamba-radix-cache-strategy",
        "lazy",
        "sglang serve --page-size 64\n",
    ]
)
NAMES = st.sampled_from(
    ["a.sh", "Dockerfile", "a.yaml", "a.py", "a.md", "a.flags", "a.log", "a.json", "unknown"]
)


@settings(
    max_examples=int(os.environ.get("GRIDPROOF_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    name=NAMES,
    pieces=st.lists(PIECES | st.text(max_size=6), max_size=40),
    glue=st.sampled_from(["", " "]),
)
def test_no_text_whatever_ends_in_a_fault(gridproof, here, name, pieces, glue):
    (here / name).write_bytes(glue.join(pieces).encode(errors="surrogatepass"))
    for arguments in ((), ("--format", "json"), ("--fix", "--unsafe-fixes", "--format", "sarif")):
        run = gridproof("check", *arguments, name)
        assert run.code in (0, 1, 2, 3), run.err
        if run.code > 1:
            assert len(run.err.strip().splitlines()) == 1


@settings(
    max_examples=int(os.environ.get("GRIDPROOF_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(words=st.lists(PIECES | st.text(max_size=6), max_size=12))
def test_no_command_whatever_ends_in_a_fault(gridproof, words):
    run = gridproof("check", "--", "sglang", "serve", *(word.replace("\x00", "") for word in words))
    assert run.code in (0, 1, 2, 3), run.err
