"""The order of events, fact by fact: what is launched when, which result is processed before, what a finish ends.

The facts are those of the event loops named in `spec/sglang/scheduler.py`; the mutation test runs each of these tests on
wrong schedulers.
"""

from dataclasses import replace
from itertools import product

import pytest

from spec.sglang.configuration import Configuration
from spec.sglang.releases import CURRENT, design_named
from spec.sglang.scheduler import PROMPT, STEP, VERIFY, Pass, Request, Scheduler, as_few_as_accept
from spec.sglang.slot_buffer import NO_SLOT, UNWRITTEN
from spec.sglang.theorems.library import COMPLETED_SWAP

EAGER = Configuration(mamba_track_interval=8, mamba_chunk_size=8)
SYNCHRONOUS = replace(EAGER, overlap=False)
LAZY = replace(EAGER, strategy="extra_buffer_lazy")
DRAFTS = {"speculative_num_draft_tokens": 3, "speculative_algorithm": "EAGLE"}
SPECULATIVE, LAZY_SPECULATIVE = replace(EAGER, **DRAFTS), replace(LAZY, **DRAFTS)


def scheduler(c=EAGER, design=CURRENT) -> Scheduler:
    return Scheduler(design if not isinstance(design, str) else design_named(design), c)


def prompted(s: Scheduler, tokens: int) -> Request:
    return s.extend(s.admit(), tokens)


def verified(s: Scheduler, start: int) -> Request:
    """A request that ends with a verify from `start` that accepts three tokens."""
    return s.other_batch(s.verify(prompted(s, start), 3))


def ends(r: Request) -> list[int]:
    """The lengths that the waiting passes lead to."""
    return [one.end for one in r.waiting]


def given(r: Request) -> list[tuple[int, int]]:
    """The depths recorded and the states of what was donated."""
    donated = [donation.checkpoint for donation in r.donated]
    return [(int(d.recorded), int(d.state)) for d in donated if d.saved]


@pytest.mark.parametrize(("c", "waiting"), [(EAGER, [6, 7]), (SYNCHRONOUS, [7])])
def test_with_overlap_a_step_is_launched_before_the_result_of_the_one_before(c, waiting):
    s = scheduler(c)
    assert ends(s.decode(prompted(s, 5), 7)) == waiting


def test_with_overlap_a_verify_is_launched_before_the_result_of_the_one_before():
    s = scheduler(SPECULATIVE)
    r = s.verify(s.verify(prompted(s, 5), 2), 3)
    assert ends(r) == [7, 10] and [one.kind for one in r.waiting] == [VERIFY, VERIFY]


def test_behind_another_batch_every_result_is_processed_before_the_next_launch():
    s = scheduler()
    r = s.other_batch(s.decode(prompted(s, 5), 7))
    assert ends(r) == [6, 7] and r.alone
    after = s.decode(r, 8)
    assert ends(after) == [8] and not after.alone


def test_behind_another_batch_a_request_ends_with_its_last_pass():
    s = scheduler()
    r = s.decode(prompted(s, 5), 7)
    assert (s.ends_with(r).end, s.ends_with(s.other_batch(r)).end) == (6, 7)
    assert s.ends_with(prompted(s, 5)) == Pass(PROMPT, 0, 5)


def test_what_is_settled_before_a_finish_leaves_one_pass_more_than_before_a_launch():
    s = scheduler()
    r = s.decode(prompted(s, 5), 7)
    assert (ends(s.settled(r, True)), ends(s.settled(r, False))) == ([6, 7], [7])
    alone = s.other_batch(r)
    assert (ends(s.settled(alone, True)), ends(s.settled(alone, False))) == ([7], [])


def test_a_request_goes_on_from_the_prefix_that_it_is_given():
    s = scheduler()
    r = s.admit(8)
    assert (r.length, s.extend(r, 12).waiting[0].start) == (8, 8)


def test_a_chunk_donates_its_checkpoint_before_the_next_chunk_is_launched():
    s = scheduler()
    first = prompted(s, 9)
    assert given(first) == [] and ends(first) == [9]
    second = s.extend(first, 14)
    assert given(second) == [(8, 8)] and ends(second) == [14] and second.length == 14


