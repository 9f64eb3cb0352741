"""The second method: drift of states, Horn clauses, and the same events on integers."""

from dataclasses import dataclass, replace

import pytest

from spec import candidates
from spec.numbers import Number, both
from spec.sglang.drift import model
from spec.sglang.drift.model import PRODUCERS, Gap, State, checkpoint, claim, gap, system
from spec.sglang.drift.verdict import judge
from spec.sglang.releases import CURRENT, DESIGNS, design_named
from spec.sglang.rules import grids
from spec.smt import spacer
from spec.smt.solver import Limits
from spec.transition_system import System, shortest_trace

SEEDS = range(10)
RAW = replace(CURRENT, name="raw", decode_grid=grids.track_interval)
GUARDED = design_named("sglang-0.5.20+insert-guard")


@pytest.fixture(scope="module")
def right():
    """The system of the newest release whose slots hold."""
    return system(CURRENT)


def test_every_producer_of_the_newest_release_inserts_states_at_nodes_of_their_depth():
    assert {gap(CURRENT, producer) for producer in PRODUCERS} == {Gap.NONE}


@pytest.mark.parametrize("design", [*list(DESIGNS.values())[4:], GUARDED], ids=lambda d: d.name)
def test_a_right_design_is_proved_under_ten_seeds(design):
    assert judge(design, seeds=SEEDS).verdict == "proved"


@pytest.mark.parametrize("release", list(DESIGNS)[:4])
def test_a_release_whose_producers_miss_their_nodes_is_refuted_under_ten_seeds(release):
    found = judge(DESIGNS[release], seeds=SEEDS)
    assert found.verdict == "refuted" and found.trace[-1].event == "donate"


def test_the_raw_interval_alone_is_refuted():
    found = judge(RAW)
    assert [step.event for step in found.trace] == ["decode", "donate"]
    assert found.trace[-1].after.node == 1


def test_slots_that_are_overwritten_refute_the_newest_release():
    found = judge(CURRENT, slots_hold=False)
    assert found.verdict == "refuted" and "overwrite" in [step.event for step in found.trace]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_gap_that_is_not_excluded_really_occurs(name):
    for producer in PRODUCERS:
        if gap(DESIGNS[name], producer) is not Gap.NONE:
            claims = [claim(DESIGNS[name], producer, Gap.NONE, dcp) for dcp in (True, False)]
            assert any(candidates.counterexample(t, t.parameters()) for t in claims)


@pytest.mark.parametrize("producer", [producer.name for producer in PRODUCERS])
@pytest.mark.parametrize("worst", [one for one in Gap if one is not Gap.NONE])
def test_one_producer_with_a_gap_is_enough(right, producer, worst):
    wrong = replace(right, events={**right.events, producer: checkpoint(worst)})
    assert spacer.decide(wrong).result == "sat"
    assert shortest_trace(wrong, State(page=2), range(0, 2), 4)


def test_the_next_request_adds_its_drift_to_the_drift_it_was_given(right):
    def a_page_or_more(state):
        return both(state.known == 1, state.node >= state.page)

    raw = {**right.events, "decode": checkpoint(Gap.WITHIN_A_PAGE)}
    adds = replace(right, events=raw, harm=a_page_or_more)
    found = shortest_trace(adds, State(page=2), range(0, 2), 6)
    assert [s.event for s in found] == ["decode", "donate", "match", "decode", "donate"]
    alone = {name: event for name, event in adds.events.items() if name != "match"}
    assert spacer.decide(adds).result == "sat"
    assert spacer.decide(replace(adds, events=alone)).result == "unsat"


def test_an_evicted_node_is_not_matched():
    evicted, after = model.evict(State(page=2, known=1, node=1))
    assert evicted and not model.a_node_has_the_state_of_another_depth(after)
    allowed, _ = model.match(after)
    assert not allowed


@dataclass(frozen=True)
class Pair:
    first: Number
    second: Number


def _multiplied(state, by):
    return by >= 2, replace(state, first=state.first * by, second=state.second * state.first + by)


def test_a_limit_that_is_reached_makes_the_answer_unknown():
    hard = System(
        Pair,
        lambda s: both(s.first == 2, s.second == 3),
        {"multiply": _multiplied},
        lambda s: s.first * s.first * s.first == s.second * s.second + 5,
    )
    assert spacer.decide(hard, Limits(milliseconds=100)).result == "unknown"


@pytest.mark.parametrize(("stride", "reached"), [(2, True), (3, False)])
def test_spacer_and_the_search_on_integers_agree(stride, reached):
    def stepped(state):
        return state.first < 10, replace(state, first=state.first + stride)

    counting = System(
        Pair,
        lambda s: both(s.first == 0, s.second == 0),
        {"step": stepped},
        lambda s: s.first == 10,
    )
    assert (spacer.decide(counting).result == "sat") == reached
    assert (shortest_trace(counting, Pair(0, 0), (), 9) is not None) == reached


def test_a_trace_starts_where_the_system_does(right):
    with pytest.raises(ValueError, match="no initial state"):
        shortest_trace(right, State(page=2, live=1), (), 3)
