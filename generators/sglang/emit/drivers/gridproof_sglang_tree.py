"""Drive SGLang's own radix tree on a CPU: requests that are matched, given slots and finished.

All lengths and depths are in tokens. Works on SGLang 0.5.17 to 0.5.23.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridproof_sglang import Configuration, Engine, owner, release_finished, request

# isort: split
import torch
from sglang.srt.managers.schedule_batch import Req


def prefix_locations(engine: Engine, req: Req) -> torch.Tensor:
    """Cache locations of the prefix that a request was given."""
    if hasattr(engine.tree, "path_device_indices"):
        return engine.tree.path_device_indices(req.last_node)
    return req.prefix_indices


def admit(engine: Engine, tokens: Sequence[int]) -> Req:
    """Match a request, lock its prefix, and give it cache locations for the rest of its tokens."""
    req = request("request", tokens)
    req.init_next_round_input(engine.tree)
    engine.lock(req)
    engine.allocate(req, len(tokens), prefix_locations(engine, req))
    return req


def track(engine: Engine, req: Req, donated: int, previous: int) -> None:
    """Write states into the slot that is kept and, of an earlier depth, into the other one."""
    slots = owner(req, "mamba_last_track_seqlen")
    kept = engine.pool.get_mamba_ping_pong_keep_idx(req)
    other = engine.pool.get_mamba_ping_pong_other_idx(kept)
    for entry, depth in ((kept, donated), (other, previous)):
        if depth:
            engine.states[int(slots.mamba_ping_pong_track_buffer[entry])] = depth
    slots.mamba_last_track_seqlen = donated
    if hasattr(slots, "mamba_prev_track_seqlen"):
        slots.mamba_prev_track_seqlen = previous or None


def room_for(c: Configuration, requests: Sequence[tuple[int, int, int, int]]) -> int:
    """Tokens that a cache needs to hold these requests side by side, a follower's page included."""
    return sum(computed + c.tree_page for _, computed, _, _ in requests)


def tokens_of(requests: Sequence[tuple[int, int, int, int]]) -> list[list[int]]:
    """The tokens of each request: what it shares with the first one, then its own."""
    known: list[list[int]] = []
    for number, (shared, computed, _, _) in enumerate(requests):
        own = range(number << 20, (number << 20) + computed - shared)
        known.append([*(known[0][:shared] if known else []), *own])
    return known


def finish_each(engine: Engine, requests: Sequence[tuple[int, int, int, int]]) -> list[list[int]]:
    """Let requests be served one after the other; the tokens of each.

    Each has finished before the next one comes: the tokens it shares with the first, those it has
    computed, the depth tracked in the slot it keeps, and that in the other slot (0: none).
    """
    served = tokens_of(requests)
    for tokens, (_, computed, donated, previous) in zip(served, requests, strict=True):
        req = admit(engine, tokens)
        track(engine, req, donated, previous)
        engine.commit(req, computed)
        release_finished(engine, req)
    return served