def test_a_prompt_keeps_the_state_of_its_branching_point():
    s = scheduler()
    kept = s.extend(s.admit(), 20, branching=8)
    assert [w.state for w in kept.writes] == [8] and [w.state for w in prompted(s, 20).writes] == [
        16
    ]


def test_an_assertion_of_the_engine_ends_a_request_where_it_stands():
    s = scheduler(Configuration(page_size=64, dcp_size=8, page_size_given=False), "sglang-0.5.18")
    r = s.extend(prompted(s, 1), 577)
    assert r.stopped and r.length == 577 and ends(r) == []
    assert r.donated[-1].checkpoint.fault


def test_a_state_that_was_donated_is_no_longer_the_requests():
    s = scheduler()
    r = prompted(s, 9)
    assert [(w.state, w.recorded, w.by.entry) for w in r.writes] == [(8, 8, 0)]
    after = s.decode(r, 16)
    assert [(w.state, w.recorded, w.by.entry) for w in after.writes] == [(16, 16, 1)]
    again = s.decode(s.extend(s.extend(s.admit(), 9), 10), 11)
    assert given(again) == [(8, 8)] and again.writes == ()


def test_a_write_is_noted_where_the_step_wrote():
    s = scheduler(EAGER, COMPLETED_SWAP)
    r = s.decode(prompted(s, 5), 25)
    assert [(w.by.kind, w.by.entry, w.state) for w in r.writes] == [
        *((STEP, 0, 8), (STEP, 1, 16), (STEP, 0, 24))
    ]


def test_only_steps_that_write_label_or_swap_are_launched_one_by_one():
    s = scheduler()
    assert list(s.steps_that_matter(5, 30)) == [6, 8, 9, 16, 17, 24, 25, 30]
    assert list(s.steps_that_matter(7, 8)) == [8]


@pytest.mark.parametrize("c", [EAGER, SYNCHRONOUS, LAZY])
def test_steps_that_are_passed_over_change_nothing(c):
    s = scheduler(c, COMPLETED_SWAP)
    at_once, by_one = prompted(s, 9), prompted(s, 9)
    at_once = s.decode(at_once, 31)
    while by_one.length < 31:
        by_one = s.decode(by_one, by_one.length + 1)
    assert (at_once.slots, at_once.waiting[-1].end) == (by_one.slots, by_one.waiting[-1].end)
    assert s.finish(at_once).donated == s.finish(by_one).donated


def test_an_allocation_failure_lasts_until_a_step_asks_for_a_slot():
    s = scheduler(LAZY)
    r = s.decode(s.allocation_failure(prompted(s, 5)), 7)
    assert r.allocation_fails
    failed = s.decode(r, 8)
    assert not failed.allocation_fails and NO_SLOT in (failed.slots.first, failed.slots.second)
    after = s.decode(failed, 16)
    assert NO_SLOT not in (after.slots.first, after.slots.second)


def test_an_allocation_failure_is_that_of_the_next_verify():
    s = scheduler(LAZY_SPECULATIVE)
    r = s.verify(s.allocation_failure(prompted(s, 5)), 1)
    assert r.slots.second == NO_SLOT and not r.allocation_fails
    assert s.verify(r, 1).slots.second != NO_SLOT


def test_a_lazy_verify_is_planned_from_what_is_committed_and_not_from_what_is_launched():
    s = scheduler(replace(LAZY_SPECULATIVE, speculative_num_draft_tokens=2))
    r = prompted(s, 1)
    held = []
    for _ in range(4):
        r = s.verify(r, 2)
        held.append((r.committed, r.length, r.slots.second != NO_SLOT, r.waiting[-1].entry))
    # The boundary is 8; a plan looks four tokens ahead of what is committed.
    assert held == [(1, 3, False, 0), (1, 5, False, 0), (3, 7, False, 0), (5, 9, True, 1)]


def test_a_prompt_is_committed_when_it_is_launched_and_a_verify_when_its_result_is_there():
    s = scheduler(SPECULATIVE)
    r = s.verify(prompted(s, 5), 3)
    assert (r.length, r.committed) == (8, 5)
    assert s.verify(s.other_batch(r), 1).committed == 8


