"""What the nodes of the radix tree hold after an insertion, a split and an eviction, and what a match returns.

Source: SGLang 0.5.17 to 0.5.23, `mem_cache/unified_cache/unified_tree_core.py` (`_match_prefix_helper`, `_split_node`),
`mem_cache/unified_cache/components/mamba.py` (`commit_insert_component_data`, `redistribute_on_node_split`,
`evict_component`, `create_match_validator`; 0.5.17: `mamba_component.py`), in the Rust core the same rules.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from spec.numbers import Number, Truth, choose

Rule = Callable[..., Number]
NO_STATE = 0  # what a node holds that has no state: a request without one has consumed nothing


@dataclass(frozen=True)
class Node:
    """A node: the depth (tokens) at which its key ends, and the tokens that its state has consumed."""

    depth: Number
    state: Number = NO_STATE

    @property
    def has_state(self) -> Truth:
        """Whether there is a state that a match can return."""
        return self.state != NO_STATE


ROOT = Node(0)


def kept(held: Number, state: Number) -> Number:
    """What a node that holds a state (0: none) holds after another one was donated to it; both tokens consumed."""
    return choose(held != NO_STATE, held, state)


def left_above(depth: Number, state: Number, at: Number) -> Number:
    """The state of the upper part of a node of `depth` tokens that is split at `at`."""
    return NO_STATE


def left_below(depth: Number, state: Number, at: Number) -> Number:
    """The state of the lower part of such a node."""
    return state


def left_evicted(state: Number) -> Number:
    """What a node whose state is evicted holds then."""
    return NO_STATE


def donated(node: Node, state: Number, keeps: Rule = kept) -> Node:
    """The node after a state (tokens consumed) was donated to it."""
    return Node(node.depth, keeps(node.state, state))


def split(
    node: Node, depth: Number, above: Rule = left_above, below: Rule = left_below
) -> tuple[Node, Node]:
    """The new upper part, which ends at `depth` (tokens), and the lower one, which ends where the node did."""
    return (
        Node(depth, above(node.depth, node.state, depth)),
        Node(node.depth, below(node.depth, node.state, depth)),
    )


def evicted(node: Node, leaves: Rule = left_evicted) -> Node:
    """The node after its state was evicted."""
    return Node(node.depth, leaves(node.state))


def visited(best: Node, node: Node) -> Node:
    """The node that a match returns so far, given the best node before and the next node of its path."""
    return Node(
        choose(node.has_state, node.depth, best.depth),
        choose(node.has_state, node.state, best.state),
    )


def given(path: Iterable[Node]) -> Node:
    """The node that a match of a path returns, the path from its shallowest node on; the root if none has a state."""
    return reduce(visited, path, ROOT)
