"""One rule, three evaluations: on integers, on arrays and on SMT terms the same source gives the same answer."""

from dataclasses import fields
from types import SimpleNamespace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec import numbers
from spec.sglang import checkpoints, guards
from spec.sglang.releases import DESIGNS
from spec.sglang.rules import decode, extend, flush, grids, insert, lookup, slots, verify
from spec.sglang.slot_buffer import Slots
from spec.smt.terms import Formula, Ledger, Term

FIELDS = ("page_size", "dcp_size", "mamba_chunk_size", "mamba_track_interval")
NUMBER = st.integers(1, 600)
LENGTH = st.integers(0, 3000)
GRID_RULES = (
    grids.tree_page,
    grids.cache_chunk_size,
    grids.checkpoint_grid,
    grids.track_grid,
    grids.track_interval,
    guards.chunk_and_page_fit,
    guards.interval_is_whole_configured_pages,
)
# Rules of a grid and two depths, the second above the first.
DEPTH_RULES = {
    "snapshot_step": lambda g, a, b: decode.snapshot_step(g, b),
    "next_step_snapshots": lambda g, a, b: decode.next_step_snapshots(g, b),
    "completed_length": lambda g, a, b: decode.completed_length(b, g % 2),
    "flushed_depth": lambda g, a, b: flush.flushed_depth(g, b),
    "flush_step": lambda g, a, b: flush.flush_step(g, b),
    "relative_depth": extend.relative_depth,
    "absolute_depth": extend.absolute_depth,
    "relative_donates": lambda g, a, b: extend.relative_donates(g, 64, a, b),
    "absolute_donates": lambda g, a, b: extend.absolute_donates(g, 64, a, b),
    "tracked_length": lambda g, a, b: extend.tracked_length(g, a, b, a + g),
    "assertion_on_the_depth": lambda g, a, b: extend.assertion_holds(
        extend.depth_is_on_the_chunk, g, 64, a, b, a + g
    ),
    "assertion_on_the_offset": lambda g, a, b: extend.assertion_holds(
        extend.offset_is_on_the_chunk, g, 64, a, b, a + g
    ),
    "extend_state_depth": lambda g, a, b: extend.state_depth(g, 64, a, b, b),
    "crosses": lambda g, a, b: verify.crosses(g, a, b - a),
    "tracking_point": lambda g, a, b: verify.tracking_point(g, a, b - a),
    "saved_step": lambda g, a, b: verify.saved_step(g, a, b - a),
    "node_depth": insert.node_depth,
    "swap_follows_the_lookahead": lambda g, a, b: slots.swap_follows_the_lookahead(g, b, a % 2),
    "swap_follows_the_completed_step": lambda g, a, b: slots.swap_follows_the_completed_step(
        g, b, a % 2
    ),
    "depth_has_a_node": lambda g, a, b: insert.depth_has_a_node(g, b),
    "keeps_branching_point": lambda g, a, b: extend.keeps_branching_point(g, a, b, a + g),
    "longest_given": lambda g, a, b: lookup.longest_given(g, b),
    "branching_point": lambda g, a, b: lookup.branching_point(g, b),
    "is_branching_point": lambda g, a, b: lookup.is_branching_point(b - g, a),
    "label_within_the_key": lambda g, a, b: slots.label_within_the_key(a, b, g),
    "a_verify_may_cross": slots.a_verify_may_cross,
}


def plain(value):
    return value.value if isinstance(value, Term | Formula) else value


def agree(rule, values):
    """The value on integers, which the other two evaluations must give as well."""
    on_integers = rule(*values)
    on_arrays = numpy.asarray(rule(*(numpy.array([v, v]) for v in values)))
    ledger = Ledger()
    terms = [ledger.variable(f"x{i}", v, None) for i, v in enumerate(values)]
    on_terms = rule(*terms)
    assert numpy.broadcast_to(on_arrays, (2,)).tolist() == [on_integers, on_integers]
    assert plain(on_terms) == on_integers
    assert all(ledger.holds_at_witness(d) for d in ledger.definitions)
    if isinstance(on_terms, Formula):
        assert ledger.holds_at_witness(on_terms.expr) == on_integers
    return on_integers


@pytest.mark.parametrize("rule", GRID_RULES, ids=lambda r: r.__name__)
@given(values=st.tuples(NUMBER, st.integers(1, 64), NUMBER, NUMBER))
@settings(max_examples=60, deadline=None)
def test_grid_rules_agree(rule, values):
    agree(lambda *v: rule(SimpleNamespace(**dict(zip(FIELDS, v, strict=True)))), values)


@pytest.mark.parametrize("name", DEPTH_RULES)
@given(grid=NUMBER, start=LENGTH, length=st.integers(1, 3000))
@settings(max_examples=60, deadline=None)
def test_depth_rules_agree(name, grid, start, length):
    agree(DEPTH_RULES[name], (grid, start, start + length))


@given(a=NUMBER, b=NUMBER)
@settings(max_examples=100, deadline=None)
def test_the_arithmetic_itself_agrees(a, b):
    assert agree(numbers.lcm, (a, b)) % a == 0
    assert a % agree(numbers.gcd, (a, b)) == 0
    assert agree(numbers.largest, (a, b)) == max(a, b)
    assert agree(numbers.smallest, (a, b)) == min(a, b)
    assert agree(lambda x, y: numbers.implies(x > y, x >= y), (a, b))
    assert agree(lambda x, y: numbers.either(x > y, y >= x), (a, b))
    assert not agree(lambda x, y: numbers.both(x > y, y > x), (a, b))


@pytest.mark.parametrize("name", DESIGNS)
@given(
    values=st.tuples(NUMBER, st.integers(1, 16), NUMBER, NUMBER),
    start=LENGTH,
    length=st.integers(1, 3000),
)
@settings(max_examples=30, deadline=None)
def test_whole_checkpoints_agree(name, values, start, length):
    design = DESIGNS[name]

    def outcome(page, dcp, chunk, interval, prefix, end):
        c = SimpleNamespace(
            page_size=page,
            dcp_size=dcp,
            mamba_chunk_size=chunk,
            mamba_track_interval=interval,
            speculative_algorithm=None,
        )
        wrong = [
            checkpoints.misplaced(design, c, checkpoint)
            for checkpoint in (
                checkpoints.extend_checkpoint(design, c, prefix, end),
                checkpoints.decode_checkpoint(design, c, end),
                checkpoints.verify_checkpoint(design, c, prefix, end - prefix),
            )
        ]
        return numbers.either(*wrong)

    agree(outcome, (*values, start, start + length))


SLOT_FIELDS = tuple(f.name for f in fields(Slots) if f.name != "donates")


@pytest.mark.parametrize("name", SLOT_FIELDS)
@given(
    first=st.tuples(*[LENGTH] * len(SLOT_FIELDS)),
    second=st.tuples(*[LENGTH] * len(SLOT_FIELDS)),
    a=NUMBER,
    b=NUMBER,
)
@settings(max_examples=20, deadline=None)
def test_a_choice_of_slots_agrees_in_every_field(name, first, second, a, b):
    def chosen(*values):
        *numbers_, x, y = values
        half = len(SLOT_FIELDS)
        return getattr(Slots(*numbers_[:half]).where(x > y, Slots(*numbers_[half:])), name)

    assert (
        agree(chosen, (*first, *second, a, b))
        == (first if a > b else second)[SLOT_FIELDS.index(name)]
    )
