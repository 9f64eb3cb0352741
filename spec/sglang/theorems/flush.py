"""Snapshot steps are nested in flush steps and in window steps, and the sets are one exactly when the grids are equal."""

from spec.numbers import both, divides, negation
from spec.sglang import checkpoints
from spec.sglang.checkpoints import decode_checkpoint, flushed_checkpoint, verify_checkpoint
from spec.sglang.rules import decode, flush, grids, verify
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("flush")
def every_snapshot_step_is_a_flush_step(design, c, seq_len):
    """Each decode step that takes a snapshot also flushes the pending inputs into the state."""
    return Statement(
        {"a_snapshot_is_taken": decode.snapshot_step(design.grid("decode", c), seq_len)},
        flush.flush_step(design.grid("flush", c), seq_len),
    )


@theorem("flush")
def equal_grids_make_every_flush_step_a_snapshot_step(design, c, seq_len):
    """Where the track grid equals the interval, flush steps and snapshot steps are the same steps."""
    return Statement(
        {
            "the_grids_are_equal": grids.track_grid(c) == c.mamba_track_interval,
            "a_flush_happens": flush.flush_step(c.mamba_track_interval, seq_len),
        },
        decode.snapshot_step(grids.track_grid(c), seq_len),
    )


@theorem("flush")
def only_equal_grids_make_every_flush_step_a_snapshot_step(design, c):
    """Where even the first flush step takes a snapshot, the track grid equals the interval."""
    first_flush = c.mamba_track_interval
    return Statement(
        {
            "the_first_flush_step_is_a_snapshot_step": decode.snapshot_step(
                grids.track_grid(c), first_flush
            )
        },
        grids.track_grid(c) == c.mamba_track_interval,
    )


# What the flushed state has consumed.


@theorem("flush")
def a_checkpoint_of_the_flushed_state_is_at_its_recorded_depth(design, c, seq_len):
    """A snapshot that copies the state as of the last flush copies one that has consumed its own depth, which is the one
    recorded."""
    checkpoint = flushed_checkpoint(design, c, seq_len)
    return Statement(
        {"a_snapshot_is_taken": checkpoint.saved},
        both(checkpoint.state == checkpoint.recorded, checkpoint.recorded == seq_len),
    )


@theorem("flush")
def a_flush_off_the_snapshots_updates_the_state_and_writes_no_checkpoint(design, c, k, seq_len):
    """At a multiple of the interval that is off the grid of the snapshots, the state is flushed up to that very depth
    and no checkpoint is written."""
    checkpoint = checkpoints.flushed_checkpoint(design, c, seq_len)
    return Statement(
        {
            "it_is_the_k_th_multiple_of_the_interval": seq_len == k * grids.track_interval(c),
            "it_is_off_the_grid_of_the_snapshots": negation(
                divides(design.grid("decode", c), seq_len)
            ),
        },
        both(
            flush.flush_step(design.grid("flush", c), seq_len),
            checkpoint.state == seq_len,
            negation(checkpoint.saved),
        ),
    )


@theorem("flush")
def any_other_flush_grid_leaves_the_first_snapshot_behind(design, c, grid):
    """If a flush grid does not divide the grid of the snapshots, the first snapshot is taken without a flush and
    lacks the tokens since the last flush."""
    first = design.grid("decode", c)
    return Statement(
        {"it_does_not_divide_the_grid_of_the_snapshots": negation(divides(grid, first))},
        both(
            decode_checkpoint(design, c, first).saved,
            negation(flush.flush_step(grid, first)),
            first - flush.flushed_depth(grid, first) == first % grid,
        ),
    )


# The convolution window that Inkling's draft extend writes.


@theorem("flush", least={"pre": 0})
def a_window_is_written_wherever_a_state_is_saved(design, c, pre, accepted):
    """A verify that saves a state also passes a boundary of the windows, so that none lacks its window."""
    return Statement(
        {"a_state_is_saved": verify_checkpoint(design, c, pre, accepted).saved},
        verify.crosses(design.grid("window", c), pre, accepted),
    )


@theorem("flush", least={"pre": 0})
def equal_grids_save_a_state_wherever_a_window_is_written(design, c, pre, accepted):
    """Where the track grid equals the interval, each window is written beside a state one token further on."""
    window, checkpoint = design.grid("window", c), verify_checkpoint(design, c, pre, accepted)
    return Statement(
        {
            "the_grids_are_equal": grids.track_grid(c) == window,
            "a_window_is_written": verify.crosses(window, pre, accepted),
        },
        both(
            checkpoint.saved,
            verify.window_end(window, pre, accepted) + 1 == checkpoint.state,
        ),
    )


@theorem("flush")
def only_equal_grids_save_a_state_wherever_a_window_is_written(design, c):
    """Where even a verify of one token that reaches the first window boundary saves a state, the grids are equal."""
    window = design.grid("window", c)
    return Statement(
        {"the_first_window_has_a_state": verify_checkpoint(design, c, window - 1, 1).saved},
        design.grid("verify", c) == window,
    )


@theorem("flush")
def the_flushed_state_is_that_of_the_last_flush_step(design, c, seq_len, step):
    """The state as of the last flush is that of a flush step, and of no earlier flush step than the last one
    passed."""
    grid, state = design.grid("flush", c), flushed_checkpoint(design, c, seq_len).state
    return Statement(
        {"a_step_flushes": flush.flush_step(grid, step), "the_step_has_passed": step <= seq_len},
        both(step <= state, state <= seq_len, flush.flush_step(grid, state)),
    )
