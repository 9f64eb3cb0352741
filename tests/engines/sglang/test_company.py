"""Several requests on the engine's own loop, at every boundary and in every order: each of them does what the model says.

Run in an environment that has the engine: ``tox -e sglang-0.5.19`` and its sisters.
"""

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spec.sglang.rules import slots
from tests.engines.sglang import comparison, played
from tests.engines.sglang.played import Arrival, Differs, Play, play
from tests.engines.sglang.test_conformance import few, launches
from tests.engines.sglang.test_orders import MIXED, MIXED_STEPS, SWAPS, Order

# isort: split
from gridproof_sglang_loop import Launch, Story
from sglang.srt.managers.schedule_policy import PrefillAdder
from sglang.srt.managers.scheduler import Scheduler

DESIGN = comparison.DESIGN
ROUNDS_ITS_CUTS = hasattr(PrefillAdder, "floor_chunked_tokens")  # from 0.5.23 on
KINDS = (("extra_buffer", True), ("extra_buffer_lazy", True), ("extra_buffer", False))
GRID = 4  # tokens: every length lies within two of a boundary
PROMPTS = range(2, 7)
STEPS = range(10)


def launch(strategy, overlap, mixed):
    """Settings in which decode snapshots every `GRID` tokens."""
    return Launch(1, 1, GRID, GRID, strategy, overlap, mixed, 2048 if mixed else None)


def plays(failures):
    """Five requests that decode together and one that comes in between, over all steps: what comes where, who ends where.

    The request in between ends at once, or decodes beside the others; with `failures` no slot can be had for a step,
    alone or for the one that the other's prompt is put beside.
    """
    for shift in STEPS:
        steps = [(shift + 3 * index) % len(STEPS) for index in range(len(PROMPTS))]
        together = tuple(Arrival(p, p + n) for p, n in zip(PROMPTS, steps, strict=True))
        longest = max(range(len(steps)), key=steps.__getitem__)
        yield Play(together)
        for length in range(PROMPTS[longest], together[longest].stop + 1):
            ends_at_once = Arrival(6, 6, longest, length)
            decodes = Arrival(6, 11, longest, length, by_length=True)
            yield from (Play((*together, ends_at_once)), Play((*together, decodes)))
            if failures:
                fails = ((longest, length + 1),)
                yield from (Play(together, fails), Play((*together, decodes), fails))


