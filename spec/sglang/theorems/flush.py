"""Snapshot steps are nested in flush steps, and the two sets are one exactly when the grids are equal."""

from spec.sglang.rules import decode, flush, grids
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
