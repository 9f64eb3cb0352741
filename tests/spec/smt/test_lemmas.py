"""The lemmas that every proof rests on."""

import pytest
import z3

from spec.smt.lemmas import LEMMAS, Lemma, unproved
from spec.smt.polynomials import Polynomial, linearised, polynomial
from spec.smt.solver import Limits, Query, decide


@pytest.mark.parametrize("seed", range(10))
def test_every_lemma_is_proved_under_every_seed(seed):
    assert unproved(seed) == ()


@pytest.mark.parametrize("name", LEMMAS)
def test_no_lemma_has_contradictory_hypotheses(name):
    lemma = LEMMAS[name]
    query = Query(name, lemma.hypotheses, linear=False)
    assert decide(query, Limits()).result == "sat"


@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_with_its_conclusion_denied_everywhere_is_false(name):
    """A lemma is no empty phrase: its hypotheses do not also prove the opposite."""
    lemma = LEMMAS[name]
    formulas = (*lemma.hypotheses, *lemma.uses, lemma.conclusion)
    query = Query(name, tuple(linearised(f) for f in formulas))
    assert decide(query, Limits()).result == "sat"


def test_a_false_lemma_is_not_proved():
    t, x = z3.Ints("t x")
    lemma = Lemma("wrong", (t >= 1, x >= 0), t * x >= t)
    assert decide(lemma.query(), Limits()).result != "unsat"


def test_opaque_products_only_admit_more_models():
    x, y = z3.Ints("x y")
    claim = linearised(x * y != y * x)
    assert decide(Query("commutes", (claim,)), Limits()).result == "unsat"
    square = linearised(x * x < 0)
    assert decide(Query("squares", (square,)), Limits()).result == "sat"


def test_polynomials_expand():
    x, y = z3.Ints("x y")
    assert polynomial((x + y) * (x - y)) == polynomial(x * x - y * y)
    assert polynomial(x - x) == Polynomial({})
    assert str(polynomial(3 - 2 * x * y)) == "3* + -2*x*y"
    with pytest.raises(ValueError, match="no polynomial"):
        polynomial(x / y)
