"""The search of orders against a plain one: no class is missed, whatever the design and the configuration."""

import os
from dataclasses import replace
from random import Random

import pytest

from generators.groups import numbers_of_a_life
from generators.traces import TraceSearch
from spec.sglang.configuration import Configuration
from spec.sglang.designs import design_named
from tests.generators.plain_orders import PlainSearch, Subject, drawn, missed

EXAMPLES = int(os.environ.get("GRIDPROOF_EXAMPLES", "3"))
ROOM = int(os.environ.get("GRIDPROOF_STATES", "400"))  # requests that the plain search looks at


def test_a_plain_search_finds_no_class_that_the_search_of_orders_misses():
    for seed in range(EXAMPLES):
        subject = drawn(Random(seed))
        assert not missed(subject, ROOM)[0], (seed, subject)


# Each was missed once: the label at a verify's own start, and the label of a cut prompt that is overwritten.
@pytest.mark.parametrize("seed", [1038, 1087])
def test_what_was_missed_once_is_found(seed):
    assert not missed(drawn(Random(seed)), 800)[0]


SMALL = Configuration(1, 2, 4, 4, "EAGLE", mamba_chunk_size=2)
OFF_PAGE = Configuration(2, 6, 6, 4, "EAGLE", mamba_chunk_size=8)
FIRST_PERIOD = Configuration(2, 1, 8, 3, "EAGLE", overlap=False, mamba_chunk_size=2)
ONE_OR_MORE = Configuration(chunked_prefill_size=-1, overlap=False)


def classes(design, c):
    found = TraceSearch(design_named(design), c).run(5).traces
    return {(t.code.id, "+".join(sorted(t.causes))) for t in found}


def test_every_count_of_a_verify_is_tried_where_two_verifies_exceed_the_grid():
    assert ("GP402", "grammar") in classes("sglang-0.5.19", SMALL)


def test_counts_of_drafts_that_were_one_group_are_broken_by_a_grammar_alone():
    for drafts in (4, 5):
        c = replace(OFF_PAGE, speculative_num_draft_tokens=drafts)
        assert ("GP402", "grammar") in classes("sglang-0.5.18+insert-guard", c)


def test_one_draft_token_is_broken_by_less_than_two():
    one, two = (replace(ONE_OR_MORE, speculative_num_draft_tokens=n) for n in (1, 2))
    assert classes("sglang-0.5.23", one) == set()
    assert classes("sglang-0.5.23", two) == {("GP401", "grammar")}


def test_a_verify_of_the_first_period_is_told_from_one_that_no_label_before_the_start_can_come_of():
    search = TraceSearch(design_named("sglang-0.5.21"), FIRST_PERIOD)
    scheduler, period = search.scheduler, search.moves.period
    first, *later = (
        search.key(scheduler.verify(scheduler.extend(scheduler.admit(), 1 + n * period), 3), True)
        for n in range(5)
    )
    assert first not in later and len(set(later)) == 1


def test_configurations_that_give_a_life_the_same_numbers_are_searched_alike():
    """A tree page of four tokens is two pages on two ranks, or four on one; a grid is what several intervals give."""
    rng, compared = Random(3), 0
    known = {}
    for _ in range(12_000):
        subject = drawn(rng)
        c = replace(subject.c, chunked_prefill_size=None)
        if not c.speculates or c.speculative_num_draft_tokens > 2:
            continue
        numbers = tuple(numbers_of_a_life(subject.design, c).items())
        others = c.strategy, c.overlap, c.speculative_algorithm, c.dcp_size > 1
        key = subject.design.name, numbers, others
        if key in known and known[key] != c and compared < 12:
            compared += 1
            two = [TraceSearch(subject.design, x).run(3) for x in (c, known[key])]
            assert [(t.moves, t.code) for t in two[0].traces] == [
                (t.moves, t.code) for t in two[1].traces
            ]
        known.setdefault(key, c)
    assert compared == 12


def test_a_plain_search_with_no_room_says_so():
    subject = Subject(design_named("sglang-0.5.23"), SMALL, False)
    assert PlainSearch(subject.design, subject.c, (0,), 12).run(5) is None
