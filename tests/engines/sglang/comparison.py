"""The same question to the real engine and to the model: each function gives what the two answered."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from generators import expectations
from spec.sglang.designs import CURRENT, DESIGNS

sys.path.insert(0, str(Path(__file__).parents[3] / "generated_tests" / "sglang"))
engine = pytest.importorskip("gridproof_sglang", reason="the engine is not installed")

# A release that is not modelled yet is compared with the newest that is.
DESIGN = DESIGNS.get(f"sglang-{engine.release()}", CURRENT)
DRAFT_TOKENS = 8
PROMPT = 1


def model(c, algorithm=None):
    """A configuration as the rules read it."""
    return SimpleNamespace(
        page_size=c.page_size,
        dcp_size=c.dcp_size,
        mamba_track_interval=c.mamba_track_interval,
        mamba_chunk_size=c.mamba_chunk_size,
        speculative_algorithm=algorithm,
        speculative_num_draft_tokens=DRAFT_TOKENS,
    )


def extend(c, prefix, end):
    real = engine.extend_checkpoint(c, prefix, end)
    observed = {"donated": real.donated, "state": real.state, "fault": real.fault is not None}
    return observed, expectations.extend(DESIGN, model(c), prefix, end)


def verify(c, pre, accepted, algorithm=None):
    observed = engine.verify_snapshots(c, pre, accepted, DRAFT_TOKENS, algorithm)
    return observed, expectations.verify_snapshot(DESIGN, model(c, algorithm), pre, accepted)


def decode(c, stop):
    observed = engine.decode_snapshots(c, PROMPT, stop)
    return observed, expectations.decode_snapshots(DESIGN, model(c), PROMPT, stop)


def _seen(follower):
    return {"node": follower.node, "state": follower.state}


def follower_after_decode(c, stop):
    observed = _seen(engine.follower_after_decode(c, PROMPT, stop))
    return observed, expectations.follower_after_decode(DESIGN, model(c), PROMPT, stop)


def follower_after_extend(c, prefix, end):
    try:
        observed = _seen(engine.follower_after_extend(c, prefix, end))
    except AssertionError:
        observed = "fault"
    return observed, expectations.follower_after_extend(DESIGN, model(c), prefix, end)
