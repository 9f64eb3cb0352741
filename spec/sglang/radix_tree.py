"""The radix tree of a server: what requests donate to it, how nodes split, and what the next request is given.

What a node holds after each event is defined in `rules/tree.py`, how much of a prompt is matched in `rules/lookup.py`;
a design may bring rules of its own for both.  Source: see there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from spec.sglang.checkpoints import Checkpoint, node_of
from spec.sglang.releases import Design, current
from spec.sglang.rules import grids, lookup, tree
from spec.sglang.rules.tree import NO_STATE, Node

Key = tuple[tuple[int, ...], ...]  # the pages of a prefix, each the tuple of its tokens
Payload = TypeVar("Payload")


@dataclass(frozen=True)
class Given(Generic[Payload]):
    """What a prompt is given: the node, the payload that came with its state, and where to keep a state; in tokens.

    `node` is the root where no node of its path has a state; `branching`: the depth at which it is to keep one, if any.
    """

    node: Node
    payload: Payload | None
    branching: int | None


@dataclass
class Tree(Generic[Payload]):
    """The nodes by their path, for one design and configuration.

    `used`: the paths of those with a state, the latest used last; `payloads`: what came with each donation, in order;
    `donors`: the number of the donation, from 1, whose state a node holds.
    """

    design: Design
    c: Any
    nodes: dict[Key, Node] = field(default_factory=dict)
    used: list[Key] = field(default_factory=list)
    payloads: list[Payload | None] = field(default_factory=list)
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
        hit = key[: max((_common(key, node) for node in self.nodes), default=0)]
        if hit and hit not in self.nodes:
            below = min((node for node in self.nodes if node[: len(hit)] == hit), key=len)
            rules = current(self.design.split_above), current(self.design.split_below)
            parts = tree.split(self.nodes[below], len(hit) * self.page, *rules)
            self.nodes[hit], self.nodes[below] = parts
            if below in self.donors:
                self.donors[hit] = self.donors[below]
        return hit

    def insert(
        self, tokens: Sequence[int], depth: int, state: int, payload: Payload | None = None
    ) -> None:
        """Donate a state to the node at `depth`, both in tokens, with anything that is to be given together with it."""
        key = self.pages(tokens, depth)
        self._hit(key)
        node, keeps = self.nodes.get(key, Node(depth)), current(self.design.node_keeps)
        self.payloads.append(payload)
        # Which of the two states a node keeps is asked of the rule by their numbers, too: equal depths tell nothing.
        held = self.donors.get(key, NO_STATE) if node.has_state else NO_STATE
        self.donors[key] = int(keeps(held, len(self.payloads)))
        self.nodes[key] = tree.donated(node, state, keeps)
        self._use(key)

    def insert_checkpoint(
        self, tokens: Sequence[int], checkpoint: Checkpoint, payload: Payload | None = None
    ) -> None:
        """Donate a checkpoint of a request of these tokens, if it was saved and a node can have it."""
        depth = int(node_of(self.design, self.c, checkpoint)) if checkpoint.saved else 0
        if depth:
            self.insert(tokens, depth, int(checkpoint.state), payload)

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
        passed = sorted((key for key in self.nodes if key == hit[: len(key)]), key=len)
        return len(hit) * self.page, [self.nodes[key] for key in passed]

    def match(self, tokens: Sequence[int]) -> Given[Payload]:
        """What a prompt is given."""
        hit, path = self.path(tokens)
        node, payload = tree.given(path), None
        if node.has_state:
            key = self.pages(tokens, int(node.depth))
            self._use(key)
            payload = self.payloads[self.donors[key] - 1] if key in self.donors else None
        point = current(self.design.branching_point)(int(self.design.grid("extend", self.c)), hit)
        keeps_one = lookup.is_branching_point(int(point), node.depth)
        return Given(node, payload, int(point) if keeps_one else None)


def _common(one: Key, other: Key) -> int:
    """Pages with which two keys begin alike."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return next(i for i in range(length) if one[i] != other[i])
