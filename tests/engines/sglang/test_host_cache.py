"""The hierarchical cache on a model with recurrent layers: from what state a request goes on.

What was observed is in `KNOWN`, by release; a release that is not in a table is expected to be right.

Run in an environment that has the engine: ``tox -e sglang-0.5.23`` and its sisters.
"""

# ruff: noqa: E402  (a release without these modules skips before it imports them)

from unittest.mock import patch

import pytest

from tests.engines.sglang.comparison import engine
from tests.engines.sglang.served import at_once, serve

RELEASES = ("0.5.22", "0.5.23")
if engine.release() < min(RELEASES):
    reason = f"the hierarchical cache of sglang {engine.release()} is not driven here"
    pytest.skip(reason, allow_module_level=True)

# isort: split
from gridproof_sglang_loop import FOREIGN, Launch
from sglang.srt.mem_cache.base_prefix_cache import EvictParams
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_cache.components.mamba import MambaComponent
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

from tests.engines.sglang import host_cache

Follower = engine.Follower
LAUNCH = Launch(page_size=64, dcp_size=1, mamba_track_interval=256, mamba_chunk_size=64)
ROOT = list(range(1000, 1128))  # a prefix of two pages that stays on the device
BRANCH = [*ROOT, *range(2000, 2128)]
DEEP = [*BRANCH, *range(3000, 3128)]


def played(script, write_policy, storage=False):
    """What each request's last extend started from, on a server with a hierarchical cache."""

    def attach(server):
        host_cache.attach(server, write_policy)
        server.enable_hicache_storage = storage

    with host_cache.on_cpu():
        return serve(LAUNCH, script, cache_tokens=64 * 30, attach=attach).resumed


def cached(name, tokens, after=None):
    """A request of these tokens and two more, that ends once its prompt is in the tree."""
    return (
        lambda s: after is None or s.ended(after),
        lambda s: s.arrive(name, [*tokens, 7001, 7002], stop=len(tokens) + 4, limit=30),
    )


def two_load_backs(write_policy):
    """A branch and what follows it are on the host alone; two requests ask for them at once."""

    def both(server):
        server.arrive("deep", [*DEEP, 8001, 8002], limit=30)
        server.arrive("branch", [*BRANCH, *range(6000, 6012)], stop=270, limit=30)

    script = at_once(
        root=cached("first", ROOT),
        branch=cached("second", BRANCH, after="first"),
        deep=cached("third", DEEP, after="second"),
        hold=(
            lambda s: s.ended("third"),
            lambda s: s.arrive("hold", [*ROOT, 9001, 9002, 9003], limit=300),
        ),
        filler=(
            lambda s: "hold" in s.requests and s.sampled("hold") > 2,
            lambda s: s.arrive("filler", range(50_000, 51_600), stop=51_603 - 50_000, limit=30),
        ),
        both=(lambda s: s.ended("filler"), both),
        later=(
            lambda s: s.ended("branch"),
            lambda s: s.arrive("later", [*BRANCH, *range(6000, 6005)], limit=30),
        ),
        end=(lambda s: "later" in s.resumed, lambda s: s.stop()),
    )
    return played(script, write_policy)


