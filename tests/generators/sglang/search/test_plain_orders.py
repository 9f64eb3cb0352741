"""The search of orders against a plain one: no class is missed, whatever the design and the configuration."""

import os
from dataclasses import replace
from itertools import product
from random import Random
from types import SimpleNamespace

import pytest

from generators.cases.domain import Domain
from generators.search import equivalence
from generators.search.batches import batches
from generators.sglang.search import prompts
from generators.sglang.search.equivalence import numbers_of_a_life, signature
from generators.sglang.search.request_life import RequestLife
from spec.sglang.configuration import Configuration
from spec.sglang.releases import RELEASES, design_named
from tests.generators.sglang.search.plain_orders import PlainSearch, Subject, compared, drawn

EXAMPLES = int(os.environ.get("GRIDPROOF_EXAMPLES", "30"))
ROOM = 400  # states that a plain search looks at; `tox -e search-plain` has more of both


def test_a_plain_search_finds_no_class_that_the_search_of_orders_misses():
    found = 0
    for seed in range(EXAMPLES):
        subject = drawn(Random(seed))
        outcome = compared(subject, ROOM)
        assert not outcome.missed, (seed, subject)
        found += outcome.classes
    assert found >= EXAMPLES // 3


# Each was missed once: the label at a verify's own start, and the label of a cut prompt that is overwritten, and
# a request that resumes right before a boundary; a chunk of more than one grid where rows and page lie across, and a
# prompt that only the third of the depths it can be told leaves right; a wrong state of a cut prompt that is overwritten
# because no second slot could be had.
@pytest.mark.parametrize("seed", [1038, 1087, 417, 1092, 2788, 17, 309])
def test_what_was_missed_once_is_found(seed):
    assert not compared(drawn(Random(seed)), 1_000).missed


SMALL = Configuration(1, 2, 4, 4, "EAGLE", mamba_chunk_size=2)
OFF_PAGE = Configuration(2, 6, 6, 4, "EAGLE", mamba_chunk_size=8)
FIRST_PERIOD = Configuration(2, 1, 8, 3, "EAGLE", overlap=False, mamba_chunk_size=2)
KINDS = [("extra_buffer", True), ("extra_buffer", False), ("extra_buffer_lazy", True)]
ONE_OR_MORE = Configuration(chunked_prefill_size=-1, overlap=False)


def classes(design, c):
    found = RequestLife(design_named(design), c).run(5).traces
    return {(t.kind.id, "+".join(sorted(t.causes))) for t in found}


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
    search = RequestLife(design_named("sglang-0.5.21"), FIRST_PERIOD)
    scheduler, period = search.scheduler, search.moves.period
    first, *later = (
        search.key(scheduler.verify(scheduler.extend(scheduler.admit(), 1 + n * period), 3), True)
        for n in range(5)
    )
    assert first not in later and len(set(later)) == 1


def two_with_the_same_numbers(rng, design):
    """A tree page of four tokens is two pages on two ranks, or one of four; a grid is what several intervals give."""
    drafts, kind = rng.choice([0, 0, 1, 2]), rng.choice(KINDS)
    algorithm, known = "EAGLE" if drafts else None, {}
    for page, dcp, interval, chunk in product((1, 2, 3, 4, 6), (1, 2, 3, 6), (2, 3, 4, 6), (1, 2)):
        c = Configuration(
            page, dcp, interval, drafts, algorithm, None, *kind, mamba_chunk_size=chunk
        )
        numbers = numbers_of_a_life(design, c)
        if max(numbers.values()) <= 12:
            known.setdefault((*numbers.values(), dcp > 1), []).append(c)
    return rng.sample(rng.choice([alike for alike in known.values() if len(alike) > 1]), 2)


