"""Stories: the faults that are known of the released rules, told by the model that predicts the emitted tests."""

from types import SimpleNamespace

import pytest

from generators.sglang.emit import stories, trees
from generators.sglang.emit.mechanisms.base import completed
from spec.sglang.releases import CURRENT, DESIGNS, design_named

DEFAULTS = {"page_size": 64, "dcp_size": 1, "mamba_track_interval": 256, "mamba_chunk_size": 64}
WRONG, RIGHT = {"node": 256, "state": 512}, {"node": 256, "state": 256}


def c(**changes):
    return SimpleNamespace(**completed({**DEFAULTS, **changes}))


ORDERS = {
    "the first step is a boundary": stories.Story(255, 511),
    "nothing is ahead of a boundary": stories.Story(200, 511, (256,)),
    "nothing is ahead of the step before one": stories.Story(200, 511, (255,)),
}


@pytest.mark.parametrize("story", ORDERS.values(), ids=ORDERS)
def test_the_released_swap_lets_a_snapshot_overwrite_the_kept_slot(story):
    assert stories.follower_of(CURRENT, c(), story) == WRONG


@pytest.mark.parametrize("story", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("kind", [{"strategy": "extra_buffer_lazy"}, {"overlap": False}], ids=str)
def test_lazily_or_without_overlap_the_same_stories_are_right(story, kind):
    given = stories.follower_of(CURRENT, c(**kind), story)
    assert given["node"] == given["state"] > 0


@pytest.mark.parametrize("story", ORDERS.values(), ids=ORDERS)
def test_with_the_completed_swap_the_same_stories_are_right(story):
    proposal = design_named(f"{CURRENT.name}+completed-swap")
    assert stories.follower_of(proposal, c(), story) == RIGHT


def test_a_failed_allocation_keeps_the_label_up_to_0_5_21():
    lazy = c(strategy="extra_buffer_lazy")
    story = stories.Story(255, 300, (), (256,))
    assert stories.follower_of(DESIGNS["sglang-0.5.21"], lazy, story)["state"] != 192
    given = stories.follower_of(DESIGNS["sglang-0.5.22"], lazy, story)
    assert given["node"] == given["state"]


def test_a_grammar_without_overlap_leaves_a_state_of_another_depth():
    synchronous = c(overlap=False, speculative_num_draft_tokens=4, speculative_algorithm="EAGLE")
    story = stories.Verifies(253, (4,) * 65, 1, True)
    assert (
        stories.follower(CURRENT, synchronous, [stories.verified(CURRENT, synchronous, story)])
        == WRONG
    )


def test_a_wrong_state_stays_on_its_node():
    wide = c(dcp_size=8)
    requests = [trees.Insert(0, 1100, 768), trees.Insert(1024, 1700, 1536)]
    assert trees.given(CURRENT, wide, requests[:1], 600) == {
        "node": 512,
        "state": 768,
        "branching": None,
    }
    again = [requests[0], trees.Insert(512, 1100, 512)]
    assert trees.given(CURRENT, wide, again, 600)["state"] == 768


def test_a_key_that_the_label_passes_takes_the_other_slot_from_0_5_22():
    short = [trees.Insert(0, 300, 320, 128)]
    assert trees.given(DESIGNS["sglang-0.5.21"], c(), short, 300)["state"] == 320
    assert trees.given(DESIGNS["sglang-0.5.22"], c(), short, 300)["state"] == 128
