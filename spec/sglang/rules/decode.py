"""When a decode step snapshots, and what that state has consumed.

Source: SGLang 0.5.23, `managers/schedule_batch.py` (`prepare_for_decode`).
"""

from spec.numbers import Number, Truth, divides


def snapshot_step(grid: Number, seq_len: Number) -> Truth:
    """Whether the step that brings a request to `seq_len` tokens writes a snapshot on `grid` (tokens)."""
    return divides(grid, seq_len)


def snapshot_depth(seq_len: Number) -> Number:
    """Tokens consumed by the state that such a step writes: lengths are incremented before the step runs."""
    return seq_len