def storage_asked_again():
    """A waiting request's prefix is evicted; while the storage is asked again, the host gets it back."""
    asking = []

    def evict(server):
        server.tree_cache.evict(EvictParams(num_tokens=1000))

    def forget(server):
        evict(server)
        server.tree_cache.evict_host(1 << 20)

    def wait_for_memory(server):
        server.arrive("turn", [*DEEP, 8001, 8002], limit=1500)
        server._prefetch_kvcache(server.requests["turn"])

    def ask(server):
        real = type(server.tree_cache).check_prefetch_progress
        asking.append(True)
        server.tree_cache.check_prefetch_progress = lambda handle: (
            not (asking and handle.rid == "turn") and real(server.tree_cache, handle)
        )

    def answered(server):
        evict(server)
        asking.clear()

    script = at_once(
        root=cached("first", ROOT),
        deep=cached("second", DEEP, after="first"),
        hold=(
            lambda s: s.ended("second"),
            lambda s: s.arrive("hold", [*ROOT, 9001, 9002, 9003], limit=300),
        ),
        beside=(
            lambda s: "hold" in s.requests,
            lambda s: s.arrive("beside", range(50_000, 50_100), stop=150, limit=500),
        ),
        turn=(lambda s: "beside" in s.requests and s.sampled("beside") > 2, wait_for_memory),
        forget=(lambda s: "beside" in s.requests and s.sampled("beside") > 20, forget),
        ask=(
            lambda s: (
                "turn" in s.requests and s.requests["turn"].kv.mamba_cow_src_index is not None
            ),
            ask,
        ),
        again=(
            lambda s: bool(asking),
            lambda s: s.arrive("again", [*DEEP, 7001], stop=387, limit=30),
        ),
        answered=(lambda s: s.ended("again"), answered),
        end=(lambda s: "turn" in s.resumed, lambda s: s.stop()),
    )
    return played(script, "write_through", storage=True)["turn"]


KNOWN = {
    # The load of the branch is turned away, and the state at the root's end is not copied instead.
    "branch": dict.fromkeys(RELEASES, Follower(128, 0)),
    # The branch's own checkpoint, of the 128 tokens from there to its node at 256.
    "later": dict.fromkeys(RELEASES, Follower(256, FOREIGN)),
    # Copied over the state that was loaded: the one of the match before.
    "storage asked again": dict.fromkeys(RELEASES, Follower(384, 128)),
}


def copied_where_a_load_is_turned_away():
    """A request whose load is turned away copies the state of the device node it falls back to."""
    real = UnifiedRadixCache.init_load_back

    def init_load_back(tree, params):
        loaded, req = real(tree, params), params.req
        if loaded[0] == 0 and req.prefix_len > 0:
            pool = tree.req_to_token_pool.mamba_allocator
            if not req.kv.holds_mamba:
                req.kv.mamba_pool_idx = pool.alloc(1)[0]
            req.kv.mamba_cow_src_index = tree.tree_core.get_component_device_value(
                req.last_node, ComponentType.MAMBA
            )
        return loaded

    return patch.object(UnifiedRadixCache, "init_load_back", init_load_back)


def forgotten_with_each_match():
    """A match forgets the state that an earlier match of the request would have copied."""
    real = MambaComponent.finalize_match_result_in_cache

    def finalize(component, params, result):
        if params.cow_mamba:
            params.req.kv.mamba_cow_src_index = None
        return real(component, params, result)

    return patch.object(MambaComponent, "finalize_match_result_in_cache", finalize)


def assert_as_known(name, observed):
    known = KNOWN[name].get(engine.release())
    if known is None:
        assert observed.state == observed.node
    else:
        assert observed == known


def test_with_write_back_a_load_turned_away_leaves_what_is_known_of_this_release():
    resumed = two_load_backs("write_back")
    assert resumed["deep"] == Follower(384, 384)
    assert_as_known("branch", resumed["branch"])
    assert_as_known("later", resumed["later"])


def test_with_write_through_both_loads_are_right():
    resumed = two_load_backs("write_through")
    assert resumed["deep"] == Follower(384, 384)
    assert resumed["branch"] == resumed["later"] == Follower(256, 256)


def test_a_request_whose_storage_was_asked_again_goes_on_from_the_state_known_of_this_release():
    assert_as_known("storage asked again", storage_asked_again())


def test_with_the_state_copied_a_load_turned_away_is_right():
    with copied_where_a_load_is_turned_away():
        resumed = two_load_backs("write_back")
    assert resumed["branch"] == Follower(128, 128)
    assert resumed["later"] == Follower(256, 256)


def test_with_the_earlier_match_forgotten_a_request_whose_storage_was_asked_again_is_right():
    with forgotten_with_each_match():
        assert storage_asked_again() == Follower(384, 384)
