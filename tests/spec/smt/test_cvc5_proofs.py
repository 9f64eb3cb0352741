"""cvc5's proofs: what they assume, that they end in a contradiction, and that each step follows."""

import pytest
import z3

from spec.prove import Prover
from spec.sglang.theorems import LIBRARY
from spec.smt import cvc5_solver, smtlib
from spec.smt.lemmas import LEMMAS
from spec.smt.solver import Query
from tests.spec.smt import cpc

pytest.importorskip("cvc5")
THEOREMS = (
    "every_track_depth_is_a_multiple_of_all_three_grids",
    "decode_checkpoint_lands_on_a_node",
    "an_absolute_extend_lands_on_a_node",
    "the_saved_step_is_always_an_accepted_one",
)


@pytest.fixture(scope="module")
def obligations():
    theorems = [Prover().prove(LIBRARY[name]).queries[-1] for name in THEOREMS]
    return {q.name: q for q in [*theorems, *(lemma.query() for lemma in LEMMAS.values())]}


@pytest.mark.parametrize("name", [*THEOREMS, *LEMMAS])
def test_a_proof_assumes_only_what_its_reference_asserts_and_each_step_follows(obligations, name):
    found = cvc5_solver.proof(obligations[name], "reference.smt2")
    proof = cpc.proof(found.text)
    assert proof.reference == "reference.smt2"
    assert set(proof.assumptions) <= set(cpc.assertions(smtlib.text(obligations[name])))
    assert proof.steps[-1].conclusion == "false"
    assert found.trusted == 0 and found.steps >= len(proof.steps) > 0
    semantics = cpc.Semantics()
    assert [step for step in proof.steps if not semantics.follows(step)] == []


def test_there_is_no_proof_of_what_can_hold():
    x = z3.Int("x")
    assert cvc5_solver.proof(Query("possible", (x > 1,)), "possible.smt2") is None


def test_a_step_that_does_not_follow_is_noticed():
    text = '(reference "r")(assume @p1 (> x 1))(step @p2 (> x 2) :rule evaluate :premises (@p1))'
    (step,) = cpc.proof(text).steps
    assert not cpc.Semantics().follows(step)


def test_what_is_concluded_under_an_assumption_is_not_known_outside():
    inside = '(reference "r")(assume-push @p1 (> x 1))(step @p2 (> x 0) :rule r :premises (@p1))'
    leave = "(step-pop @p3 :rule scope :premises (@p2))"
    (_,) = cpc.proof(inside + leave).steps
    with pytest.raises(KeyError):
        cpc.proof(inside + leave + "(step @p4 false :rule r :premises (@p2))")


def test_steps_on_trust_are_counted(monkeypatch):
    coarse = {**cvc5_solver._PROOF_OPTIONS, "proof-granularity": "macro"}
    monkeypatch.setattr(cvc5_solver, "_PROOF_OPTIONS", coarse)
    assert cvc5_solver.proof(LEMMAS["grow"].query(), "grow.smt2").trusted > 0