@pytest.mark.parametrize("mixed", (False, True), ids=("apart", "mixed"))
@pytest.mark.parametrize(("strategy", "overlap"), KINDS)
def test_requests_that_decode_together_do_what_the_model_says_in_every_order(
    strategy, overlap, mixed
):
    lazy = strategy == "extra_buffer_lazy"
    seen = play(launch(strategy, overlap, mixed), tuple(plays(failures=lazy))).met
    offsets = range(-GRID // 2, GRID // 2)
    happened = {"decode", "extend", "ends ahead" if overlap else "ends alone"}
    happened |= {"mixed_batch"} if mixed else {"other_batch"} if overlap else set()
    assert {(event, off) for event in happened for off in offsets} <= set(seen)
    assert not lazy or ("allocation_failure", 0) in seen
    assert {("row", row, 6) for row in range(6)} <= set(seen)


LONG_PROMPT = Story(prompt=5000, stop_length=5001, decoding_beside=True)
LONG_PROMPTS = (
    Order("a long prompt in mixed chunks", MIXED, LONG_PROMPT),
    Order("a long prompt in mixed chunks with dcp", replace(MIXED, dcp_size=8), LONG_PROMPT),
    Order(
        "a long prompt in chunks that are not mixed", replace(MIXED, mixed_chunk=False), LONG_PROMPT
    ),
)


@pytest.mark.parametrize(
    "order", (*MIXED_STEPS, *LONG_PROMPTS, *SWAPS), ids=lambda order: order.name
)
def test_the_orders_of_a_default_launch_do_what_the_model_says_pass_by_pass(order):
    story = order.story
    first = Arrival(story.prompt, story.stop_length)
    if story.decoding_beside:
        company = (Arrival(7, 40), replace(first, of=0, after=12))
    elif story.other_prefill_after is not None:
        company = (first, Arrival(10, 12, 0, story.other_prefill_after))
    else:
        company = (first,)
    play(order.launch, (Play(company),))


BESIDE_TWO_LONG_PROMPTS = Play((Arrival(7, 40), *2 * (Arrival(5000, 5001, 0, 12),)))


@pytest.mark.parametrize(("page", "dcp"), ((16, 2), (64, 2), (16, 1)))
def test_no_two_prompts_are_cut_at_once(page, dcp):
    """The scheduler stops at an assertion where a second prompt is cut while the rest of another one waits."""
    of = Launch(page, dcp, 256, 64, mixed_chunk=True, chunked_prefill_size=2048)
    play(of, (BESIDE_TWO_LONG_PROMPTS,))


@pytest.mark.skipif(not ROUNDS_ITS_CUTS, reason="up to 0.5.22 no cut is rounded to the chunk")
def test_two_prompts_would_be_cut_at_once_if_only_the_first_cut_were_rounded():
    of = Launch(16, 2, 256, 64, mixed_chunk=True, chunked_prefill_size=2048)
    of_the_second = patch.object(Scheduler, "init_mamba_truncation_align", lambda self: None)
    with of_the_second, pytest.raises(AssertionError):
        play(of, (BESIDE_TWO_LONG_PROMPTS,))


WRONG = {
    "a swap at the completed step": (
        {"swap": slots.swap_follows_the_completed_step},
        launch("extra_buffer", True, mixed=False),
    ),
    "a label of another step": (
        {"label": slots.label_of_the_launched_length}
        if DESIGN.label is slots.label_of_the_completed_step
        else {"label": slots.label_of_the_completed_step},
        launch("extra_buffer", True, mixed=False),
    ),
    "a prompt in a mixed batch": (
        {"writes_mixed_prompts": not DESIGN.writes_mixed_prompts},
        launch("extra_buffer", False, mixed=True),
    ),
    "a slot for a step in a mixed batch": (
        {"undoes_mixed_allocations": not DESIGN.undoes_mixed_allocations},
        launch("extra_buffer_lazy", True, mixed=True),
    ),
    "a failed allocation": (
        {"failure_forgets_the_label": not DESIGN.failure_forgets_the_label},
        launch("extra_buffer_lazy", True, mixed=False),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_model_with_another_rule_differs_from_the_engine(name):
    changes, of = WRONG[name]
    with (
        patch.object(played, "DESIGN", replace(DESIGN, **changes)),
        pytest.raises(Differs),
    ):
        play(of, tuple(plays(failures=of.lazy)))


@st.composite
def companies(draw):
    """A launch with short grids, prompts in chunks or not, and plays of one to four requests on it."""
    c = draw(launches())
    # Where rows are counted in larger chunks than the kernel's, one is another request's (docs/limits.md).
    assume(int(DESIGN.extend_row_stride(comparison.model(c))) == c.mamba_chunk_size)
    chunk = draw(st.sampled_from([None, 1, 2, 4, 8]))
    mixed = draw(st.booleans())
    size = 2048 if chunk is None and mixed else chunk and chunk * max(c.tree_page, 4)
    of = Launch(**vars(c), mixed_chunk=mixed, chunked_prefill_size=size)
    return of, draw(st.lists(company(of), min_size=1, max_size=4))


@st.composite
def company(draw, of):
    """One to four requests near boundaries, each arriving with the play or after a step of an earlier one."""
    grid = int(DESIGN.grid("decode", comparison.model(of)))
    near = st.sampled_from([d for d in (-2, -1, 0, 1, 2) if 2 * grid + d > 0])
    arrivals = []
    for index in range(draw(st.integers(1, 4))):
        prompt = max(1, draw(st.integers(0, 2)) * grid + draw(near))
        stop = prompt + max(0, draw(st.integers(0, 2)) * grid + draw(near))
        number, after = None, 0
        if index and draw(st.booleans()):
            number = draw(st.integers(0, index - 1))
            earlier = arrivals[number]
            after = draw(st.integers(earlier.prompt, max(earlier.prompt, earlier.stop - 1)))
        shares = 0
        if index == 3 and draw(st.booleans()):
            number, shares = None, draw(st.integers(1, max(1, prompt - 1)))
        by_length = draw(st.booleans())
        arrivals.append(Arrival(prompt, stop, number, after, by_length, shares))
    fails = []
    if of.lazy:
        for _ in range(draw(st.integers(0, 2))):
            number = draw(st.integers(0, len(arrivals) - 1))
            first = arrivals[number].prompt // grid + 1
            fails.append((number, (first + draw(st.integers(0, 1))) * grid))
    return Play(tuple(arrivals), tuple(fails))


@given(companies())
@few
def test_requests_in_any_company_do_what_the_model_says(company):
    play(*company)


def test_what_happens_is_counted_where_it_happens():
    """A prompt of 6 comes after the step at 7 of a prompt of 3, shares a batch with the step at 8, and ends at once."""
    of = launch("extra_buffer", True, mixed=True)
    seen = play(of, (Play((Arrival(3, 9), Arrival(6, 6, 0, 7))),)).met
    extends = {("extend", -1): 1, ("extend", -2): 1}
    decodes = {("decode", off): 2 for off in range(-GRID // 2, GRID // 2)}
    mixed = {("mixed_batch", 0): 1, ("mixed_batch", -2): 1}
    ends = {("ends ahead", 1): 1, ("ends ahead", -2): 1}
    rows = {("row", 0, 1): 6, ("row", 0, 2): 2, ("row", 1, 2): 2}
    assert seen == {**extends, **decodes, **mixed, **ends, **rows}
