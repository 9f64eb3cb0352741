"""A radix tree of recurrent states reduced to counting: donations, splits, and what a follower is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from spec.sglang.checkpoints import Checkpoint, node_of
from spec.sglang.releases import Design, current
from spec.sglang.rules import grids, lookup, tree
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.rules.tree import NO_STATE, Node
from spec.sglang.slot_buffer import finished, keeping

Key = tuple[tuple[int, ...], ...]  # the pages of a prefix, each the tuple of its tokens


@dataclass(frozen=True)
class Insert:
    """A finished request, in tokens: what it shares with the first one, what it has computed, its tracked depths.

    `donated` is the depth tracked in the slot that is kept, `previous` that in the other one (0: nothing).
    """

    shared: int
    key_length: int
    donated: int
    previous: int = NO_DEPTH


@dataclass
class Tree:
    """The nodes by their path, for one design and configuration.

    `used`: the paths of those with a state, the latest used last; `donors`: the number of the request, from 1, whose
    state a node holds.
    """

    design: Design
    c: Any
    nodes: dict[Key, Node] = field(default_factory=dict)
    used: list[Key] = field(default_factory=list)
    donors: dict[Key, int] = field(default_factory=dict)

    @property
    def page(self) -> int:
        """Tokens of a tree page."""
        return int(grids.tree_page(self.c))

    def pages(self, tokens: Sequence[int], length: int) -> Key:
        """The path of a prefix of `length` tokens."""
        page = self.page
        return tuple(tuple(tokens[i * page : (i + 1) * page]) for i in range(length // page))

    def _hit(self, key: Key) -> Key:
        """The longest prefix of a key that the tree knows; where it ends inside a node, that node is split."""
        known = {node[:i] for node in self.nodes for i in range(len(node) + 1)} | {()}
        hit = max((key[:i] for i in range(len(key) + 1) if key[:i] in known), key=len)
        if hit and hit not in self.nodes:
            below = min((node for node in self.nodes if node[: len(hit)] == hit), key=len)
            rules = current(self.design.split_above), current(self.design.split_below)
            parts = tree.split(self.nodes[below], len(hit) * self.page, *rules)
            self.nodes[hit], self.nodes[below] = parts
        return hit

    def donate(self, tokens: Sequence[int], request: Insert, number: int = 1) -> None:
        """Insert what a finished request donates, the `number`-th one."""
        slots = keeping(request.donated, request.previous)
        self.hang(tokens, finished(self.design, self.c, slots, request.key_length), number)

    def hang(self, tokens: Sequence[int], checkpoint: Checkpoint, number: int = 1) -> None:
        """Insert a checkpoint of the `number`-th request, if it was saved."""
        depth = int(node_of(self.design, self.c, checkpoint)) if checkpoint.saved else 0
        if depth:
            key = self.pages(tokens, depth)
            self._hit(key)
            node, keeps = self.nodes.get(key, Node(depth)), current(self.design.node_keeps)
            self.nodes[key] = tree.donated(node, int(checkpoint.state), keeps)
            self.donors[key] = int(keeps(self.donors.get(key, NO_STATE), number))
            self._use(key)

    def _use(self, key: Key) -> None:
        self.used = [*(k for k in self.used if k != key), key]

    def evict_least_recent(self, states: int) -> int:
        """Evict so many states, those first that were not given or donated for longest; how many there were of them."""
        chosen, self.used = self.used[:states], self.used[states:]
        for key in chosen:
            self.evict(key)
        return len(chosen)

    def evict(self, key: Key) -> None:
        """Evict the state of a node."""
        self.nodes[key] = tree.evicted(self.nodes[key], current(self.design.eviction_leaves))

    def path(self, tokens: Sequence[int]) -> tuple[int, list[Node]]:
        """How many tokens of a prompt the tree knows, and the nodes that a match of it comes by, the shallowest first."""
        longest = int(current(self.design.longest_given)(self.page, len(tokens)))
        hit = self._hit(self.pages(tokens, longest))
        nodes = (self.nodes.get(hit[:i]) for i in range(1, len(hit) + 1))
        return len(hit) * self.page, [node for node in nodes if node]

    def match(self, tokens: Sequence[int]) -> dict[str, int | None]:
        """The node and state given to a prompt, and the depth it is told to keep a state at; all in tokens."""
        hit, path = self.path(tokens)
        node = tree.given(path)
        if node.has_state:
            self._use(self.pages(tokens, int(node.depth)))
        grid = int(self.design.grid("extend", self.c))
        point = int(current(self.design.branching_point)(grid, hit))
        told = point if lookup.is_branching_point(point, node.depth) else None
        return {**told_of(node), "branching": told}


def told_of(node: Node) -> dict[str, int | None]:
    """What a follower is given with a node: its depth, and the tokens of its state, None where it has none."""
    return {"node": int(node.depth), "state": int(node.state) if node.has_state else None}


def tokens_of(inserts: Sequence[Insert]) -> list[list[int]]:
    """The tokens of each request of a story: those it shares with the first, then its own."""
    known: list[list[int]] = []
    for number, request in enumerate(inserts):
        shared = known[0][: request.shared] if known else []
        own = range(len(shared), request.key_length)
        known.append([*shared, *((number + 1) * 100_000 + i for i in own)])
    return known


def served(design: Design, c: Any, inserts: Sequence[Insert]) -> Tree:
    """The tree after these requests were matched, computed and finished, one after the other."""
    cache = Tree(design, c)
    for tokens, request in zip(tokens_of(inserts), inserts, strict=True):
        cache.match([*tokens[: request.key_length], 0])
        cache.donate(tokens, request)
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
    told = cache.match([*known[-1][:follower], 0])
    return {"node": told["node"], "state": told["state"], "freed": freed}


def given_among(
    design: Design, c: Any, inserts: Sequence[Insert], follower: int
) -> dict[str, int | None]:
    """What a follower is given when these requests ran side by side and finished in this order.

    `of`: the number of the request, from 1, whose state it is given, None without one; `held`: states on the nodes.
    """
    cache = Tree(design, c)
    for number, (tokens, request) in enumerate(zip(tokens_of(inserts), inserts, strict=True), 1):
        cache.donate(tokens, request, number)
    prompt = follower_tokens(inserts, follower)
    told = cache.match(prompt)
    of = cache.donors[cache.pages(prompt, int(told["node"] or 0))] if told["node"] else None
    return {"node": told["node"], "state": told["state"], "of": of, "held": len(cache.donors)}


def given(
    design: Design, c: Any, inserts: Sequence[Insert], follower: int
) -> dict[str, int | None]:
    """What a follower is given that shares `follower` tokens with the first request and has one of its own."""
    return served(design, c, inserts).match(follower_tokens(inserts, follower))
