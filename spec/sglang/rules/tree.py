"""What the nodes of the radix tree hold: a donation, a split, an eviction, and what a match along a path is given.

Source: SGLang 0.5.17 to 0.5.23, `mem_cache/unified_cache/unified_tree_core.py` (`_match_prefix_helper`, `_split_node`),
`mem_cache/unified_cache/components/mamba.py` (`commit_insert_component_data`, `redistribute_on_node_split`,
`evict_component`, `create_match_validator`; 0.5.17: `mamba_component.py`), in the Rust core the same rules.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from spec.numbers import Number, Truth, choose

NO_STATE = 0  # what a node holds that has no state: a request without one has consumed nothing


@dataclass(frozen=True)
class Node:
    """A node: the depth (tokens) at which its key ends, and the tokens that its state has consumed."""

    depth: Number
    state: Number = NO_STATE

    @property
    def has_state(self) -> Truth:
        """Whether there is a state to be given."""
        return self.state != NO_STATE


ROOT = Node(0)


def donated(node: Node, state: Number) -> Node:
    """The node after a state (tokens consumed) was donated to it: it keeps one that it has."""
    return Node(node.depth, choose(node.has_state, node.state, state))


def split(node: Node, depth: Number) -> tuple[Node, Node]:
    """The new upper part, which ends at `depth` (tokens) and has no state, and the lower one, which keeps its own."""
    return Node(depth), Node(node.depth, node.state)


def evicted(node: Node) -> Node:
    """The node without its state."""
    return Node(node.depth)


def visited(best: Node, node: Node) -> Node:
    """Which node a match gives, the best one so far and the next one of its path being these."""
    return Node(
        choose(node.has_state, node.depth, best.depth),
        choose(node.has_state, node.state, best.state),
    )


def given(path: Iterable[Node]) -> Node:
    """Which node a match of the whole path gives, from the shallowest node on; the root where none has a state."""
    return reduce(visited, path, ROOT)
