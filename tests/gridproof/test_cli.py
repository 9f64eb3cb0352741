"""The command line: documents against their schemas, exit codes, bad input."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib import resources

import jsonschema
import pytest

from generators.schemas import case_schema, domain_schema, fields_schema
from spec import engine as registry
from spec.sglang.theorems import LIBRARY
from spec.smt.lemmas import LEMMAS

KIMI = ("--page-size", "64", "--dcp-size", "8")
REPAIRED = "sglang-0.5.23+completed-swap"
SAFE_SLOTS = ("--mamba-radix-cache-strategy", "extra_buffer_lazy")
LAUNCH = (
    "python",
    "-m",
    "sglang.launch_server",
    "--model-path",
    "moonshotai/Kimi-K3",
    "--tp-size",
    "8",
    "--dcp-size",
    "8",
)


def valid(text):
    """The document, valid against the schema that it names."""
    document = json.loads(text)
    kind, major = document["schema"].split("/")[1:]
    schema = resources.files("generators.schemas").joinpath(f"{kind}-{major}.json")
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(document)
    if kind == "cases":
        model = registry.engine(document["design"].partition("-")[0])
        jsonschema.Draft202012Validator(domain_schema(model)).validate(document["domain"])
        for case in document["cases"]:
            jsonschema.Draft202012Validator(case_schema(model)).validate(case["configuration"])
    for judged in document["configurations"] if kind == "findings" else ():
        engine = judged["engine"].partition("==")[0]
        if judged["configuration"]:
            fields = fields_schema(registry.engine(engine))
            jsonschema.Draft202012Validator(fields).validate(judged["configuration"])
    return document


def test_prove_document(gridproof):
    run = gridproof("prove", "--format", "json", "--family", "decode")
    document = valid(run.out)
    assert run.code == 0
    assert document["summary"] == {
        "proved": sum(theorem.family == "decode" for theorem in LIBRARY),
        "refuted": 0,
        "unknown": 0,
        "vacuous": 0,
        "error": 0,
    }
    assert all(t["bounds"] == {} and t["witness"] for t in document["theorems"])


def test_prove_with_a_second_solver_and_export(gridproof, tmp_path):
    run = gridproof(
        "prove", "--format", "json", "--solver", "both", "--export", str(tmp_path / "smt")
    )
    document = valid(run.out)
    assert run.code == 0
    assert {t["second_opinion"]["verdict"] for t in document["theorems"]} == {"proved"}
    exported = list((tmp_path / "smt").glob("*.smt2"))
    assert len(exported) == len(document["theorems"])
    assert all("(check-sat)" in p.read_text() and "QF_LIA" in p.read_text() for p in exported)
    assert len(list((tmp_path / "smt" / "lemmas").glob("*.smt2"))) == len(LEMMAS)


FLUSH = ("prove", "--theorem", "every_snapshot_step_is_a_flush_step")


def test_prove_with_proofs_of_cvc5(gridproof, tmp_path):
    run = gridproof(*FLUSH, "--format", "json", "--proofs", str(tmp_path))
    document = valid(run.out)
    assert run.code == 0 and len(document["proofs"]) == 1 + len(LEMMAS)
    for proof in document["proofs"]:
        text = (tmp_path / proof["file"]).read_text()
        reference = tmp_path / proof["reference"]
        assert reference.is_file() and text.startswith(f'(reference "{reference.name}")\n')
        assert proof["steps"] > 0 and proof["trusted"] == 0 and proof["size"] == len(text)
    told = gridproof(*FLUSH, "--proofs", str(tmp_path / "again"))
    assert f"{len(document['proofs'])} of {len(document['proofs'])} proofs by cvc5" in told.out


def _pair(folder, name, reads_as):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.cpc").write_text(f'(reference "{reads_as}.smt2")\n(step)\n')
    (folder / f"{name}.smt2").write_text(f"; {reads_as}\n(set-logic QF_LIA)\n")


def _names(folder):
    return {str(path.relative_to(folder)) for path in folder.glob("**/*.*")}


def test_proofs_that_are_no_longer_written_are_removed_and_nothing_else(gridproof, tmp_path):
    gridproof(*FLUSH, "--proofs", str(tmp_path))
    written = _names(tmp_path)
    _pair(tmp_path, "a_theorem_that_was_renamed", "a_theorem_that_was_renamed")
    _pair(tmp_path / "lemmas", "a-lemma-that-was-renamed", "a-lemma-that-was-renamed")
    gone = _names(tmp_path) - written
    _pair(tmp_path, "decode_checkpoint_lands_on_a_node", "decode_checkpoint_lands_on_a_node")
    _pair(tmp_path, "somebody_elses", "another_name")
    _pair(tmp_path / "deeper", "a_theorem_that_was_renamed", "a_theorem_that_was_renamed")
    (tmp_path / "alone.cpc").write_text('(reference "alone.smt2")\n')
    before = _names(tmp_path)
    run = gridproof(*FLUSH, "--proofs", str(tmp_path))
    assert run.code == 0 and f"{len(gone)} files of proofs" in run.err
    assert _names(tmp_path) == before - gone


def test_the_proof_of_a_theorem_that_is_no_longer_proved_is_removed(
    gridproof, tmp_path, monkeypatch
):
    from spec.sglang.rules import flush

    gridproof(*FLUSH, "--proofs", str(tmp_path))
    monkeypatch.setattr(flush, "flush_step", lambda interval, seq_len: seq_len == interval)
    run = gridproof(*FLUSH, "--proofs", str(tmp_path))
    assert run.code == 1 and not list(tmp_path.glob("*.*"))


@pytest.mark.parametrize("lacking", ["a step on trust", "a proof"])
def test_a_proof_that_cannot_be_checked_exits_4_and_is_named(
    gridproof, tmp_path, monkeypatch, lacking
):
    from spec.smt import cvc5_solver

    given = cvc5_solver.Proof("(step @p1 false :rule trust)", 1, 1)
    found = given if lacking == "a step on trust" else None
    monkeypatch.setattr(cvc5_solver, "proof", lambda *arguments: found)
    (tmp_path / f"{FLUSH[-1]}.cpc").write_text("(of an earlier run)")
    run = gridproof(*FLUSH, "--proofs", str(tmp_path), "--format", "github")
    assert run.code == 4 and f"::error title={FLUSH[-1]}::cvc5" in run.out
    assert len(list(tmp_path.glob("**/*.cpc"))) == (1 + len(LEMMAS) if found else 0)
    assert gridproof(*FLUSH, "--proofs", str(tmp_path), "--exit-zero").code == 4


def test_proofs_are_refused_without_cvc5_and_where_nothing_can_be_written(
    gridproof, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    run = gridproof(*FLUSH, "--proofs", str(tmp_path / "file"))
    assert run.code == 2 and "cannot be written" in run.err and not run.out
    monkeypatch.setitem(sys.modules, "cvc5", None)
    run = gridproof(*FLUSH, "--proofs", str(tmp_path / "proofs"))
    assert run.code == 2 and "cvc5 is not installed" in run.err and not run.out
    assert not (tmp_path / "proofs").exists()


@pytest.mark.parametrize(("verdict", "code"), [("proved", 0), ("refuted", 1), ("unknown", 4)])
def test_the_second_method_is_asked_with_the_family_slots(gridproof, monkeypatch, verdict, code):
    from spec.prove import Prover, Result
    from spec.sglang.drift import verdict as drift

    monkeypatch.setattr(Prover, "prove", lambda self, t: Result(t, "proved", ("n",)))
    judgement = drift.SecondVerdict("sglang-0.5.23", True, verdict, 0.1)
    method = replace(drift.METHOD, judge=lambda *_, **__: judgement)
    monkeypatch.setattr(drift, "METHOD", method)
    run = gridproof("prove", "--family", "slots")
    assert run.code == code and f"{verdict} for sglang-0.5.23 if a slot keeps its state" in run.out
    run = gridproof("prove", "--family", "slots", "--format", "json")
    assert run.code == code and valid(run.out)["second_method"]["verdict"] == verdict
    run = gridproof("prove", "--family", "slots", "--format", "github")
    assert run.code == code and ("::error title=second method" in run.out) == (code != 0)
    assert "second_method" not in valid(
        gridproof("prove", "--family", "flush", "--format", "json").out
    )


def test_prove_by_cvc5_alone(gridproof):
    run = gridproof("prove", "--solver", "cvc5", "--family", "grids", "--format", "json")
    document = valid(run.out)
    assert run.code == 0 and document["solver"]["name"] == "cvc5"


def test_prove_annotations(gridproof):
    run = gridproof("prove", "--format", "github", "--family", "flush")
    count = sum(theorem.family == "flush" for theorem in LIBRARY)
    assert run.code == 0 and run.out == f"::notice title=gridproof prove::{count} proved\n"


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["proved"], 0),
        (["proved", "refuted"], 1),
        (["refuted", "unknown"], 4),
        (["unknown", "vacuous"], 5),
        (["vacuous", "error", "refuted"], 70),
    ],
)
def test_verdicts_are_never_folded_into_success(gridproof, monkeypatch, verdicts, code):
    from spec.prove import Prover, Result

    waiting = iter(verdicts)
    monkeypatch.setattr(Prover, "prove", lambda self, t: Result(t, next(waiting), ("n",)))
    names = [
        "decode_checkpoint_lands_on_a_node",
        "no_common_multiple_is_missed",
        "an_absolute_extend_lands_on_a_node",
    ]
    chosen = [x for n in names[: len(verdicts)] for x in ("--theorem", n)]
    assert gridproof("prove", *chosen).code == code
    waiting = iter(verdicts)
    assert gridproof("prove", "--theorem", names[0], *chosen, "--format", "json").code == code


def test_a_limit_that_is_met_exits_4(gridproof):
    run = gridproof("prove", "--limit", "1", "--theorem", "decode_checkpoint_lands_on_a_node")
    assert run.code == 4 and "unknown" in run.out


def test_search_document_and_out_file(gridproof, tmp_path):
    out = tmp_path / "new" / "cases.json"
    run = gridproof(
        "search", "--engine", "sglang==0.5.18", *KIMI, "--format", "json", "--out", str(out)
    )
    document = valid(run.out)
    assert run.code == 1 and out.read_text() == run.out
    assert document["complete"] is True and document["domain"]["configurations"] == 1
    assert list(out.parent.iterdir()) == [out]


def test_a_search_that_finds_nothing_gives_what_is_complete(gridproof):
    proved = "Grid rules: complete (proved for all lengths)."
    run = gridproof("search", "--design", REPAIRED, *KIMI)
    assert run.code == 0 and "No configuration and no order of events breaks it." in run.out
    assert f"{proved} Event orders: complete up to 8 events" in run.out
    run = gridproof("search", "--engine", "sglang", "--kind", "configurations", *KIMI)
    assert run.code == 0 and f"No configuration breaks it. {proved}\n" in run.out


def test_search_of_orders_with_its_limits(gridproof):
    run = gridproof("search", "--kind", "traces", *KIMI, "--format", "json")
    document = valid(run.out)
    (case,) = document["cases"]
    assert run.code == 1 and document["bounds"] == {"events": 8} and document["complete"]
    assert case["code"] == "GP401" and case["outcome"] == "overwritten"
    assert gridproof("search", "--kind", "traces", *KIMI, "--max-events", "2").code == 0
    mixed = ("--kind", "traces", *KIMI, "--enable-mixed-chunk", "--design", REPAIRED)
    assert gridproof("search", *mixed).code == 0
    late = gridproof("search", "--kind", "traces", *KIMI, "--timeout", "1e-9")
    assert late.code == 4 and "of 1" in late.err
    both = valid(gridproof("search", *KIMI, "--max-cases", "1", "--format", "json").out)
    assert both["kind"] == "all" and len(both["cases"]) == 1


def test_search_of_a_design_file_names_its_rules_faults_with_their_line(gridproof, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def swap(grid, seq_len, lookahead):\n    return seq_len / 0\n", encoding="utf-8"
    )
    run = gridproof("search", "--design-file", str(file), *KIMI)
    assert run.code == 2 and f"{file}:2: swap(" in run.err and "Traceback" not in run.err


def test_search_of_launches_is_a_note_or_a_case(gridproof):
    refused = ("--kind", "launches", "--dcp-size", "8", "--mamba-track-interval", "96")
    run = gridproof("search", *refused, "--page-size", "64", "--format", "json")
    assert run.code == 0 and [c["code"] for c in valid(run.out)["cases"]] == ["GP006"]
    wide = ("--kind", "launches", *KIMI, "--context-length", "511", "--format", "json")
    run = gridproof("search", *wide)
    assert run.code == 1 and [c["outcome"] for c in valid(run.out)["cases"]] == ["lost"]


LISTED = (
    ("[[launch]]\ncommand = 3", 2, "command must be a text"),
    ("[[launch]]\ncommand = 'sglang serve \"'", 2, "No closing quotation"),
    ("[[launch]]\ncomand = 'x'", 2, "did you mean 'command'"),
    ("[[launch]]\nid = 'mine'\ncommand = 'ls'", 2, "list.toml: launch mine: no engine is started"),
    ("[[launch]]\ncommand = 'sglang serve --dcp-size -1'", 2, "list.toml: launch 1: --dcp-size"),
    ("[[launch]]\ncommand = 'sglang serve'\nset = {page_sizee = 1}", 2, "list.toml: launch 1: --set 'page_sizee=1'"),
    ("[[launch]]\ncommand = 'sglang serve'\nset = {page_size = 'a'}", 2, "'a' is no whole number"),
    ("[[launch]]\ncommand = 'sglang serve'\nset = {page_size = [1]}", 2, "'[1]' is no whole number"),
    ("[[configuration]]\nstrategy = []", 3, "list.toml: configuration 1: --strategy"),
    ("[[configuration]]\ndcp_size = 0", 2, "list.toml: configuration 1: --dcp-size"),
    ("[[configuration]]\npage_size = [1, 2]", 2, "page_size must be one value"),
    ("launch = 1", 2, "each headed [[launch]]"),
    ("[[launch]]\ncommand = 'sglang serve --model-path x --disable-radix-cache'", 3, "no configuration"),
    ("page_size = 1\n[[configuration]]\ndcp_size = 2", 2, "cannot be set beside it"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "code", "said"), LISTED)
def test_what_is_wrong_with_a_list_is_told(gridproof, tmp_path, text, code, said):
    file = tmp_path / "list.toml"
    file.write_text(text, encoding="utf-8")
    run = gridproof("search", "--domain", str(file))
    assert run.code == code and said in run.err


def test_a_list_is_searched_as_its_configurations_are(gridproof, tmp_path):
    file = tmp_path / "list.toml"
    rows = [(64, 8), (64, 4), (64, 8)]
    text = "".join(f"[[configuration]]\npage_size = {p}\ndcp_size = {d}\n" for p, d in rows)
    file.write_text(text, encoding="utf-8")
    kind = ("--engine", "sglang==0.5.18", "--kind", "configurations", "--format", "json")
    listed = valid(gridproof("search", "--domain", str(file), *kind).out)
    spread = valid(gridproof("search", "--page-size", "64", "--dcp-size", "4,8", *kind).out)
    assert listed["cases"] == spread["cases"] and listed["complete"] and spread["complete"]
    assert listed["domain"]["configurations"] == 2


def test_search_of_a_design_and_exit_zero(gridproof):
    run = gridproof("search", "--design", "sglang-0.5.18+insert-guard", *KIMI, "--exit-zero")
    assert run.code == 0 and "GP204" in run.out and "GP101" not in run.out


def test_a_domain_file_a_flag_wins(gridproof, tmp_path):
    file = tmp_path / "domain.toml"
    file.write_text('engine = "sglang==0.5.18"\npage_size = 64\ndcp_size = [1, "2..3", 8]\n')
    run = gridproof("search", "--domain", str(file), "--dcp-size", "8", "--format", "json")
    document = valid(run.out)
    assert document["design"] == "sglang-0.5.18" and document["domain"]["dcp_size"] == [8]


def test_settings_of_pyproject(gridproof, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.gridproof]\nengine = "sglang==0.5.18"\ndcp-size = "8"\n'
    )
    monkeypatch.chdir(tmp_path)
    document = valid(gridproof("search", "--page-size", "64", "--format", "json").out)
    assert document["design"] == "sglang-0.5.18" and document["domain"]["dcp_size"] == [8]
    document = valid(gridproof("search", "--engine", "sglang", "--format", "json").out)
    assert document["design"] == "sglang-0.5.23"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[tool.gridproof]\nenginee = 'sglang'", "did you mean 'engine'"),
        ("[tool.gridproof]\nengine = ", "cannot be read"),
        ("[tool]\ngridproof = 5", "must be a table"),
        ("tool = 3", "must be a table"),
        ("[tool.gridproof]\nexit_zero = 2", "must be true or false"),
        ("[tool.gridproof]\nout = [1]", "a text or a whole number"),
        ("[tool.gridproof]\nseeds = 1.9", "a text or a whole number"),
        ("[tool.gridproof]\nfamily = 1.5", "a list of texts"),
        ("[tool.gridproof]\npage_size = {a = 1}", "a list of them"),
    ],
)
def test_bad_settings_are_refused(gridproof, tmp_path, monkeypatch, line, said):
    (tmp_path / "pyproject.toml").write_text(f"{line}\n")
    monkeypatch.chdir(tmp_path)
    run = gridproof("designs")
    assert run.code == 2 and said in run.err


def test_a_list_in_the_settings_is_a_set_of_values(gridproof, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.gridproof]\npage_size = [1, '64..128:64']\n")
    monkeypatch.chdir(tmp_path)
    document = valid(gridproof("search", "--format", "json").out)
    assert document["domain"]["page_size"] == [1, 64, 128]


def test_prove_of_a_named_theorem_prints_its_witness(gridproof):
    out = gridproof("prove", "--theorem", "decode_checkpoint_lands_on_a_node").out
    assert "hold together at mamba_chunk_size 64, page_size 64, dcp_size 8" in out
    assert "a_snapshot_is_taken is necessary" in out and "sglang-0.5.18 fails at" in out


def test_check_documents(gridproof):
    run = gridproof("check", "--all-releases", "--format", "json", "--", *LAUNCH, *SAFE_SLOTS)
    document = valid(run.out)
    assert run.code == 1
    verdicts = {c["engine"]: c["verdict"] for c in document["configurations"]}
    assert verdicts["sglang==0.5.18"] == "unsafe" and verdicts["sglang==0.5.23"] == "safe"


def test_check_exit_codes(gridproof):
    assert gridproof("check", "--engine", "sglang==0.5.19", "--", *LAUNCH).code == 1
    assert gridproof("check", "--engine", "sglang==0.5.19", "--exit-zero", "--", *LAUNCH).code == 0
    assert gridproof("check", "--engine", "sglang==0.5.23", "--", *LAUNCH).code == 1
    lazy = ("check", "--engine", "sglang==0.5.23", "--", *LAUNCH, *SAFE_SLOTS)
    assert gridproof(*lazy).code == 0
    assert gridproof("check", "--", "vllm", "serve", "m").code == 0


def test_designs(gridproof):
    document = valid(gridproof("designs", "--format", "json").out)
    assert document["designs"][0]["release"] == "0.5.17"
    assert gridproof("designs").code == 0


def test_explain(gridproof):
    run = gridproof("explain", "GP101")
    assert run.code == 0 and "decode_checkpoint_lands_on_a_node" in run.out


def test_the_committed_manifests_are_valid(root):
    for path in (root / "generated_tests").glob("*/manifest.json"):
        valid(path.read_text())
    for path in (root / "generated_tests" / "cases").glob("*.json"):
        valid(path.read_text())


BAD = [
    (("search", "--page-size", "sixty"), 2, "not a whole number"),
    (("search", "--page-size", "0"), 2, "at least 1"),
    (("search", "--dcp-size", "-1"), 2, "at least 1"),
    (("search", "--chunked-prefill-size", "0"), 2, "-1 (off)"),
    (("search", "--page-size", "1,,2"), 2, "empty item"),
    (("search", "--page-size", "1..8:0"), 2, "step"),
    (("search", "--overlap", "maybe"), 2, "neither 'on' nor 'off'"),
    (("search", "--strategy", "lazy"), 2, "accepted are extra_buffer"),
    (("search", "--page-size", "96", "--mamba-chunk-size", "64"), 5, "must divide the other"),
    (
        ("search", "--page-size", "64", "--mamba-track-interval", "100"),
        5,
        "exclude every configuration",
    ),
    (("search", "--strategy", "no_buffer", "--page-size", "64"), 5, "no_buffer needs"),
    (("search", "--strategy", "no_buffer", "--overlap", "off"), 4, "not modelled yet"),
    (("search", "--engine", "sglang==0.4.0"), 2, "modelled ones are 0.5.17"),
    (("search", "--engine", "vllm"), 2, "accepted are 'sglang'"),
    (("search", "--design", "sglang-0.5.18+magic"), 2, "known are insert-guard, completed-swap"),
    (("search", "--engine", "sglang", "--design", "sglang-0.5.18"), 2, "give one of them"),
    (("search", "--design-file", "none.py"), 2, "cannot be read"),
    (("search", "--design-file", "none.py", "--engine", "sglang"), 2, "give one of them"),
    (("search", "--jobs", "0"), 2, "jobs"),
    (("search", "--context-length", "0"), 2, "context-length"),
    (("search", "--page-size", ""), 3, "empty set"),
    (("search", "--dcp-size", "8..1"), 3, "empty set"),
    (("search", "--kind", "traces", "--max-events", "0"), 2, "max-events"),
    (("search", "--kind", "traces", "--page-size", "96"), 5, "exclude every configuration"),
    (("search", "--mamba-track-interval", "1..10000000000"), 2, "values; at most"),
    (("search", "--page-size", "1..1000000", "--dcp-size", "1..1000000"), 2, "combinations"),
    (("search", "--domain", "no-such-file.toml"), 2, "cannot be read"),
    (("search", "--out", "/proc/no/cases.json"), 2, "cannot be written"),
    (
        ("prove", "--theorem", "decode_checkpoint_lands_on_the_moon"),
        2,
        "did you mean 'decode_checkpoint_lands_on_a_node'",
    ),
    (("prove", "--theorem", "verify_checkpoint"), 2, "did you mean 'verify_checkpoint_lands"),
    (("prove", "--theorem", "nosuch"), 2, "'gridproof prove' lists them"),
    (("prove", "--family", "moons"), 2, "the families are"),
    (
        ("prove", "--family", "grids", "--theorem", "decode_checkpoint_lands_on_a_node"),
        3,
        "no theorem",
    ),
    (("emit", "no-such-file.json"), 2, "cannot be read"),
    (("emit", "--out", "no-such-folder"), 3, "no CASES"),
    (("replay",), 3, "no CASES given"),
    (
        ("explain", "GP999"),
        2,
        "the codes are GP001, GP002, GP003, GP004, GP005, GP006, GP007, GP008, GP010",
    ),
    (("explain", "cases.json"), 2, "cannot be read"),
    (("check",), 3, "no launch command"),
    (("check", "--", "sglang", "serve", "--page-size", "sixty"), 2, "not a whole number"),
    (("check", "--engine", "sglang==1", "--", "sglang", "serve"), 2, "modelled ones are"),
    (("prov",), 2, "Did you mean 'prove'"),
    (("search", "--engine", ""), 2, "unknown engine ''"),
    (("search", "--engine", "sglang=="), 2, "unknown release ''"),
    (("search", "--page-size", "1..99999999999999999999999"), 2, "values; give fewer"),
    (("search", "--speculative-algorithm", "{a=1}"), 2, "is no name, such as EAGLE"),
    (("search", "--out", "x" * 300), 2, "cannot be written"),
    (
        ("check", "--all-releases", "--engine", "sglang", "--", "sglang", "serve"),
        2,
        "one of the two",
    ),
    (("check", "--", "ls", "-la"), 2, "no engine is started"),
    (("check", "--", ""), 2, "no engine is started"),
    (("check", "--", "sglang serve --model 'x"), 2, "cannot be split"),
    (("check", "--", "sglang", "serve", "--dcp_size", "8"), 2, "spelled --dcp-size"),
    (("search", "--pagesize", "1"), 2, "No such option"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "said"), BAD, ids=lambda v: " ".join(v) if isinstance(v, tuple) else None
)
def test_bad_input_is_one_sentence_and_the_right_exit_code(gridproof, arguments, code, said):
    run = gridproof(*arguments)
    assert run.code == code
    assert said in run.err and "Traceback" not in run.err
    assert run.out == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("page_sise = 64\n", "did you mean 'page_size'"),
        ("page_size = 6.5\n", "neither a whole number nor a text"),
        ("engine = 5\n", "must be a text"),
        ("[design]\n", "must be a text"),
        ("page_size = true\n", "neither a whole number nor a text"),
        ("page_size = \n", "not valid TOML"),
        ("\x00", "not valid TOML"),
    ],
)
def test_bad_domain_files(gridproof, tmp_path, text, said):
    file = tmp_path / "domain.toml"
    file.write_text(text)
    run = gridproof("search", "--domain", str(file))
    assert run.code == 2 and said in run.err and run.out == ""


@pytest.fixture
def case_text(root):
    return (root / "generated_tests" / "cases" / "kimi-k3-b300-balanced.json").read_text()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda t: t[: len(t) // 2], "cut short"),
        (lambda t: "[]", "schema"),
        (lambda t: t.replace("cases/2", "cases/9"), "accepted are 'gridproof/cases/2'"),
        (lambda t: t.replace('"trace"', '"trail"'), "'trace' is a required property"),
        (lambda t: t.replace('"misplaced"', '"eaten"'), "'eaten' is not one of"),
        (lambda t: t.replace('"complete"', '"compleat"'), "'complete' is a required property"),
        (lambda t: t.replace('"page_size": 64', '"page_size": 0'), "less than the minimum of 1"),
        (lambda t: t.replace('"page_size": 64', '"page_size": "64"'), "is not of type 'integer'"),
        (lambda t: t.replace('"page_size": 64', '"page_size": null'), "is not of type 'integer'"),
        (lambda t: t.replace('"GP101"', '"GP999"'), "GP999 is unknown"),
        (lambda t: t.replace('"sglang-0.5.18"', '"sglang-0"'), "unknown design 'sglang-0'"),
        (lambda t: t.replace('"sglang-0.5.18"', '"sglang-0.5.18+x"'), "unknown proposal 'x'"),
        (lambda t: t.replace('"state": 768', '"state": 1000000000'), "at most 200,000"),
        (lambda t: t.replace('"id": "decode', '"id": "\\"\\"\\"import os'), "does not match"),
        (lambda t: "[" * 100_000, "not valid JSON"),
    ],
)
def test_bad_case_files_write_nothing(gridproof, tmp_path, case_text, damage, said):
    file = tmp_path / "cases.json"
    file.write_text(damage(case_text))
    run = gridproof("emit", str(file), "--out", str(tmp_path / "out"))
    assert run.code == 2 and said in run.err
    assert not (tmp_path / "out").exists()


def test_a_file_without_cases_is_nothing_to_do(gridproof, tmp_path):
    out = tmp_path / "cases.json"
    assert gridproof("search", "--design", REPAIRED, *KIMI, "--out", str(out)).code == 0
    assert gridproof("emit", str(out), "--out", str(tmp_path / "out")).code == 3


def test_a_corrupt_manifest_is_refused_and_nothing_is_touched(gridproof, tmp_path, case_text):
    file, out = tmp_path / "cases.json", tmp_path / "out"
    file.write_text(case_text)
    assert gridproof("emit", str(file), "--tier", "tiny", "--out", str(out)).code == 0
    path = out / "sglang" / "manifest.json"
    before = sorted(p.name for p in path.parent.iterdir())
    path.write_text(path.read_text()[:500])
    run = gridproof("emit", str(file), "--out", str(out))
    assert run.code == 2 and "not a manifest" in run.err
    assert sorted(p.name for p in path.parent.iterdir()) == before


def test_a_folder_is_made_again_in_the_tier_it_has(gridproof, tmp_path, case_text):
    file, out = tmp_path / "cases.json", tmp_path / "out"
    file.write_text(case_text)
    assert gridproof("emit", str(file), "--tier", "tiny", "--out", str(out)).code == 0
    assert gridproof("emit", "--check", "--out", str(out)).code == 0
    assert gridproof("emit", "--tier", "cases", "--out", str(out)).code == 0
    assert not (out / "sglang" / "test_slots.py").exists()


def test_emit_writes_compares_and_tidies(gridproof, tmp_path, case_text):
    file, out = tmp_path / "cases.json", tmp_path / "out"
    file.write_text(case_text)
    assert gridproof("emit", str(file), "--out", str(out)).code == 0
    assert gridproof("emit", "--check", "--out", str(out)).code == 0
    changed = out / "sglang" / "test_decode.py"
    changed.write_text(changed.read_text() + "# edited\n")
    run = gridproof("emit", "--check", "--out", str(out))
    assert run.code == 5 and str(changed) in run.out
    assert gridproof("emit", str(file), "--out", str(out)).code == 0
    document = json.loads(case_text)
    document["cases"] = [c for c in document["cases"] if c["code"] != "GP101"]
    file.write_text(json.dumps(document))
    assert gridproof("emit", str(file), "--out", str(out)).code == 0
    assert not changed.exists()
    assert not [p for p in out.rglob("*") if p.name.startswith("tmp")]


def test_an_unwritable_folder_is_refused(gridproof, tmp_path, case_text):
    file, blocked = tmp_path / "cases.json", tmp_path / "blocked"
    file.write_text(case_text)
    blocked.write_text("a file where a folder should be")
    run = gridproof("emit", str(file), "--out", str(blocked))
    assert run.code == 2 and "cannot be written" in run.err


def test_an_edited_file_is_not_deleted(gridproof, tmp_path, case_text):
    file, out = tmp_path / "cases.json", tmp_path / "out"
    file.write_text(case_text)
    assert gridproof("emit", str(file), "--out", str(out)).code == 0
    kept = out / "sglang" / "test_decode.py"
    kept.write_text("# mine now\n")
    document = json.loads(case_text)
    document["cases"] = [c for c in document["cases"] if c["code"] != "GP101"]
    file.write_text(json.dumps(document))
    assert gridproof("emit", str(file), "--out", str(out)).code == 0
    assert kept.read_text() == "# mine now\n"


def test_nothing_is_written_where_one_file_cannot_be(gridproof, tmp_path, case_text):
    file, out = tmp_path / "cases.json", tmp_path / "out"
    file.write_text(case_text)
    (out / "sglang" / "test_decode.py").mkdir(parents=True)
    run = gridproof("emit", str(file), "--out", str(out))
    assert run.code == 2 and "no regular file" in run.err
    assert [p.name for p in out.rglob("*")] == ["sglang", "test_decode.py"]


def test_a_link_is_written_through_and_no_device_is_replaced(gridproof, tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    assert gridproof("search", *KIMI, "--out", str(link)).code == 1
    assert link.is_symlink() and valid(target.read_text())
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    run = gridproof("search", *KIMI, "--out", str(pipe))
    assert run.code == 2 and "no regular file" in run.err and pipe.is_fifo()


def test_a_loop_of_links_and_an_empty_path_are_refused(gridproof, tmp_path, case_text):
    loop, file = tmp_path / "loop", tmp_path / "cases.json"
    loop.symlink_to(loop)
    file.write_text(case_text)
    assert gridproof("search", *KIMI, "--out", str(loop)).code == 2
    assert gridproof("emit", str(file), "--out", str(loop)).code == 2
    assert gridproof("emit", str(file), "--out", "").code == 2


def test_what_is_no_regular_file_is_not_read(gridproof, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for arguments in (("emit", str(pipe)), ("search", "--domain", str(pipe))):
        run = gridproof(*arguments)
        assert run.code == 2 and "no regular file" in run.err


def test_a_fault_of_gridproof_itself_exits_70(gridproof, monkeypatch):
    monkeypatch.setattr("gridproof.commands.designs.run", lambda *a: 1 // 0)
    run = gridproof("designs")
    assert run.code == 70 and "fault of gridproof itself" in run.err


def test_an_interrupt_is_no_traceback(gridproof, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("gridproof.commands.designs.run", interrupted)
    assert gridproof("designs").code == 130


def module(*arguments, **variables):
    return subprocess.run(
        [sys.executable, "-m", "gridproof", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )


def test_results_and_notes_go_apart_and_colour_is_asked_for():
    done = module("search", *KIMI, "--engine", "sglang==0.5.18")
    assert done.returncode == 1 and "\x1b" not in done.stdout and "GP101" in done.stdout
    assert "\x1b" in module("--color", "always", "prove", "--family", "insert").stdout
    assert (
        "\x1b" not in module("--color", "auto", "prove", "--family", "insert", NO_COLOR="1").stdout
    )
    assert "\x1b" in module("prove", "--family", "insert", "--color", "always").stdout
    launch = ("check", "--exit-zero", "--", "sglang", "serve", "--color", "always")
    assert "\x1b" not in module(*launch).stdout


def test_a_reader_that_goes_away_changes_no_exit_code():
    for arguments, code in (
        (("designs",), 0),
        (("search", *KIMI, "--engine", "sglang==0.5.18"), 1),
    ):
        process = subprocess.Popen(
            [sys.executable, "-m", "gridproof", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.wait() == code


def test_an_interrupted_proof_exits_130(root):
    arguments = ("prove", "--jobs", "1", "--seeds", "1000")
    done = subprocess.run(
        [sys.executable, "-m", "tests.gridproof.interrupting", *arguments],
        capture_output=True,
        cwd=root,
    )
    assert done.returncode == 130 and b"Traceback" not in done.stderr


def test_help_tells_the_exit_codes():
    text = module("--help").stdout
    for code in ("0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "70"):
        assert f"  {code}" in text
