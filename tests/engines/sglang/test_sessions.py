"""Sessions on a model with recurrent layers: from what state a turn goes on.

A streaming session hands the request's own state to the next turn. A state cannot be shortened,
the cached tokens beside it can: wherever the engine goes on from fewer tokens than the state has
consumed, some tokens are consumed twice. What was observed is in `KNOWN`, by release; a release
that is not in a table is expected to be right.

Run in an environment that has the engine: ``tox -e sglang-0.5.23`` and its sisters.
"""

import pytest

from tests.engines.sglang.comparison import emitted, engine
from tests.engines.sglang.served import at_once, serve

# isort: split
from gridproof_sglang_loop import FOREIGN, Launch
from sglang.srt.managers.io_struct import AbortReq
from sglang.srt.session.session_controller import Session

Follower = engine.Follower
RELEASES = ("0.5.22", "0.5.23")
OVERLAP = Launch(page_size=64, dcp_size=1, mamba_track_interval=256, mamba_chunk_size=64)
DRAFT_TOKENS = 4


def streaming():
    """A streaming session whose turn is about to run."""
    session = Session(1 << 20, "session", streaming=True)
    session._inflight = True
    return session


def retracted_turn():
    """Two requests outgrow a cache of 1,152 tokens, and the session's turn is retracted."""
    script = at_once(
        beside=(lambda s: True, lambda s: s.arrive("beside", range(1000, 1250), limit=600)),
        turn=(
            lambda s: s.iteration == 40,
            lambda s: s.arrive("turn", range(5000, 5100), limit=400, session=streaming()),
        ),
        end=(
            lambda s: (
                "turn" in s.requests
                and s.requests["turn"].retraction_count
                and not s.requests["turn"].is_retracted
            ),
            lambda s: s.stop(),
        ),
    )
    return serve(OVERLAP, script, cache_tokens=1024).resumed["turn"]


def follower_of_an_aborted_turn():
    """The second turn of a session starts at 100 tokens, off the page, and its client goes away."""
    session = streaming()

    def second_turn(server):
        session._inflight = True
        new = [*server.said("first"), *range(5000, 5110)]
        server.arrive("second", new, session=session)

    script = at_once(
        first=(
            lambda s: True,
            lambda s: s.arrive("first", range(1000, 1090), stop=99, session=session),
        ),
        second=(lambda s: s.ended("first"), second_turn),
        abort=(
            lambda s: "second" in s.requests and s.sampled("second") > 3,
            lambda s: s.abort_request(AbortReq(rid="second")),
        ),
        follower=(
            lambda s: s.ended("second"),
            lambda s: s.arrive("after", [*s.tokens["second"][:205], 900_001]),
        ),
        end=(lambda s: "after" in s.resumed, lambda s: s.stop()),
    )
    return serve(OVERLAP, script, cache_tokens=8192).resumed["after"]


def waiting_turn(session):
    """A request that follows a cached one waits for memory until what it follows is evicted."""
    script = at_once(
        cached=(
            lambda s: True,
            lambda s: s.arrive("cached", range(200_000, 200_130), stop=140, limit=100),
        ),
        beside=(
            lambda s: s.ended("cached"),
            lambda s: s.arrive("beside", range(300_000, 300_250), stop=800, limit=600),
        ),
        turn=(
            lambda s: "beside" in s.requests and s.sampled("beside") > 20,
            lambda s: s.arrive(
                "turn", [*range(200_000, 200_130), *range(70)], limit=600, session=session
            ),
        ),
        end=(lambda s: "turn" in s.resumed, lambda s: s.stop()),
    )
    return serve(OVERLAP, script, cache_tokens=64 * 13).resumed["turn"]


def turn_after_verifies(overlap, accepts, stop):
    """From what the turn after a verified one goes on, whose first verify has its stop token at `stop`."""
    c = engine.Configuration(64, 1, 256, 64, overlap=overlap)
    speculation = {
        "speculative_algorithm": "EAGLE",
        "speculative_num_draft_tokens": DRAFT_TOKENS,
        "enable_streaming_session": True,
    }
    with engine.settings(c, **speculation):
        turn = emitted("verifies").Verifying(c, prompt=100, draft_tokens=DRAFT_TOKENS, room=448)
        req, tree = turn.req, turn.engine.tree
        req.session = streaming()
        req.lock = tree.lock(req.last_node)
        tree.maybe_hand_to_session(req)
        live = int(req.kv.mamba_pool_idx)
        results = [turn.verify(accepts[0], stop), *(turn.verify(n) for n in accepts[1:])]
        turn.engine.states[live] = turn.length
        turn.process(*results[0])
        following = engine.request("next", [*req.origin_input_ids, *req.output_ids, *range(20)])
        following.session = req.session
        following.init_next_round_input(tree)
        state = int(turn.engine.states[int(following.kv.mamba_pool_idx)].flatten()[0])
        return Follower(following.prefix_len, state)


KNOWN = {
    # The step in flight has consumed the last token, which the retracted turn is extended by again.
    "retracted turn": dict.fromkeys(RELEASES, Follower(451, 452)),
    # Counted from 100, the donated depth is 164; the page ends the node at 128.
    "aborted turn": dict.fromkeys(RELEASES, Follower(128, 164)),
    # The slot given at the match that was given up is neither freed nor cleared.
    "waiting turn": dict.fromkeys(RELEASES, Follower(0, FOREIGN)),
}


def assert_as_known(name, observed):
    known = KNOWN[name].get(engine.release())
    if known is None:
        assert observed.state == observed.node
    else:
        assert observed == known


pytestmark = pytest.mark.skipif(
    engine.release() < min(RELEASES),
    reason=f"sessions of sglang {engine.release()} are not driven here",
)


def test_a_retracted_turn_of_a_session_goes_on_from_the_state_known_of_this_release():
    assert_as_known("retracted turn", retracted_turn())


def test_the_checkpoint_of_an_aborted_turn_is_the_one_known_of_this_release():
    assert_as_known("aborted turn", follower_of_an_aborted_turn())


def test_a_turn_that_waited_goes_on_from_the_state_known_of_this_release():
    assert_as_known("waiting turn", waiting_turn(Session(1 << 20, "plain")))


def test_a_request_outside_a_session_that_waited_starts_from_a_clear_state():
    assert waiting_turn(None) == Follower(0, 0)


@pytest.mark.parametrize(
    ["overlap", "accepts", "stop", "known"],
    [
        pytest.param(
            False, [4], 2, Follower(103, 104), id="the stop token is not the last accepted"
        ),
        pytest.param(True, [4, 3], 2, Follower(103, 107), id="a verify is in flight"),
        pytest.param(
            True, [4, 3], 4, Follower(105, 107), id="a verify is in flight after the last"
        ),
        pytest.param(True, [1, 1], 1, Follower(102, 102), id="nothing is accepted but one token"),
    ],
)
def test_after_a_verified_turn_the_next_goes_on_from_the_state_known(overlap, accepts, stop, known):
    assert turn_after_verifies(overlap, accepts, stop) == known
