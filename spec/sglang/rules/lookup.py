"""What a follower is given by the radix tree, and the depth it is told to keep a state of its own at.

Source: SGLang 0.5.17 to 0.5.23, `managers/schedule_batch.py` (`_compute_max_prefix_len`),
`mem_cache/unified_cache/components/mamba.py` (0.5.17: `mamba_component.py`), in the Rust core the same rules.
"""

from spec.numbers import Number, Truth


def longest_given(tree_page: Number, prompt: Number) -> Number:
    """Most tokens that a prompt (tokens) is given: whole tree pages, and never its last token."""
    return (prompt - 1) // tree_page * tree_page


def branching_point(grid: Number, hit: Number) -> Number:
    """Depth (tokens) to keep a state at: the last one on `grid` within the tokens that the tree knows, `hit`."""
    return hit // grid * grid


def is_told(point: Number, node: Number) -> Truth:
    """Whether a follower is told to branch at `point` (tokens): it lies beyond the node whose state is given."""
    return point > node