def test_a_finish_ends_the_request_at_its_next_result():
    s = scheduler()
    r = s.finish(s.decode(prompted(s, 5), 9))
    assert given(r) == [(8, 8)] and r.waiting == () and r.length == 9
    assert r.donated[-1].checkpoint.key_length == 9
    assert given(s.finish(s.decode(prompted(s, 5), 8))) == []


def test_a_finish_knows_how_many_steps_were_launched_ahead():
    s = scheduler(EAGER, "sglang-0.5.17")
    r = s.decode(prompted(s, 5), 8)
    assert given(s.finish(r)) == [(8, 8)], "0.5.17 labels the launched length"
    assert given(s.finish(s.other_batch(s.decode(prompted(s, 5), 7)))) == []


def test_a_result_knows_how_many_steps_were_launched_ahead():
    s = scheduler(EAGER, "sglang-0.5.17")
    r = s.decode(prompted(s, 5), 8)
    assert s.decode(r, 9).slots.label == 8 and s.decode(r, 9).waiting[0].end == 8


def test_a_lazy_request_that_finishes_loses_a_label_that_is_overwritten():
    s = scheduler(LAZY, "sglang-0.5.21")
    r = s.decode(s.allocation_failure(s.decode(prompted(s, 5), 15)), 16)
    assert r.slots.label == 8 and ends(r) == [15, 16]
    assert given(s.finish(r)) == []


def test_a_lazy_verify_that_finishes_is_not_promoted():
    s = scheduler(LAZY_SPECULATIVE)
    r = s.verify(prompted(s, 7), 1)
    assert given(s.finish(s.other_batch(r))) == []


def test_the_stop_token_is_in_the_key_of_a_verified_request():
    s = scheduler(SPECULATIVE)
    reaches, misses = verified(s, 6), verified(s, 5)
    # Of each verify one token is kept: with the stop token the keys are 8 and 7, the boundary is 8.
    assert given(s.finish(reaches, 1)) == [(8, 8)] and given(s.finish(misses, 1)) == []
    assert s.finish(reaches, 1).donated[-1].checkpoint.key_length == 8
    assert s.finish(misses, 1).donated[-1].checkpoint.key_length == 7
    assert s.finish(misses, 3).donated[-1].checkpoint.key_length == 8


def test_a_grammar_keeps_no_more_tokens_than_given():
    s = scheduler(SPECULATIVE)
    r = verified(s, 6)
    assert given(s.finish(r, 2, grammar=True)) == [(8, 8)]
    assert given(s.finish(r, 1, grammar=True)) == []
    assert s.finish(r, 1, grammar=True).donated[-1].checkpoint.key_length == 7
    assert s.finish(r, 2, grammar=True).donated[-1].checkpoint.key_length == 8


def test_an_old_key_counts_all_that_was_accepted_behind_a_stop_token():
    s = scheduler(SPECULATIVE, "sglang-0.5.21")
    r = verified(s, 5)
    assert s.finish(r, 1).donated[-1].checkpoint.key_length == 8


def test_a_request_that_finishes_at_its_prompt_has_the_prompt_for_a_key():
    s = scheduler(SPECULATIVE)
    r = s.verify(prompted(s, 9), 2)
    assert s.finish(r).donated[-1].checkpoint.key_length == 9 and given(s.finish(r)) == [(8, 8)]
    plain = scheduler()
    assert (
        plain.finish(plain.decode(prompted(plain, 9), 10)).donated[-1].checkpoint.key_length == 10
    )


def test_verifies_that_accept_so_much_together_are_as_few_as_can_be():
    assert list(as_few_as_accept(7, 3)) == [3, 3, 1] and list(as_few_as_accept(6, 3)) == [3, 3]
    s = scheduler(SPECULATIVE)
    assert [(p.start, p.end) for p in s.verify_on(prompted(s, 1), 5).waiting] == [(1, 4), (4, 6)]


