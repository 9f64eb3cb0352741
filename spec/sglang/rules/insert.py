"""Under which node of the radix tree a donated state is inserted.

Source: SGLang 0.5.23, `mem_cache/unified_radix_cache.py`, `mem_cache/unified_cache/components/mamba.py`.
"""

from spec.numbers import Number, Truth, divides, smallest


def node_depth(tree_page: Number, key_length: Number, donated: Number) -> Number:
    """Depth of the node, in tokens: the key is cut to the donated length and then to whole tree pages; 0: no node."""
    return smallest(key_length, donated) // tree_page * tree_page


def accepts_any_depth(tree_page: Number, depth: Number) -> Truth:
    """No release checks a state's depth when it is inserted."""
    return depth >= 0


def depth_has_a_node(tree_page: Number, depth: Number) -> Truth:
    """The proposed insert-time guard (PRs 34760, 34780, 39209, none merged): refuse a depth that no node can have."""
    return divides(tree_page, depth)
