"""The same question to the real engine and to the model: each function gives what the two answered."""

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from generators.sglang.emit import expectations, stories, trees
from generators.sglang.emit.mechanisms import flush as flushes
from generators.sglang.emit.mechanisms import guards, results, windows
from generators.sglang.emit.mechanisms.base import CONFIGURATION_FIELDS
from spec.sglang.checkpoints import branching_checkpoint, extend_checkpoint
from spec.sglang.releases import CURRENT, DESIGNS
from spec.sglang.rules import grids as rules
from spec.sglang.scheduler import Scheduler
from spec.sglang.slot_buffer import NO_SLOT

sys.path.insert(0, str(Path(__file__).parents[3] / "generated_tests" / "sglang"))
engine = pytest.importorskip("gridproof_sglang", reason="the engine is not installed")

FAILS = engine.envs.SGLANG_TEST_MAMBA_LAZY_ALLOC_FAIL
# A release that is not modelled yet is compared with the newest that is.
DESIGN = DESIGNS.get(f"sglang-{engine.release()}", CURRENT)
DRAFT_TOKENS = 8
PROMPT = 1


def emitted(mechanism):
    """The emitted tests of a mechanism, in which the functions stand that drive the engine."""
    return importlib.import_module(f"test_{mechanism}")


def model(c, algorithm=None):
    """A configuration as the rules read it."""
    return SimpleNamespace(
        **vars(c), speculative_algorithm=algorithm, speculative_num_draft_tokens=DRAFT_TOKENS
    )


def extend(c, prefix, end):
    real = emitted("extend").extend_checkpoint(c, prefix, end)
    observed = {"donated": real.donated, "state": real.state, "fault": real.fault is not None}
    return observed, expectations.extend(DESIGN, model(c), prefix, end)


def branch(c, prefix, end, point):
    """An extend that is told of a branching point: the depth recorded, the state, whether an assertion stops it."""
    with engine.settings(c):
        made = engine.Engine(c, 0)
        req = engine.request("first", engine.counted(end))
        made.pool.alloc([req])
        req.mamba_branching_seqlen = point
        try:
            real, _ = engine.extend(made, req, prefix, end)
            observed = (real.donated, real.state)
        except AssertionError:
            observed = "fault"
    ordinary = extend_checkpoint(DESIGN, model(c), prefix, end)
    kept = branching_checkpoint(DESIGN, model(c), prefix, end, point)
    if ordinary.fault:
        return observed, "fault"
    if not ordinary.saved:
        return observed, (None, None)
    chosen = kept if kept.wanted else ordinary
    return observed, (int(chosen.recorded), int(chosen.state)) if chosen.passes else "fault"


def verify(c, pre, accepted, algorithm=None):
    observed = emitted("verify").verify_snapshots(c, pre, accepted, DRAFT_TOKENS, algorithm)
    return observed, expectations.verify_snapshot(DESIGN, model(c, algorithm), pre, accepted)


def decode(c, stop):
    observed = emitted("decode").decode_snapshots(c, PROMPT, stop)
    return observed, expectations.decode_snapshots(DESIGN, model(c), PROMPT, stop)


def _seen(follower):
    return {"node": follower.node, "state": follower.state}


def follower_after_decode(c, stop):
    observed = _seen(emitted("decode").follower_after_decode(c, PROMPT, stop))
    return observed, expectations.follower_after_decode(DESIGN, model(c), PROMPT, stop)


def follower_after_extend(c, prefix, end):
    try:
        observed = _seen(emitted("extend").follower_after_extend(c, prefix, end))
    except AssertionError:
        observed = "fault"
    return observed, expectations.follower_after_extend(DESIGN, model(c), prefix, end)


def slots(c, story):
    """A request driven step by step, in the story's order of launches and results."""
    observed = emitted("slots").follower_of(
        c, story.prompt, story.stop, story.nothing_ahead_of, story.allocation_fails_at
    )
    return _seen(observed), stories.follower_of(DESIGN, model(c), story)


def verifies(c, story, draft_tokens):
    """A request that is verified and stops at a stop token or where its grammar ends."""
    observed = emitted("verifies").follower_of(
        c, story.prompt, 0, list(story.accepts), draft_tokens, story.retained, story.grammar
    )
    known = model(c)
    known.speculative_num_draft_tokens = draft_tokens
    return _seen(observed), stories.verified_follower(DESIGN, known, story)


def slots_of(request, pool, consumed):
    """A request's slots in the engine; `consumed(slot)`: tokens that the state in a slot of the pool has consumed."""
    record = engine.owner(request, "mamba_ping_pong_track_buffer")
    buffer = record.mamba_ping_pong_track_buffer.tolist()
    seen = {
        "states": [NO_SLOT if slot == -1 else consumed(slot) for slot in buffer],
        "next": record.mamba_next_track_idx,
        "kept": int(pool.get_mamba_ping_pong_keep_idx(request)),
        "label": record.mamba_last_track_seqlen or 0,
    }
    if hasattr(record, "mamba_prev_track_seqlen"):
        seen["previous"] = record.mamba_prev_track_seqlen or 0
    return seen


def slots_said(slots, seen):
    """What the model says of all that is seen of a request's slots."""
    said = {name: int(getattr(slots, name)) for name in seen if name != "states"}
    return {**said, "states": [int(slots.state(entry)) for entry in range(len(seen["states"]))]}


def _forgetting(made):
    """The allocator of states, its function and one that gives slots which hold nothing."""
    allocator, real = made.pool.mamba_allocator, made.pool.mamba_allocator.alloc

    def alloc(count):
        slots = real(count)
        if slots is not None:
            made.states[slots] = engine.UNWRITTEN
        return slots

    return allocator, "alloc", alloc


