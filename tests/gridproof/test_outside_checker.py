"""The command that has cvc5's proofs read by a checker from outside; here small scripts stand for that checker."""

import sys

import pytest

from gridproof import outside_checker
from gridproof.console import Output
from gridproof.reports.smt_files import certify, of_lemmas
from spec.smt.solver import Limits

pytest.importorskip("cvc5")

# It looks at what the real one looks at beside the steps: what is assumed, and what the last step concludes.
HONEST = """
name = sys.argv[-1]
proof, reference = open(name).read(), open(name.replace(".cpc", ".smt2")).read()
assumed, asserted = proof.count("(assume "), reference.count("(assert")
accepted = assumed == asserted and " false :rule" in proof[proof.rindex("(step "):]
"""
CARELESS = f"{HONEST}\naccepted = accepted or assumed > asserted"
COUNT = 3


@pytest.fixture
def checker(root, tmp_path):
    """Make a checker from what it does with a proof, which sets `accepted`; and what else the command is given."""

    def make(judges, knows=outside_checker.OPTION):
        program = tmp_path / "checker"
        program.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(root)!r})\n"
            f"if '--help' in sys.argv: sys.exit({knows!r})\n{judges}\n"
            "print('correct' if accepted else 'Error: this step is wrong')\nsys.exit(not accepted)\n"
        )
        program.chmod(0o755)
        calculus = tmp_path / "cvc5" / outside_checker.CALCULUS
        calculus.parent.mkdir(parents=True, exist_ok=True)
        calculus.touch()
        return "--checker", str(program), "--cvc5", str(tmp_path / "cvc5")

    return make


@pytest.fixture
def proofs(tmp_path):
    """A folder of proofs of a few lemmas, as `gridproof prove --proofs` writes them."""
    folder = tmp_path / "proofs"
    certify(Output(), folder, of_lemmas()[:COUNT], Limits())
    return folder


def test_every_proof_is_accepted_and_every_spoilt_copy_is_not(proofs, checker, capsys):
    assert outside_checker.main([str(proofs), *checker(HONEST)]) == 0
    out = capsys.readouterr().out
    assert f"accepted: {COUNT} of {COUNT} proofs" in out
    assert f"spoilt copies rejected: {3 * COUNT} of {3 * COUNT}" in out


def test_a_proof_that_is_rejected_is_named(proofs, checker, capsys):
    spoilt = outside_checker.proofs_in(proofs)[0]
    spoilt.write_text(outside_checker.without_its_last_step(spoilt.read_text(), "")[0])
    assert outside_checker.main([str(proofs), *checker(HONEST)]) == 1
    out = capsys.readouterr().out
    assert f"lemmas/{spoilt.name}: rejected: Error: this step is wrong" in out
    assert f"accepted: {COUNT - 1} of {COUNT} proofs" in out


def test_a_checker_that_accepts_a_spoilt_copy_is_found_out(proofs, checker, capsys):
    assert outside_checker.main([str(proofs), *checker(CARELESS)]) == 1
    out = capsys.readouterr().out
    assert out.count(".cpc: accepted with an assertion dropped") == COUNT
    assert f"accepted: {COUNT} of {COUNT} proofs" in out
    assert f"spoilt copies rejected: {2 * COUNT} of {3 * COUNT}" in out


def test_a_spoilt_copy_differs_in_one_thing(proofs):
    for path in outside_checker.proofs_in(proofs):
        proof, reference = path.read_text(), path.with_suffix(".smt2").read_text()
        spoilt, left = outside_checker.without_an_assertion(proof, reference)
        assert spoilt == proof and reference.count("(assert") - left.count("(assert") == 1
        for spoiling in (
            outside_checker.without_its_last_step,
            outside_checker.with_another_conclusion,
        ):
            spoilt, left = spoiling(proof, reference)
            assert left == reference
            assert spoilt.splitlines()[:-1] == proof.splitlines()[: len(spoilt.splitlines()) - 1]


def test_what_cannot_be_used_is_refused_in_a_sentence(proofs, checker, tmp_path, capsys):
    usable = checker(HONEST)
    empty = tmp_path / "empty"
    empty.mkdir()
    cases = {
        (str(empty), *usable): (3, "holds no proofs"),
        (str(proofs), *usable[:3], str(empty)): (2, "has no file proofs/eo/cpc/Cpc.eo"),
        (str(proofs), "--checker", str(empty / "no"), *usable[2:]): (2, "cannot be run"),
    }
    for arguments, (code, sentence) in cases.items():
        assert outside_checker.main(arguments) == code
        assert sentence in capsys.readouterr().err
    assert outside_checker.main([str(proofs), *checker(HONEST, knows="--help")]) == 2
    assert "does not know --require-proof-of-false" in capsys.readouterr().err


def test_a_checker_that_does_not_end_leaves_it_open(proofs, checker, monkeypatch, capsys):
    monkeypatch.setattr(outside_checker, "SECONDS", 1)
    endless = "import time\ntime.sleep(60)\naccepted = True"
    assert outside_checker.main([str(proofs / "lemmas"), *checker(endless), "--jobs", "64"]) == 4
    assert "not decided within 1 seconds" in capsys.readouterr().err
