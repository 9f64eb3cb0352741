"""The grids of depths, in tokens, that a configuration gives rise to.

Every function takes a configuration: anything with `page_size` (tokens), `dcp_size` (ranks),
`mamba_chunk_size` (tokens) and `mamba_track_interval` (tokens).
Source: SGLang 0.5.23, `runtime_context.py`, `arg_groups/overrides.py`, `mem_cache/kv_cache_builder.py`.
"""

from spec.numbers import Number, gcd, largest, lcm


def tree_page(c) -> Number:
    """Tokens a node of the radix tree is a multiple of: decode context parallelism widens the page."""
    return c.page_size * c.dcp_size


def model_chunk(c) -> Number:
    """Tokens between the rows of intermediate states as the model's kernels write them."""
    return c.mamba_chunk_size


def cache_chunk_size(c) -> Number:
    """Tokens between depths that the engine caches at: the model's chunk or the page, whichever is larger."""
    return largest(c.mamba_chunk_size, c.page_size)


def checkpoint_grid(c) -> Number:
    """Tokens between depths that an extend may donate (from 0.5.18, PR 34808)."""
    return lcm(cache_chunk_size(c), tree_page(c))


def track_grid(c) -> Number:
    """Tokens between depths that decode and verify may donate (from 0.5.19, PR 35412)."""
    return lcm(checkpoint_grid(c), c.mamba_track_interval)


def track_interval(c) -> Number:
    """Tokens between decode snapshots as the operator asked for them, whatever the tree can name (up to 0.5.18)."""
    return c.mamba_track_interval


def period(c, grid: Number) -> Number:
    """Of how many successive checkpoints on `grid` (tokens) exactly one lies on a node; 1 when all do."""
    return tree_page(c) // gcd(grid, tree_page(c))