def test_configurations_that_give_a_life_the_same_numbers_are_searched_alike():
    rng = Random(3)
    for name in (*RELEASES, *RELEASES):
        design = design_named(f"sglang-{name}")
        two = two_with_the_same_numbers(rng, design)
        runs = [RequestLife(design, c).run(3) for c in two]
        first, second = ([(t.moves, t.kind) for t in run.traces] for run in runs)
        assert first == second, (name, two)


def prompts_of(seed):
    """The prompts of a configuration drawn at random and widened, and whether none of their lengths is left out."""
    rng = Random(seed)
    subject, unit = drawn(rng), rng.choice([4, 5, 8])
    wider = {n: getattr(subject.c, n) * unit for n in ("mamba_chunk_size", "mamba_track_interval")}
    page = subject.c.page_size * rng.choice([1, unit])
    moves = RequestLife(subject.design, replace(subject.c, **wider, page_size=page)).moves
    return moves.prompts.ways, moves.prompts.is_whole and moves.every_boundary


def test_lengths_beside_the_grids_show_all_that_prompts_of_every_length_leave(monkeypatch):
    compared_whole = 0
    for seed in (*range(1000, 1000 + 5 * EXAMPLES), 113, 1047, 1078, 1278, 1361):
        monkeypatch.setattr(prompts, "_EVERY_LENGTH", 0)
        ways, whole = prompts_of(seed)
        monkeypatch.setattr(prompts, "_EVERY_LENGTH", 1 << 30)
        if whole:
            assert ways == prompts_of(seed)[0], seed
            compared_whole += 1
    assert compared_whole > 2 * EXAMPLES


DOMAIN = {
    "page_size": (1, 16, 64, 128),
    "dcp_size": (1, 2, 3, 4, 8),
    "mamba_track_interval": range(64, 1025, 64),
    "mamba_chunk_size": (64, 128),
}


def ways_of(design, c):
    """What prompts leave and where they end, counted from boundaries; which boundary it is where not all lie alike."""
    moves, ways = RequestLife(design, c).moves, set()
    nested = bool(signature(design, c)[2])
    last = (
        -2 - moves.prompts.most
    )  # the ends behind boundaries; further down what leaves something wrong
    for left, kind in moves.prompts.ways:
        boundary = -(-(kind - moves.verifies - 1) // moves.track)
        if kind >= 0:
            ways.add((left, 0 if nested else boundary, kind - boundary * moves.track))
        elif kind <= last:
            ways.add((left, "wrong", kind - last))
        else:
            ways.add((left, "between", max(kind, -2) if nested else kind))
    return ways


def members_of_one_group(rng, design, drafts, count):
    domain = Domain({**DOMAIN, "speculative_num_draft_tokens": drafts})
    found = [
        (batch, members)
        for batch, _ in batches(design, domain, True)
        for members in equivalence.classes(design, batch)
        if len(members) > 1
    ]
    for batch, members in rng.sample(found, min(count, len(found))):
        yield tuple(SimpleNamespace(**batch.at(int(i))) for i in rng.sample(members.tolist(), 2))


@pytest.mark.parametrize("release", RELEASES)
def test_prompts_of_the_members_of_a_group_leave_the_same_in_the_same_places(release):
    design = design_named(f"sglang-{release}")
    for drafts in ((0,), (1, 4)):
        for one, other in members_of_one_group(Random(1), design, drafts, EXAMPLES // 10):
            assert ways_of(design, one) == ways_of(design, other), (one, other)


def test_prompts_tell_configurations_apart_that_a_coarser_group_would_not(monkeypatch):
    monkeypatch.setattr("generators.sglang.search.equivalence._MANY", 1)
    design = design_named("sglang-0.5.22")
    pairs = members_of_one_group(Random(1), design, (0,), 12)
    assert any(ways_of(design, one) != ways_of(design, other) for one, other in pairs)


def test_a_plain_search_with_no_room_says_so():
    subject = Subject(design_named("sglang-0.5.23"), SMALL, False)
    assert not PlainSearch(subject.design, subject.c, (0,), 12).run(5)[1]
