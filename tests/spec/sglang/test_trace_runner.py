"""A trace is run pass by pass: all that the scheduler would do, and nothing that the trace does not contain."""

import pytest

from generators.cases.file_format import Event
from spec.sglang.configuration import Configuration
from spec.sglang.releases import CURRENT, design_named
from spec.sglang.scheduler import PROMPT, STEP, VERIFY, Scheduler
from spec.sglang.slot_buffer import NO_SLOT
from spec.sglang.trace_runner import BadTrace, acted_out

PLAIN = Configuration(page_size=64, mamba_track_interval=64)
SPECULATIVE = Configuration(page_size=64, mamba_track_interval=64, speculative_num_draft_tokens=40)
PROMPT_OF_5 = Event("extend", 5, 5)


def acted(events, c=PLAIN, design=CURRENT, **options):
    return [*acted_out(Scheduler(design, c), events, **options)]


def launches(requests):
    """The passes that were waiting at any time, in the order they were launched."""
    return [*dict.fromkeys(one for request in requests for one in request.waiting)]


def test_each_pass_that_writes_is_the_last_of_its_request():
    requests = acted([PROMPT_OF_5, Event("decode", 200, 205), Event("finish", 0, 204)])
    before = [0, *(request.length for request in requests)]
    for length, request in zip(before, requests, strict=False):
        new = [w for w in request.writes if w.by.end > length]
        assert len(new) <= 1 and all(w.by == request.waiting[-1] for w in new)
    assert [w.state for w in requests[-2].writes] == [64, 128, 192]


def test_a_verify_of_many_tokens_is_as_few_as_accept_so_many():
    requests = acted([PROMPT_OF_5, Event("verify", 95, 100)], SPECULATIVE)
    found = [(one.kind, one.end - one.start) for one in launches(requests)]
    assert found == [(PROMPT, 5), (VERIFY, 40), (VERIFY, 40), (VERIFY, 15)]


@pytest.mark.parametrize("overlap", [True, False])
def test_the_step_in_flight_that_a_trace_leaves_out_is_launched_where_there_is_one(overlap):
    c = Configuration(page_size=64, mamba_track_interval=64, overlap=overlap)
    events = [PROMPT_OF_5, Event("decode", 3, 8)]
    ended = acted([*events, Event("finish", 0, 8)], c)
    assert ended[-1].length == 8 + overlap
    alone = acted([*events, Event("other_batch", 0, 8), Event("finish", 0, 8)], c)
    assert alone[-1].length == 8
    assert launches(ended)[-1].kind == STEP


def test_a_verified_request_has_a_verify_in_flight():
    events = [PROMPT_OF_5, Event("verify", 3, 8), Event("finish", 0, 8)]
    requests = acted(events, SPECULATIVE)
    assert [(one.kind, one.end) for one in launches(requests)][1:] == [(VERIFY, 8), (VERIFY, 9)]


def test_a_request_that_is_given_a_prefix_goes_on_from_there():
    requests = acted([Event("match", 64, 64), Event("extend", 6, 70), Event("finish", 0, 70)])
    assert launches(requests)[0].start == 64


def test_an_assertion_of_the_engine_ends_a_trace():
    c = Configuration(page_size=64, dcp_size=8, page_size_given=False)
    events = [Event("extend", 1, 1), Event("extend", 576, 577), Event("decode", 1, 578)]
    requests = acted(events, c, design_named("sglang-0.5.18"))
    assert [request.stopped for request in requests] == [False, True]


