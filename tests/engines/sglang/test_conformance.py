"""The model against the engine: on random configurations both observe the same, or the smallest difference is shown.

Run in an environment that has the engine: ``tox -e sglang-0.5.19`` and its sisters.
How many examples: GRIDPROOF_EXAMPLES, 400 unless told.
"""

import os
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generators.sglang.emit.mechanisms.tree import CORES
from generators.sglang.emit.stories import Story, Verifies
from generators.sglang.emit.trees import Insert
from spec.recurrences import RECURRENCES
from spec.sglang.configuration import STRATEGIES
from tests.engines.sglang import comparison
from tests.engines.sglang.comparison import DRAFT_TOKENS, engine

EXAMPLES = int(os.environ.get("GRIDPROOF_EXAMPLES", "400"))
MOST_TOKENS = 2_400
LONGEST_KEY = 330

many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
half = settings(many, max_examples=max(20, EXAMPLES // 2))
few = settings(many, max_examples=max(20, EXAMPLES // 5))
ahead = st.integers(0, 1)


@st.composite
def configurations(draw):
    """Configurations that the start-up guards accept, with a tree page of at most 1,024 tokens."""
    page = draw(st.sampled_from([1, 2, 16, 32, 64, 128, 256]))
    dcp = draw(st.sampled_from([d for d in (1, 2, 3, 4, 7, 8) if page * d <= 1024]))
    chunk = draw(st.sampled_from([64, 128, 256]))
    pages = draw(st.integers(1, 8)) * draw(st.sampled_from([1, 16, 25, 64]))
    return engine.Configuration(page, dcp, page * min(pages, 4096 // page), chunk)


@st.composite
def chunks(draw):
    """Prefix and end (tokens) of the second of two chunks, often on a round number."""
    step = draw(st.sampled_from([1, 1, 64, 128, 512]))
    prefix = draw(st.integers(0, 1200 // step)) * step
    return prefix, prefix + draw(st.integers(1, MOST_TOKENS - 1300))


@st.composite
def launches(draw):
    """Configurations with a short track grid, with slots of each kind."""
    page = draw(st.sampled_from([1, 2, 16, 32, 64]))
    dcp = draw(st.sampled_from([1, 1, 1, 2]))
    chunk = draw(st.sampled_from([c for c in (64, 16, 8, 4) if c % page == 0 or page % c == 0]))
    interval = page * draw(st.integers(1, 4))
    kinds = [("extra_buffer", True), ("extra_buffer_lazy", True), ("extra_buffer", False)]
    c = engine.Configuration(page, dcp, interval, chunk, *draw(st.sampled_from(kinds)))
    # A grid of one token makes every step a boundary.
    return c if interval > 1 else replace(c, mamba_track_interval=4)


@st.composite
def stories(draw, c, failures):
    """A request whose prompt and stop lie near boundaries, steps without one ahead, failing allocations."""
    grid = int(comparison.DESIGN.grid("decode", comparison.model(c)))
    near = st.sampled_from([d for d in (-2, -1, 0, 1) if 2 * grid + d > 0])
    prompt = max(1, draw(st.integers(0, 2)) * grid + draw(near))
    stop = prompt + max(1, draw(st.integers(0, 2)) * grid + draw(near))
    steps = range(prompt + 1, stop + 1)
    alone = draw(st.sets(st.sampled_from(steps), max_size=3)) if c.overlap else set()
    boundaries = [n for n in range(prompt + 1, stop + 2) if n % grid == 0]
    failing = set()
    if failures and c.lazy and boundaries:
        failing = draw(st.sets(st.sampled_from(boundaries), max_size=2))
    return Story(prompt, stop, tuple(sorted(alone)), tuple(sorted(failing)))


@st.composite
def verified(draw):
    """A launch with short grids, the tokens of its drafts, and verifies up to a stop token or a grammar's end."""
    c = draw(launches())
    drafts = draw(st.integers(1, min(c.mamba_track_interval, 12)))
    grid = int(comparison.DESIGN.grid("verify", comparison.model(c)))
    accepts = draw(st.lists(st.integers(1, drafts), min_size=1, max_size=6))
    near = draw(st.integers(-drafts, 1))
    story = Verifies(
        max(1, draw(st.integers(0, 2)) * grid + near), tuple(accepts), 1, draw(st.booleans())
    )
    kept = draw(st.integers(1, accepts[story.last(c)]))
    return c, replace(story, retained=kept), drafts


@st.composite
def verified_in_order(draw):
    """The same in any order of launches and results, where a slot can be had and where none can."""
    c = draw(launches())
    drafts = draw(st.integers(1, min(c.mamba_track_interval, 12)))
    grid = int(comparison.DESIGN.grid("verify", comparison.model(c)))
    verify = st.builds(
        comparison.Verify,
        st.integers(1, drafts),
        alone=st.booleans() if c.overlap else st.just(False),
        fails=st.booleans() if c.lazy else st.just(False),
    )
    alone = draw(st.booleans())
    verifies = draw(st.lists(verify, min_size=2 - alone, max_size=7))
    if c.overlap and not alone:  # a verify is in flight at the end
        verifies[-1] = replace(verifies[-1], alone=False)
    last = verifies[-1 if alone or not c.overlap else -2]
    prompt = max(1, draw(st.integers(0, 2)) * grid + draw(st.integers(-2 * drafts, 1)))
    return (
        c,
        prompt,
        verifies,
        drafts,
        draw(st.integers(1, last.accepted)),
        draw(st.booleans()),
        alone,
    )


@st.composite
def inserts(draw):
    """One to three finished requests; each later one donates beyond what it shares with the first."""
    first = draw(st.integers(1, LONGEST_KEY))
    found = [Insert(0, first, draw(st.integers(1, LONGEST_KEY)))]
    if draw(st.booleans()):
        found = [replace(found[0], previous=draw(st.integers(0, found[0].donated - 1)))]
    for _ in range(draw(st.integers(0, 2))):
        shared = draw(st.integers(0, first))
        donated = shared + draw(st.integers(64, 200))
        found.append(Insert(shared, donated + draw(st.integers(0, 70)), donated))
    return found


@st.composite
def one_path(draw):
    """Two finished requests of the same tokens, of which the second donates deeper, and one that leaves their path."""
    first, second = sorted(draw(st.sets(st.integers(64, LONGEST_KEY), min_size=2, max_size=2)))
    shared = draw(st.integers(first, LONGEST_KEY))
    return [
        Insert(0, LONGEST_KEY, first),
        Insert(LONGEST_KEY, LONGEST_KEY + 1, second),
        Insert(shared, shared + 100, shared + 64),
    ]


@st.composite
def guarded(draw):
    """Launches with every field that a start-up guard reads."""
    strategy = draw(st.sampled_from(STRATEGIES))
    small = strategy == "no_buffer" and draw(st.booleans())
    algorithm = draw(st.sampled_from([None, "EAGLE", "DFLASH", "DSPARK"]))
    return {
        "page_size": 1 if small else draw(st.sampled_from([1, 2, 16, 32, 48, 64, 96, 128])),
        "dcp_size": 1 if small else draw(st.sampled_from([1, 1, 2, 3, 4])),
        "mamba_track_interval": draw(st.sampled_from([1, 16, 48, 64, 96, 128, 192, 256, 320])),
        "mamba_chunk_size": draw(st.sampled_from([16, 32, 64, 96, 128, 256])),
        "speculative_num_draft_tokens": draw(st.sampled_from([1, 8, 64, 300])) if algorithm else 0,
        "speculative_algorithm": algorithm,
        "strategy": strategy,
        "overlap": draw(st.booleans()),
        "recurrence": draw(st.sampled_from(RECURRENCES)),
        "page_size_given": draw(st.booleans()),
        "tp_size": draw(st.sampled_from([1, 2, 4, 6, 8])),
        "chunked_prefill_size": draw(st.sampled_from([-1, 32, 64, 200, 2048])),
    }


def test_a_model_with_another_rule_for_a_failed_plan_differs():
    """The fourth verify passes the second boundary in the slot of the first one's state."""
    c = engine.Configuration(1, 1, 4, 4, "extra_buffer_lazy")
    accepted = (2, 2, 2, 2, 1)
    verifies = [comparison.Verify(n, fails=n != 1 and i > 1) for i, n in enumerate(accepted)]
    story = (c, 3, verifies, 2, 1, False, False)
    same(comparison.verifies_in_order(*story))
    changed = not comparison.DESIGN.failure_forgets_the_label
    wrong = replace(comparison.DESIGN, failure_forgets_the_label=changed)
    with (
        patch.object(comparison, "DESIGN", wrong),
        pytest.raises(AssertionError, match="label"),
    ):
        same(comparison.verifies_in_order(*story))


def same(answers):
    observed, expected = answers
    assert observed == expected


@given(c=configurations())
@many
def test_grids_conform(c):
    same(comparison.grids(c))


@given(launch=guarded())
@many
def test_start_up_guards_conform(launch):
    same(comparison.launch(launch))


@given(data=st.data(), c=launches())
@many
def test_slots_conform_in_every_order_of_launch_and_result(data, c):
    same(comparison.slots(c, data.draw(stories(c, failures=True))))


@given(verified=verified())
@few
def test_slots_conform_under_speculation(verified):
    same(comparison.verifies(*verified))


@given(verified=verified_in_order())
@half
def test_slots_conform_under_speculation_in_every_order_of_launch_and_result(verified):
    same(comparison.verifies_in_order(*verified))


@given(data=st.data(), c=launches())
@few
def test_the_scheduler_loop_conforms(data, c):
    story = data.draw(stories(c, failures=False))
    alone = story.nothing_ahead_of[0] if story.nothing_ahead_of else None
    same(comparison.order(c, story.prompt + 8, story.stop + 8, alone and alone + 8))


@given(data=st.data(), c=launches(), k=st.integers(1, 4), earlier=ahead, own=ahead)
@many
def test_results_around_a_boundary_conform(data, c, k, earlier, own):
    c = replace(c, strategy="extra_buffer", overlap=True)
    length = k * int(comparison.DESIGN.grid("decode", comparison.model(c)))
    same(comparison.boundary(c, length + 4 * (length < 4), earlier, own))


@pytest.mark.parametrize("core", CORES)
@given(c=configurations(), requests=inserts(), share=st.integers(0, LONGEST_KEY))
@many
def test_the_tree_conforms(core, c, requests, share):
    shared = min(share, requests[0].key_length)
    try:
        answers = comparison.tree(c, core, requests, shared)
    except engine.NotComparable as reason:
        pytest.skip(str(reason))
    same(answers)


@pytest.mark.parametrize("core", CORES)
@given(
    c=configurations().filter(lambda c: c.tree_page <= 64),
    requests=one_path(),
    again=st.booleans(),
    states=st.integers(1, 3),
    shared=st.integers(0, LONGEST_KEY),
)
@few
def test_evictions_conform(core, c, requests, again, states, shared):
    shared = min(shared, requests[-1].key_length)
    try:
        answers = comparison.evictions(c, core, requests, again, states, shared)
    except engine.NotComparable as reason:
        pytest.skip(str(reason))
    same(answers)


@given(c=configurations(), stop=st.integers(2, MOST_TOKENS))
@many
def test_flushes_conform(c, stop):
    same(comparison.flush(c, stop))


@given(c=configurations(), pre=st.integers(1, 6000), accepted=st.integers(1, DRAFT_TOKENS))
@many
def test_windows_conform(c, pre, accepted):
    same(comparison.window(c, pre, accepted))


@given(c=configurations(), lengths=chunks())
@many
def test_extends_conform(c, lengths):
    same(comparison.extend(c, *lengths))


@given(c=configurations(), lengths=chunks(), chunk=st.integers(0, 40), off=st.integers(0, 1))
@many
def test_branching_points_conform(c, lengths, chunk, off):
    prefix, end = lengths
    point = prefix + chunk * max(c.mamba_chunk_size, c.page_size) + off
    same(comparison.branch(c, prefix, end, point))


@pytest.mark.parametrize("algorithm", [None, "DSPARK", "DFLASH"])
@given(c=configurations(), pre=st.integers(1, 6000), accepted=st.integers(1, DRAFT_TOKENS))
@many
def test_verifies_conform(algorithm, c, pre, accepted):
    try:
        answers = comparison.verify(c, pre, accepted, algorithm)
    except engine.NotComparable as reason:
        pytest.skip(str(reason))
    same(answers)


@given(c=configurations(), stop=st.integers(2, MOST_TOKENS))
@few
def test_decode_masks_conform(c, stop):
    same(comparison.decode(c, stop))


@given(c=configurations(), stop=st.integers(2, MOST_TOKENS))
@few
def test_followers_of_a_decode_conform(c, stop):
    same(comparison.follower_after_decode(c, stop))


@given(c=configurations(), lengths=chunks())
@few
def test_followers_of_an_extend_conform(c, lengths):
    same(comparison.follower_after_extend(c, *lengths))
