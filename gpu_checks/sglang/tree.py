"""A radix tree over one sequence of tokens: nodes at whole tree pages, each with at most one state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpu_checks.sglang.request import Donation
from spec.sglang.rules import grids, lookup, tree
from spec.sglang.rules.tree import Node


@dataclass
class Tree:
    """Nodes by their depth (tokens) in one configuration; all requests run the same tokens as far as they go.

    What a node keeps and what a match gives is asked of the rules, which know each donation by its number, from 1.
    """

    c: Any
    nodes: dict[int, Node] = field(default_factory=dict)
    donations: list[Donation] = field(default_factory=list)

    def insert(self, donation: Donation) -> None:
        """Hang a state on its node."""
        self.donations.append(donation)
        node = self.nodes.get(donation.node, Node(donation.node))
        self.nodes[donation.node] = tree.donated(node, len(self.donations))

    def match(self, prompt: int) -> Donation | None:
        """What a prompt of so many tokens is given; None where nothing is."""
        longest = lookup.longest_given(int(grids.tree_page(self.c)), prompt)
        given = tree.given(self.nodes[d] for d in sorted(self.nodes) if d <= longest)
        return self.donations[int(given.state) - 1] if given.has_state else None