BAD = {
    "an event of nobody": (
        [Event("retract", 0, 1)],
        "the event 'retract' is not served by a replay",
    ),
    "a length that does not follow": (
        [PROMPT_OF_5, Event("decode", 2, 9)],
        "its decode of 2 tokens cannot lead from 5 to 9",
    ),
    "no token": (
        [PROMPT_OF_5, Event("decode", 0, 5)],
        "its decode of 0 tokens cannot lead from 5 to 5",
    ),
    "a decode without a prompt": ([Event("decode", 2, 2)], "its decode comes before any extend"),
    "nothing but an end": ([Event("finish", 0, 0)], "its finish comes before any extend"),
    "a late match": ([PROMPT_OF_5, Event("match", 64, 64)], "its match comes after 5 tokens"),
    "a verify without drafts": (
        [PROMPT_OF_5, Event("verify", 2, 7)],
        "its verify has no draft tokens",
    ),
    "a step behind the end": (
        [PROMPT_OF_5, Event("finish", 0, 5), Event("decode", 2, 7)],
        "its decode stands behind its finish",
    ),
    "a second life": (
        [PROMPT_OF_5, Event("finish", 0, 5), Event("extend", 2, 7)],
        "its extend stands behind its finish",
    ),
    "a result on its own": (
        [PROMPT_OF_5, Event("result", 0, 5), Event("decode", 2, 7)],
        "its decode stands behind its result",
    ),
    "an end ahead of what is launched": (
        [PROMPT_OF_5, Event("decode", 3, 8), Event("finish", 0, 20)],
        "its finish at 20 tokens is at no result: the next one is of 6 to 7 tokens",
    ),
    "an end that is past": (
        [PROMPT_OF_5, Event("decode", 5, 10), Event("finish", 0, 7)],
        "its finish at 7 tokens is at no result: the next one is of 8 to 9 tokens",
    ),
}


@pytest.mark.parametrize(("events", "why"), BAD.values(), ids=BAD)
def test_an_impossible_order_of_events_is_refused(events, why):
    with pytest.raises(BadTrace) as refused:
        acted(events)
    assert str(refused.value) == why


def test_a_result_that_keeps_more_than_was_accepted_is_refused():
    events = [PROMPT_OF_5, Event("verify", 3, 8), Event("result", 4, 9), Event("finish", 0, 9)]
    with pytest.raises(BadTrace, match="at no result"):
        acted(events, Configuration(speculative_num_draft_tokens=4, overlap=False))


def test_a_step_that_shares_its_batch_with_a_chunk_writes_nothing():
    events = [PROMPT_OF_5, Event("decode", 58, 63), Event("mixed_batch", 0, 63)]
    requests = acted([*events, Event("decode", 1, 64), Event("decode", 64, 128)])
    assert [write.state for write in requests[-1].writes] == [128]
    assert any(one.mixed and one.end == 64 for one in launches(requests))


@pytest.mark.parametrize(("grammar", "donated"), [(False, [8]), (True, [])])
def test_a_result_gives_the_kept_tokens_and_the_call_what_ended_the_request(grammar, donated):
    c = Configuration(
        mamba_track_interval=8, mamba_chunk_size=8, speculative_num_draft_tokens=3, overlap=False
    )
    events = [Event("extend", 6, 6), Event("verify", 3, 9), Event("result", 1, 7)]
    requests = acted([*events, Event("finish", 0, 7)], c, grammar=grammar)
    checkpoints = [donation.checkpoint for donation in requests[-1].donated]
    assert [int(one.recorded) for one in checkpoints if one.saved] == donated
    assert len(requests) == 3


def test_a_trace_can_contain_a_failed_allocation():
    c = Configuration(mamba_track_interval=8, mamba_chunk_size=8, strategy="extra_buffer_lazy")
    events = [PROMPT_OF_5, Event("allocation_failure", 0, 5), Event("decode", 3, 8)]
    assert NO_SLOT in (acted(events, c)[-1].slots.first, acted(events, c)[-1].slots.second)
    assert NO_SLOT not in (
        acted([events[0], events[2]], c)[-1].slots.first,
        acted([events[0], events[2]], c)[-1].slots.second,
    )


@pytest.mark.parametrize(
    ("tokens", "point", "wrote"), [(20, 8, 8), (20, 16, 16), (16, 16, 16), (12, 16, 8)]
)
def test_an_extend_that_wrote_another_state_had_a_branching_point(tokens, point, wrote):
    c = Configuration(mamba_track_interval=8, mamba_chunk_size=8)
    (request,) = acted([Event("extend", tokens, tokens, snapshot_depth=point)], c)
    assert [write.state for write in request.writes] == [wrote]
