"""What finished requests donate to one radix tree, and what the request that follows them is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spec.sglang.checkpoints import Checkpoint
from spec.sglang.radix_tree import Tree
from spec.sglang.releases import Design
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.rules.tree import Node
from spec.sglang.slot_buffer import finished, keeping


@dataclass(frozen=True)
class Insert:
    """A finished request, in tokens: what it shares with the first one, what it has computed, its tracked depths.

    `donated` is the depth tracked in the slot that is kept, `previous` that in the other one (0: nothing).
    """

    shared: int
    key_length: int
    donated: int
    previous: int = NO_DEPTH

    def checkpoint(self, design: Design, c: Any) -> Checkpoint:
        """What it donates."""
        return finished(design, c, keeping(self.donated, self.previous), self.key_length)


def told_of(node: Node) -> dict[str, int | None]:
    """What the next request is given: the depth of its node, and the tokens of its state, None where it has none."""
    return {"node": int(node.depth), "state": int(node.state) if node.has_state else None}


def tokens_of(inserts: Sequence[Insert]) -> list[list[int]]:
    """The tokens of each request of a story: those it shares with the first, then its own."""
    known: list[list[int]] = []
    for number, request in enumerate(inserts):
        shared = known[0][: request.shared] if known else []
        own = range(len(shared), request.key_length)
        known.append([*shared, *((number + 1) * 100_000 + i for i in own)])
    return known


def served(design: Design, c: Any, inserts: Sequence[Insert]) -> Tree[int]:
    """The tree after these requests were matched, computed and finished, one after the other."""
    cache = Tree[int](design, c)
    for tokens, request in zip(tokens_of(inserts), inserts, strict=True):
        cache.match([*tokens[: request.key_length], 0])
        cache.insert_checkpoint(tokens, request.checkpoint(design, c))
    return cache


def follower_tokens(inserts: Sequence[Insert], shared: int) -> list[int]:
    """The prompt of a follower that shares so many tokens with the first request and has one of its own."""
    return [*tokens_of(inserts)[0][:shared], 0]


def given_after_eviction(
    design: Design, c: Any, inserts: Sequence[Insert], again: bool, states: int, follower: int
) -> dict[str, int | None]:
    """What a follower of the last request is given after so many states were evicted, and how many slots that freed.

    `again`: the first request's tokens are matched once more before; `follower`: tokens it shares with the last one.
    """
    cache, known = served(design, c, inserts), tokens_of(inserts)
    if again:
        cache.match([*known[0], 0])
    freed = cache.evict_least_recent(states)
    return {**told_of(cache.match([*known[-1][:follower], 0]).node), "freed": freed}


def given_among(
    design: Design, c: Any, inserts: Sequence[Insert], follower: int
) -> dict[str, int | None]:
    """What a follower is given when these requests ran side by side and finished in this order.

    `of`: the number of the request, from 1, whose state it is given, None without one; `held`: states on the nodes.
    """
    cache = Tree[int](design, c)
    for number, (tokens, request) in enumerate(zip(tokens_of(inserts), inserts, strict=True), 1):
        cache.insert_checkpoint(tokens, request.checkpoint(design, c), number)
    given, held = cache.match(follower_tokens(inserts, follower)), cache.nodes.values()
    states = sum(1 for node in held if node.has_state)
    return {**told_of(given.node), "of": given.payload, "held": states}


def given(
    design: Design, c: Any, inserts: Sequence[Insert], follower: int
) -> dict[str, int | None]:
    """What a follower is given that shares `follower` tokens with the first request and has one of its own."""
    given = served(design, c, inserts).match(follower_tokens(inserts, follower))
    return {**told_of(given.node), "branching": given.branching}