@dataclass(frozen=True)
class Verify:
    """A verify: the tokens it accepts, whether it is launched with nothing in flight, whether no slot can be had for it."""

    accepted: int
    alone: bool = False
    fails: bool = False


def verifies_in_order(c, prompt, verifies, draft_tokens, retained, grammar, alone):
    """A request's slots after each launch of a verify, and its follower, in any order of launches and results.

    It ends with the last verify, or, unless `alone`, with the one before while the last is in flight; of that one
    `retained` tokens are kept, up to a stop token or, with `grammar`, up to where the grammar ends.
    """
    driver = importlib.import_module("gridproof_sglang_verify")
    known = model(c)
    known.speculative_num_draft_tokens = draft_tokens
    scheduler = Scheduler(DESIGN, known)
    request = scheduler.admit(prompt)
    last = len(verifies) - (1 if alone or not c.overlap else 2)
    ends_with = verifies[last].accepted
    before = sum(verify.accepted for verify in verifies[:last])
    observed, expected = [], []
    with driver.speculating(c, draft_tokens):
        room = prompt + sum(verify.accepted for verify in verifies) + 2 * draft_tokens
        real = driver.Verifying(c, prompt, draft_tokens, room)
        with patch.object(*_forgetting(real.engine)):
            if grammar:
                real.end_after(before + retained)
            waiting = []
            for number, verify in enumerate(verifies):
                if verify.alone:
                    while waiting:
                        real.process(*waiting.pop(0))
                    request = scheduler.other_batch(request) if request.waiting else request
                if verify.fails:
                    request = scheduler.allocation_failure(request)
                ends = number == last and not grammar
                with FAILS.override(verify.fails):
                    waiting.append(real.verify(verify.accepted, retained if ends else None))
                request = scheduler.verify(request, verify.accepted)
                seen = slots_of(
                    real.req,
                    real.engine.pool,
                    lambda slot: int(real.engine.states[slot].flatten()[0]),
                )
                observed.append(seen)
                expected.append(slots_said(request.slots, seen))
                while len(waiting) > int(c.overlap):
                    real.process(*waiting.pop(0))
            while waiting and not real.req.finished():
                real.process(*waiting.pop(0))
            follower = _seen(real.follower())
    if alone and c.overlap:
        request = scheduler.other_batch(request)
    assert scheduler.ends_with(request).end == prompt + before + ends_with
    donated = scheduler.finish(request, retained, grammar).donated[-1].checkpoint
    return (observed, follower), (expected, stories.follower(DESIGN, known, [donated]))


def order(c, prompt, stop, other_prefill_after):
    """The scheduler's own loop, with another request's prefill after a step."""
    observed = emitted("orders").served(c, prompt, stop, other_prefill_after)
    alone = () if other_prefill_after is None else (other_prefill_after,)
    story = stories.Story(prompt, stop, alone)
    return _seen(observed), stories.follower_of(DESIGN, model(c), story)


def boundary(c, length, earlier, own):
    """What the two results around a boundary do to the slots."""
    real = emitted("results").boundary(c, length, earlier, own)
    observed = real.swaps, {"label": real.label, "state": real.state}
    return observed, (
        results.swaps_around(DESIGN, model(c), length, earlier, own),
        results.labelled_around(DESIGN, model(c), length, earlier, own),
    )


def tree(c, core, requests, shared):
    """What the tree gives to a follower after finished requests."""
    real = emitted("tree").given_to_follower(
        c, core, [tuple(vars(r).values()) for r in requests], shared
    )
    return vars(real), trees.given(DESIGN, model(c), requests, shared)


def evictions(c, core, requests, again, states, shared):
    """What a follower of the last request is given when so many states were evicted, and how many slots that freed."""
    wanted = [tuple(vars(r).values()) for r in requests]
    real = emitted("evictions").given_after_eviction(c, core, wanted, again, states, shared)
    expected = trees.given_after_eviction(DESIGN, model(c), requests, again, states, shared)
    return vars(real), expected


def launch(configuration):
    """Whether a launch starts; the configuration has every field that a guard reads."""
    c = SimpleNamespace(**configuration)
    shown = engine.Configuration(
        *(getattr(c, name) for name in CONFIGURATION_FIELDS), c.strategy, c.overlap
    )
    said = emitted("guards").refusal(
        shown,
        page_size_given=c.page_size_given,
        draft_tokens=c.speculative_num_draft_tokens,
        algorithm=c.speculative_algorithm,
        recurrence=c.recurrence,
        tp_size=c.tp_size,
        chunked_prefill_size=c.chunked_prefill_size,
    )
    return "starts" if said is None else "refused", guards.outcome(DESIGN, c)


def grids(c):
    """Every grid that this release computes."""
    accessors = {
        "cache_chunk": rules.cache_chunk_size,
        "checkpoint_grid": rules.checkpoint_grid,
        "track_grid": rules.track_grid,
    }
    observed, expected = {}, {}
    for name, rule in accessors.items():
        try:
            observed[name] = getattr(emitted("grids"), name)(c)
        except engine.NotComparable:
            continue
        expected[name] = rule(model(c))
    return observed, expected


def flush(c, stop):
    """The lengths at which ReplaySSM flushes."""
    return emitted("flush").flushes(c, stop), flushes.flushes(DESIGN, model(c), stop)


def window(c, pre, accepted):
    """How far the convolution window reaches that a draft extend writes."""
    observed = emitted("windows").window(c, pre, accepted, DRAFT_TOKENS)
    return observed, windows.window(DESIGN, model(c), pre, accepted)
