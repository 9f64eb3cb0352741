"""The proposed swap on the real loop: with it the orders that the emitted tests fail on are right.

Each story is played by the engine's own scheduler loop. A follower has to be served with a state
that consumed exactly the tokens of the node it is attached to.

Run in an environment that has the engine: ``tox -e sglang-0.5.19`` and its sisters.
"""

from dataclasses import dataclass, replace
from unittest.mock import patch

import pytest

from generators.sglang.emit.stories import follower
from spec.sglang.configuration import Configuration
from spec.sglang.releases import DESIGNS
from spec.sglang.scheduler import Scheduler
from tests.engines.sglang.comparison import engine

# isort: split
from gridproof_sglang_loop import FOREIGN, UNWRITTEN, Launch, Story, follower_of

Processor = engine.SchedulerBatchResultProcessor
Follower = engine.Follower

OVERLAP = Launch(page_size=64, dcp_size=1, mamba_track_interval=256, mamba_chunk_size=64)
MIXED = replace(OVERLAP, chunked_prefill_size=2048, mixed_chunk=True)


@dataclass(frozen=True)
class Order:
    """A story on a launch, with its name in the test's id."""

    name: str
    launch: Launch
    story: Story


ALONE = Story(prompt=200, stop_length=511)
PREFILL_AFTER_BOUNDARY = replace(ALONE, other_prefill_after=256)
PREFILL_BEFORE_BOUNDARY = replace(ALONE, other_prefill_after=255)
BOUNDARY_FIRST = Story(prompt=255, stop_length=511)

SWAPS = (
    Order("another prefill right after a boundary", OVERLAP, PREFILL_AFTER_BOUNDARY),
    Order("another prefill right before a boundary", OVERLAP, PREFILL_BEFORE_BOUNDARY),
    Order("the first decode step is a boundary", OVERLAP, BOUNDARY_FIRST),
)
MIXED_AT_BOUNDARY = Order(
    "a mixed chunk at a boundary", MIXED, Story(200, stop_length=767, other_prefill_after=511)
)
MIXED_STEPS = (
    MIXED_AT_BOUNDARY,
    Order("a mixed chunk right after a boundary", MIXED, PREFILL_AFTER_BOUNDARY),
    Order(
        "a mixed chunk right before a boundary",
        MIXED,
        Story(200, stop_length=767, other_prefill_after=510),
    ),
)


def assert_right(observed):
    """A follower is served with a state, and the state consumed the tokens of its node."""
    assert observed.node > 0
    assert observed.state == observed.node


def observe(order):
    """What the follower is served with."""
    return follower_of(order.launch, order.story)


def corrected_swap():
    """A completed boundary makes the slot that it did not write the next one."""
    real = Processor._handle_finish_state_updated_req

    def handle(self, req, batch, result, row, logits_output):
        if batch.mamba_track_mask_cpu is not None and batch.mamba_track_mask_cpu[row]:
            written = batch.mamba_track_buffer_indices[row]
            other = self.req_to_token_pool.get_mamba_ping_pong_other_idx(written)
            engine.owner(req, "mamba_next_track_idx").mamba_next_track_idx = other
        return real(self, req, batch, result, row, logits_output)

    return patch.multiple(
        Processor,
        _handle_finish_state_updated_req=handle,
        _mamba_prefix_cache_update=lambda *args, **kwargs: None,
    )


def predicted(mixed_step, stop):
    """What the model's follower is given after a prompt of 200 tokens, one step of which shares a chunk's batch."""
    design = DESIGNS[f"sglang-{engine.release()}"]
    c = Configuration(page_size=64)
    scheduler = Scheduler(design, c)
    request = scheduler.extend(scheduler.admit(), 200)
    request = scheduler.mixed_batch(scheduler.decode(request, mixed_step - 1))
    request = scheduler.finish(scheduler.decode(request, stop + 1))
    given = follower(design, c, [donation.checkpoint for donation in request.donated])
    return Follower(given["node"], given["state"])


@pytest.mark.parametrize("order", MIXED_STEPS, ids=lambda order: order.name)
def test_the_model_tells_what_a_mixed_chunk_does_to_a_step(order):
    step = order.story.other_prefill_after + 1
    assert observe(order) == predicted(step, order.story.stop_length)


@pytest.mark.skipif(
    not hasattr(engine.ScheduleBatch, "mamba_track_mask_cpu"),
    reason=f"sglang {engine.release()} keeps no mask of the completed step",
)
@pytest.mark.parametrize("order", (*SWAPS, *MIXED_STEPS), ids=lambda order: order.name)
def test_with_the_swap_corrected_the_same_orders_are_right(order):
    with corrected_swap():
        assert_right(observe(order))


@pytest.mark.parametrize(
    "observed",
    (
        Follower(256, 512),
        Follower(256, UNWRITTEN),
        Follower(256, FOREIGN),
        Follower(0, None),
    ),
    ids=str,
)
def test_a_follower_with_another_state_or_none_is_not_right(observed):
    with pytest.raises(AssertionError):
        assert_right(observed)
