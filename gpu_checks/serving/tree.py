"""A radix tree over one sequence of tokens: nodes at whole tree pages, each with at most one state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpu_checks.serving.request import Donation
from spec.sglang.rules import grids, lookup


@dataclass
class Tree:
    """Nodes by their depth (tokens) in one configuration; all requests run the same tokens as far as they go."""

    c: Any
    nodes: dict[int, Donation] = field(default_factory=dict)

    def insert(self, donation: Donation) -> None:
        """Hang a state on its node; a node that has a state keeps it."""
        self.nodes.setdefault(donation.node, donation)

    def match(self, prompt: int) -> Donation | None:
        """What a prompt of so many tokens is given: what hangs on the deepest node; None where nothing does."""
        longest = lookup.longest_given(int(grids.tree_page(self.c)), prompt)
        node = max((depth for depth in self.nodes if depth <= longest), default=0)
        return self.nodes.get(node)
