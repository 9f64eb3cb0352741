"""Orders that the search over many places found: the release is wrong as it says, the repair is right.

Run in an environment that has the engine: ``tox -e sglang-0.5.23`` and its sisters.
"""

# ruff: noqa: E402  (a release without these modules skips before it imports them)

from contextlib import nullcontext
from unittest.mock import patch

import pytest

from tests.engines.sglang.comparison import emitted, engine

OLDEST = "0.5.22"
if engine.release() < OLDEST:
    reason = f"the repairs are written for the sessions and the host tier since {OLDEST}"
    pytest.skip(reason, allow_module_level=True)

# isort: split
from sglang.srt.managers.scheduler import Scheduler
from sglang.srt.mem_cache.unified_cache.components.mamba import MambaComponent
from sglang.srt.session.session_controller import Session
from sglang.srt.session.streaming_session import StreamingSession

Follower = engine.Follower
CONFIGURATION = engine.Configuration(64, 1, 256, 64)


def forgotten_with_each_match():
    """A match forgets the state that an earlier match of the request would have copied."""
    real = MambaComponent.finalize_match_result_in_cache

    def finalize(component, params, result):
        if params.cow_mamba:
            params.req.kv.mamba_cow_src_index = None
        return real(component, params, result)

    return patch.object(MambaComponent, "finalize_match_result_in_cache", finalize)


def given_back_where_passed_over():
    """A request for which the storage is asked again gives back its slot, like one that is not admitted."""
    real = Scheduler._prefetch_after_device_hit_loss

    def passed_over(scheduler, req):
        passed = real(scheduler, req)
        if passed:
            req.kv.mamba_cow_src_index = None
            req.kv.mamba_needs_clear = False
            if req.kv.holds_mamba:
                allocator = scheduler.req_to_token_pool.mamba_allocator
                allocator.free(req.kv.mamba_pool_idx.unsqueeze(-1))
                req.kv.mamba_pool_idx = None
        return passed

    return patch.object(Scheduler, "_prefetch_after_device_hit_loss", passed_over)


def all_evicted_while_asked_again():
    """From what a request goes on that was passed over, and whose whole prefix is gone when it is admitted."""
    host = emitted("host")
    unanswered = []

    def evict_everything(server):
        host.evict(server)
        server.tree_cache.evict_host(1 << 20)

    def arrive_and_wait(server):
        server.arrive("turn", [*host.DEEP, 8001, 8002], limit=1500)
        server._prefetch_kvcache(server.requests["turn"])

    def ask(server):
        real = server._prefetch_after_device_hit_loss

        def asked_again(req):
            passed = real(req)
            if passed and not unanswered:
                unanswered.append(True)
            return passed

        server._prefetch_after_device_hit_loss = asked_again
        progress = server.tree_cache.check_prefetch_progress
        server.tree_cache.check_prefetch_progress = lambda handle: (
            not (unanswered == [True] and getattr(handle, "rid", handle) == "turn")
            and progress(handle)
        )
        evict_everything(server)

    def answer(server):
        evict_everything(server)
        unanswered.append(False)

    script = host.at_once(
        root=host.cached("first", host.ROOT),
        deep=host.cached("second", host.DEEP, after="first"),
        hold=(lambda s: s.ended("second"), lambda s: s.arrive("hold", host.HELD, limit=60)),
        beside=(
            lambda s: "hold" in s.requests,
            lambda s: s.arrive("beside", range(50_000, 50_100), stop=150, limit=500),
        ),
        turn=(lambda s: s.sampled("beside") > 2, arrive_and_wait),
        forget=(lambda s: s.sampled("beside") > 20, ask),
        other=(
            lambda s: unanswered and s.ended("hold") and s.ended("beside"),
            lambda s: s.arrive("other", range(90_000, 91_000), stop=1050, limit=100),
        ),
        answer=(lambda s: s.ended("other"), answer),
        end=(lambda s: "turn" in s.resumed, host.Server.stop),
    )
    return host.played(CONFIGURATION, script, "write_through", storage=True)["turn"]


@pytest.mark.parametrize(
    "repair, right",
    [
        (nullcontext, False),
        (forgotten_with_each_match, False),
        (given_back_where_passed_over, True),
    ],
)
def test_a_request_passed_over_whose_prefix_is_gone_begins_anew_once_its_slot_is_given_back(
    repair, right
):
    with repair():
        resumed = all_evicted_while_asked_again()
    assert resumed.node == 0
    assert (resumed.state == 0) == right


def test_with_the_slot_given_back_a_request_whose_storage_was_asked_again_is_right():
    with given_back_where_passed_over():
        resumed = emitted("host").storage_asked_again(CONFIGURATION, "write_through")
    assert resumed["turn"].node == resumed["turn"].state


def released_where_it_cannot_be_cut():
    """A record that has consumed more than the turn goes on from is released; the turn is matched like any request."""
    real = StreamingSession.try_match_prefix

    def match(sessions, params):
        slot = sessions.find_active_slot(params.req)
        if slot is not None and slot.kv.kv_committed_len > len(params.key):
            sessions.release_session(params.req.session.session_id)
            return None
        return real(sessions, params)

    return patch.object(StreamingSession, "try_match_prefix", match)


def turn_that_brings(new, overlap=True):
    """From what the second turn of a streaming session goes on that brings these tokens."""
    sessions = emitted("sessions")
    session = Session(1 << 20, "session", streaming=True)
    session._inflight = True

    def second(server):
        session._inflight = True
        server.arrive("second", [*server.processed("first"), *new], limit=20, session=session)

    script = sessions.at_once(
        first=(
            lambda s: True,
            lambda s: s.arrive("first", range(1000, 1090), stop=99, session=session),
        ),
        second=(lambda s: s.ended("first"), second),
        end=(lambda s: "second" in s.resumed, sessions.Server.stop),
    )
    launch = sessions.Launch(**(vars(CONFIGURATION) | {"overlap": overlap}))
    return sessions.serve(launch, script, cache_tokens=8192).resumed["second"]


@pytest.mark.parametrize("new, overlap", [(range(5000, 5010), True), ((), False)])
def test_a_turn_that_brings_tokens_or_follows_no_step_in_flight_is_right(new, overlap):
    resumed = turn_that_brings(new, overlap)
    assert resumed.node == resumed.state


def test_a_turn_that_brings_no_tokens_has_read_one_too_many_under_overlap():
    assert turn_that_brings(()) == Follower(99, 100)


def test_with_the_record_released_a_turn_that_brings_no_tokens_is_right():
    with released_where_it_cannot_be_cut():
        resumed = turn_that_brings(())
    assert resumed.node == resumed.state
