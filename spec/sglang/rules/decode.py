"""When a decode step snapshots, and what that state has consumed.

Source: SGLang 0.5.23, `managers/schedule_batch.py` (`prepare_for_decode`),
`managers/scheduler_components/batch_result_processor.py` (`_handle_finish_state_updated_req`).
"""

from spec.numbers import Number, Truth, divides


def snapshot_step(grid: Number, seq_len: Number) -> Truth:
    """Whether the step that brings a request to `seq_len` tokens writes a snapshot on `grid` (tokens)."""
    return divides(grid, seq_len)


def snapshot_depth(seq_len: Number) -> Number:
    """Tokens consumed by the state that such a step writes: lengths are incremented before the step runs."""
    return seq_len


def next_step_snapshots(grid: Number, seq_len: Number) -> Truth:
    """The mask that a step of `seq_len` tokens hands on for the step after it (`mamba_track_mask_next_cpu`, from 0.5.18)."""
    return seq_len % grid == grid - 1


def completed_length(committed: Number, lookahead: Number) -> Number:
    """Length (tokens) that a result takes its step to have had, of the committed one and the steps ahead (from 0.5.18)."""
    return committed - lookahead
