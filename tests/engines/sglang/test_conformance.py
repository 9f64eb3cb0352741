"""The model against the engine: on random configurations both observe the same, or the smallest difference is shown.

Run in an environment that has the engine: ``tox -e sglang-0.5.19`` and its sisters.
How many examples: GRIDPROOF_EXAMPLES, 400 unless told.
"""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines.sglang import comparison
from tests.engines.sglang.comparison import DRAFT_TOKENS, engine

EXAMPLES = int(os.environ.get("GRIDPROOF_EXAMPLES", "400"))
MOST_TOKENS = 2_400

many = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
few = settings(many, max_examples=max(20, EXAMPLES // 5))


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


def same(answers):
    observed, expected = answers
    assert observed == expected


@given(c=configurations(), lengths=chunks())
@many
def test_extends_conform(c, lengths):
    same(comparison.extend(c, *lengths))


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
