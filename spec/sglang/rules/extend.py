"""Which depth an extend donates, which intermediate state it reads for that, and the assertion before the read.

`prefix` and `end` are depths in tokens: the extend computes the tokens from `prefix` up to `end`.
Source: SGLang 0.5.17 to 0.5.23, `managers/schedule_batch.py`
(`_mamba_radix_cache_v2_req_prepare_for_extend`) and `layers/attention/hybrid_linear_attn_backend.py`
(`_init_track_ssm_indices`).
"""

from spec.numbers import Number, Truth, both, choose, divides, implies


def relative_depth(grid: Number, prefix: Number, end: Number) -> Number:
    """Depth donated when the grid is counted from the prefix (up to 0.5.20, and without DCP after)."""
    return prefix + (end - prefix) // grid * grid


def relative_donates(grid: Number, chunk: Number, prefix: Number, end: Number) -> Truth:
    """Whether an extend donates under the relative rule: one grid unit fits; the chunk plays no part."""
    return end - prefix >= grid


def absolute_depth(grid: Number, prefix: Number, end: Number) -> Number:
    """Depth donated when the grid is counted from the start of the sequence (PR 39115, from 0.5.21 under DCP)."""
    return end // grid * grid


def absolute_donates(grid: Number, chunk: Number, prefix: Number, end: Number) -> Truth:
    """Whether an extend donates under the absolute rule: beyond the prefix, by whole cache chunks."""
    depth = absolute_depth(grid, prefix, end)
    return both(depth > prefix, divides(chunk, depth - prefix))


def forces_intermediate(stride: Number, prefix: Number, end: Number, depth: Number) -> Truth:
    """Whether the engine needs a state before the last one; it counts rows every `stride` tokens."""
    return prefix + (end - prefix) // stride * stride != depth


def tracked_length(stride: Number, prefix: Number, end: Number, depth: Number) -> Number:
    """The length handed to the kernel's index function: `end`, or one past the depth to force an earlier row."""
    return choose(forces_intermediate(stride, prefix, end, depth), depth + 1, end)


def keeps_branching_point(chunk: Number, prefix: Number, tracked: Number, point: Number) -> Truth:
    """Whether an extend that donates keeps the state of a branching point (tokens) instead of its usual one."""
    return both(point > prefix, point < tracked, divides(chunk, point - prefix))


def depth_is_on_the_chunk(chunk: Number, prefix: Number, depth: Number) -> Truth:
    """The assertion of 0.5.17 and 0.5.18 before an earlier row is read: on the depth itself."""
    return divides(chunk, depth)


def offset_is_on_the_chunk(chunk: Number, prefix: Number, depth: Number) -> Truth:
    """The assertion from 0.5.19 on before an earlier row is read: on the distance from the prefix."""
    return divides(chunk, depth - prefix)


def assertion_holds(
    assertion, stride: Number, chunk: Number, prefix: Number, end: Number, depth: Number
) -> Truth:
    """Whether the extend gets past its assertion, which guards only reads of an earlier row."""
    forced = forces_intermediate(stride, prefix, end, depth)
    return implies(forced, assertion(chunk, prefix, depth))


def state_depth(
    stride: Number, mamba_chunk_size: Number, prefix: Number, end: Number, tracked: Number
) -> Number:
    """Tokens consumed by the state that is read: the last one, or the row of an intermediate one.

    Kernels write row `r` after `r * mamba_chunk_size` tokens of the extend; the engine divides by `stride`.
    """
    row = (tracked - prefix) // stride
    return choose(divides(stride, tracked - prefix), end, prefix + row * mamba_chunk_size)


def rows_written(stride: Number, tokens: Number) -> Number:
    """Rows of intermediate states of an extend of `tokens` tokens: one every `stride` tokens and one for the rest."""
    return (tokens - 1) // stride + 1


def row_in_batch(stride: Number, before: Number, prefix: Number, tracked: Number) -> Number:
    """The row of a batch's intermediate states that is read, `before` being tokens of the request before it."""
    return rows_written(stride, before) + (tracked - prefix) // stride


def window_depth(chunk: Number, prefix: Number, tracked: Number) -> Number:
    """Tokens up to which the convolution window reaches that is copied beside the state: whole cache chunks."""
    return prefix + (tracked - prefix) // chunk * chunk
