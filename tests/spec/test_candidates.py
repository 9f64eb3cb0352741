"""Concrete values: what is found on arrays is what plain integers say, the same every time, and as small as it can be."""

from itertools import product

import numpy
import pytest

from spec import candidates as concrete
from spec.candidates import Batch, Candidates
from spec.numbers import choose, divides, lcm
from spec.sglang.theorems import LIBRARY
from spec.theorem import Library, Statement


def own(state):
    return Library(LIBRARY.setting).theorem("own", least={"a": 0})(state)


def claim(design, c, a, b):
    """False."""
    grid = lcm(c.page_size, b)
    return Statement(
        {"a_is_small": a <= 7, "b_is_no_page": b % c.page_size != 0},
        choose(divides(grid, a), a, 1) > 0,
    )


AXES = {"page_size": [2, 3, 4], "a": range(0, 9), "b": range(1, 9)}


def brute(without, fails):
    theorem = own(claim)
    for values in product(*AXES.values()):
        named = dict(zip(AXES, values, strict=True))
        statement = theorem.at(named)
        held = all(t for name, t in statement.hypotheses.items() if name != without)
        if held and (not fails or not statement.conclusion):
            yield named


@pytest.mark.parametrize("without", [None, "a_is_small", "b_is_no_page"])
@pytest.mark.parametrize("fails", [True, False])
def test_arrays_along_their_own_axes_find_what_plain_integers_find(without, fails):
    batch = Batch.product(own(claim), None, AXES)
    found = list(brute(without, fails))
    assert batch.first(fails, without) == found[0]
    smallest = min(found, key=lambda v: (sum(v.values()), *reversed(v.values())))
    assert batch.smallest(fails, without) == smallest


def test_the_smallest_sum_goes_before_the_smallest_last_value():
    def little_b_asks_for_much_a(design, c, a, b):
        """False."""
        return Statement({"enough": a + 2 * b >= 8}, c.page_size == 0)

    batch = Batch.product(own(little_b_asks_for_much_a), None, AXES)
    assert batch.first(True) == {"page_size": 2, "a": 0, "b": 4}
    assert batch.smallest(True) == {"page_size": 2, "a": 0, "b": 4}
    high = {**AXES, "b": range(1, 4)}
    assert Batch.product(own(little_b_asks_for_much_a), None, high).smallest(True) == {
        "page_size": 2,
        "a": 2,
        "b": 3,
    }


def test_rows_are_looked_at_one_by_one():
    columns = {
        n: numpy.array(column)
        for n, column in {"page_size": [2, 2], "a": [1, 0], "b": [3, 3]}.items()
    }
    batch = Batch.rows(own(claim), None, columns)
    assert batch.first(True) == {"page_size": 2, "a": 0, "b": 3}


def test_a_failure_off_all_batches_is_found_in_the_sample_and_lowered():
    def five_lengths_never_chain(design, c, a, b, d, e, f):
        """False."""
        rises = {"rises": (b == a + 1) & (d == b + 1) & (e == d + 1) & (f == e + 1)}
        return Statement(rises, a * c.page_size < 3)

    theorem = own(five_lengths_never_chain)
    candidates = Candidates(theorem, theorem.parameters())
    assert all(batch.first(True) is None for batch in candidates._batches())
    found = candidates.counterexample()
    assert concrete.fails_at(theorem, found)
    for name, least in theorem.parameters().items():
        lower = range(least, found[name])
        assert not any(concrete.fails_at(theorem, {**found, name: v}) for v in lower)


HARDEST = (
    ("a_stale_lazy_label_is_not_donated", "at_most_two_steps_are_outstanding"),
    ("a_launch_of_an_eager_step_keeps_the_invariant", "at_most_two_steps_are_outstanding"),
    ("a_launch_of_a_lazy_step_keeps_the_invariant", "at_most_two_steps_are_outstanding"),
    (
        "a_lazy_verify_far_from_every_boundary_changes_nothing",
        "it_was_planned_at_most_a_verify_before",
    ),
    (
        "a_verify_that_finishes_donates_a_labelled_state_unless_two_in_a_row_cross_the_grid",
        "a_verify_is_within_the_grid",
    ),
)


@pytest.mark.parametrize(("name", "without"), HARDEST)
def test_hypotheses_of_many_lengths_are_shown_needed_without_the_solver(name, without):
    theorem = LIBRARY[name]
    found = concrete.counterexample(theorem, theorem.parameters(), without=without)
    assert concrete.fails_at(theorem, found, without=without)
    assert found == concrete.counterexample(theorem, theorem.parameters(), without=without)
    assert max(found.values()) <= 12