@pytest.mark.parametrize("c", [SPECULATIVE, LAZY_SPECULATIVE])
@pytest.mark.parametrize("fails", [False, True])
def test_verifies_that_are_passed_over_change_nothing(c, fails):
    s = scheduler(replace(c, mamba_track_interval=32))
    for start, before, to in product((1, 30), ((), (3,), (2, 1), (3, 3)), range(8, 70, 3)):
        r = prompted(s, start)
        for accepted in before:
            r = s.verify(r, accepted)
        r = s.allocation_failure(r) if fails else r
        skipping, one_by_one = s.verify_on(r, to), r
        for accepted in as_few_as_accept(to, 3):
            one_by_one = s.verify(one_by_one, accepted)
        assert replace(skipping, waiting=()) == replace(one_by_one, waiting=())
        spans = ([(p.start, p.end) for p in one.waiting] for one in (skipping, one_by_one))
        assert next(spans) == next(spans)
        assert s.finish(skipping).donated == s.finish(one_by_one).donated
    far = s.verify_on(s.verify(s.other_batch(prompted(s, 1)), 1), 20)
    assert far.waiting[0].end - far.waiting[0].start == 3 and not far.alone


def test_boundaries_are_those_of_the_designs_grids():
    c = Configuration(page_size=16, mamba_track_interval=8, mamba_chunk_size=8)
    s = scheduler(replace(c, **DRAFTS))
    assert list(s.steps_that_matter(5, 20)) == [6, 16, 17, 20]
    assert s.verify_grid == 16
    assert list(scheduler(c, "sglang-0.5.18").steps_that_matter(5, 20)) == [6, 8, 9, 16, 17, 20]


def test_a_result_of_a_verify_labels_what_it_passed():
    s = scheduler(SPECULATIVE)
    r = s.verify(s.verify(s.verify(prompted(s, 6), 3), 1), 1)
    assert (r.slots.label, r.slots.state(r.slots.kept)) == (8, 8)


def test_what_was_donated_before_stays_donated_with_what_was_written_then():
    s = scheduler()
    r = s.finish(s.decode(s.extend(prompted(s, 8), 16), 18))
    assert given(r) == [(8, 8), (16, 16)]
    assert [[w.state for w in donation.writes] for donation in r.donated] == [[8], [16], []]


def test_a_prompt_without_a_checkpoint_leaves_what_a_step_wrote():
    s = scheduler(LAZY)
    r = s.decode(s.allocation_failure(prompted(s, 7)), 8)
    assert [(w.state, w.by.entry) for w in s.decode(r, 9).writes] == [(8, 0)]


@pytest.mark.parametrize("c", [EAGER, SYNCHRONOUS, LAZY])
def test_a_step_in_a_mixed_batch_writes_nothing_and_its_result_does_nothing(c):
    s = scheduler(c, COMPLETED_SWAP)
    r = s.mixed_batch(s.decode(prompted(s, 5), 7))
    mixed = s.decode(r, 8)
    assert mixed.waiting[-1].mixed and not mixed.mixes and mixed.writes == ()
    after = s.decode(mixed, 10)
    assert after.slots == r.slots and not after.waiting[-1].mixed
    assert given(s.finish(s.other_batch(s.decode(r, 8)))) == []


def test_a_step_before_a_mixed_one_swaps_and_keeps_its_label():
    s = scheduler(LAZY)
    r = s.decode(s.allocation_failure(s.mixed_batch(s.decode(prompted(s, 9), 15))), 16)
    assert ends(r) == [15, 16] and r.waiting[-1].mixed
    labelled = s.decode(prompted(s, 5), 15)
    assert labelled.slots.label == 8
    assert given(s.finish(s.decode(s.mixed_batch(labelled), 16))) == [(8, 8)]


@pytest.mark.parametrize(("release", "states"), [("0.5.22", []), ("0.5.23", [8])])
def test_a_prompt_in_a_mixed_batch_is_written_from_0_5_23_on(release, states):
    s = scheduler(EAGER, f"sglang-{release}")
    r = s.extend(s.mixed_batch(s.admit()), 9)
    assert r.waiting[0].mixed and not r.mixes
    assert [w.state for w in r.writes] == states
    (donated,) = s.decode(s.other_batch(r), 10).donated
    assert int(donated.checkpoint.state) == (states or [UNWRITTEN])[0]
