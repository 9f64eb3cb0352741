"""A radix tree of recurrent states reduced to counting: donations, splits, and what a follower is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from spec.sglang.designs import Design, current
from spec.sglang.rules import grids, insert, lookup, slots

Key = tuple[tuple[int, ...], ...]  # the pages of a prefix, each the tuple of its tokens
NO_DEPTH = slots.NO_DEPTH


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
    """Nodes by their path, each with the tokens its state has consumed or None; for one design and configuration."""

    design: Design
    c: Any
    nodes: dict[Key, int | None] = field(default_factory=dict)

    def _pages(self, tokens: Sequence[int], length: int) -> Key:
        page = int(grids.tree_page(self.c))
        return tuple(tuple(tokens[i * page : (i + 1) * page]) for i in range(length // page))

    def _hit(self, key: Key) -> Key:
        """The longest prefix of a key that the tree knows; where it ends inside a node, that node is split."""
        known = {node[:i] for node in self.nodes for i in range(len(node) + 1)} | {()}
        hit = max((key[:i] for i in range(len(key) + 1) if key[:i] in known), key=len)
        if hit:
            self.nodes.setdefault(hit, None)
        return hit

    def donate(self, tokens: Sequence[int], request: Insert) -> None:
        """Insert what a finished request donates; a node that has a state keeps it."""
        label, previous = request.donated, request.previous
        depth, state = slots.label_cut_to_the_key(request.key_length, label), label
        if self.design.fallback_slot:
            depth = state = slots.label_within_the_key(request.key_length, label, previous)
        page = grids.tree_page(self.c)
        if not current(self.design.insert_guard)(page, state):
            return
        key = self._pages(tokens, int(insert.node_depth(page, request.key_length, depth)))
        if key:
            self._hit(key)
            self.nodes[key] = self.nodes.get(key) or int(state)

    def match(self, tokens: Sequence[int]) -> dict[str, int | None]:
        """The node and state given to a prompt, and the depth it is told to keep a state at; all in tokens."""
        page = int(grids.tree_page(self.c))
        # A prompt's last token is never matched.
        hit = self._hit(self._pages(tokens, int(lookup.longest_given(page, len(tokens)))))
        held = [hit[:i] for i in range(1, len(hit) + 1) if self.nodes.get(hit[:i])]
        node = held[-1] if held else ()
        grid = int(self.design.grid("extend", self.c))
        branching = int(lookup.branching_point(grid, len(hit) * page))
        return {
            "node": len(node) * page,
            "state": self.nodes[node] if node else None,
            "branching": branching if lookup.is_told(branching, len(node) * page) else None,
        }


def tokens_of(inserts: Sequence[Insert]) -> list[list[int]]:
    """The tokens of each request of a story: those it shares with the first, then its own."""
    known: list[list[int]] = []
    for number, request in enumerate(inserts):
        shared = known[0][: request.shared] if known else []
        own = range(len(shared), request.key_length)
        known.append([*shared, *((number + 1) * 100_000 + i for i in own)])
    return known


def given(
    design: Design, c: Any, inserts: Sequence[Insert], follower: int
) -> dict[str, int | None]:
    """What a follower is given that shares `follower` tokens with the first request and has one of its own."""
    tree, known = Tree(design, c), tokens_of(inserts)
    for tokens, request in zip(known, inserts, strict=True):
        tree.match([*tokens[: request.key_length], 0])
        tree.donate(tokens, request)
    return tree.match([*known[0][:follower], 0])
