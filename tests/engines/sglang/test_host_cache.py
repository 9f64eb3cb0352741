"""With the hierarchical cache repaired, the emitted tests that fail on every release since 0.5.20 are right.

Run in an environment that has the engine: ``tox -e sglang-0.5.23`` and its sisters.
"""

# ruff: noqa: E402  (a release without these modules skips before it imports them)

from unittest.mock import patch

import pytest

from tests.engines.sglang.comparison import emitted, engine

OLDEST = "0.5.22"
if engine.release() < OLDEST:
    reason = f"the repairs are written for the hierarchical cache since {OLDEST}"
    pytest.skip(reason, allow_module_level=True)

# isort: split
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_cache.components.mamba import MambaComponent
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

Follower = engine.Follower
CONFIGURATION = engine.Configuration(64, 1, 256, 64)


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


def test_with_the_state_copied_a_load_turned_away_is_right():
    with copied_where_a_load_is_turned_away():
        resumed = emitted("host").two_loads(CONFIGURATION, "write_back")
    assert resumed["branch"] == Follower(128, 128)
    assert resumed["later"] == Follower(256, 256)


def test_with_the_earlier_match_forgotten_a_request_whose_storage_was_asked_again_is_right():
    with forgotten_with_each_match():
        resumed = emitted("host").storage_asked_again(CONFIGURATION, "write_through")
    assert resumed["turn"] == Follower(384, 384)
