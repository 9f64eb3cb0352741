"""How much of a prompt the radix tree matches, and the branching point at which the request keeps a state.

Source: SGLang 0.5.17 to 0.5.23, `managers/schedule_batch.py` (`_compute_max_prefix_len`),
`mem_cache/unified_cache/components/mamba.py` (0.5.17: `mamba_component.py`), in the Rust core the same rules.
"""

from spec.numbers import Number, Truth


def longest_given(tree_page: Number, prompt: Number) -> Number:
    """The most tokens of a prompt (tokens) that can be matched: whole tree pages, and never its last token."""
    return (prompt - 1) // tree_page * tree_page


def branching_point(grid: Number, hit: Number) -> Number:
    """Depth (tokens) to keep a state at: the last one on `grid` within the tokens that the tree knows, `hit`."""
    return hit // grid * grid


def is_branching_point(point: Number, node: Number) -> Truth:
    """Whether a request keeps a state at `point` (tokens): only beyond the node whose state it was given."""
    return point > node
