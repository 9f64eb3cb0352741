"""Each boundary of a decode has to swap the ping-pong slots exactly once, or a later snapshot overwrites the kept one.

`earlier` and `own` are the lookaheads (steps) of the result before the boundary and of the boundary's own result.
"""

from spec.numbers import both, divides
from spec.sglang.releases import current
from spec.sglang.rules import grids, slots
from spec.sglang.theorems.library import COMPLETED_SWAP, since, theorem
from spec.theorem import Statement


def _boundary(design, c, seq_len):
    grid = design.grid("decode", c)
    return {"a_snapshot_is_taken": divides(grid, seq_len), "the_grid_is_above_one_token": grid > 1}


@theorem(
    "slots",
    proved_for=COMPLETED_SWAP,
    refuted_by=since("0.5.18"),
    least={"earlier": 0, "own": 0},
)
def a_boundary_swaps_the_slots_exactly_once(design, c, seq_len, earlier, own):
    """Whatever was launched ahead, exactly one of the two results around a boundary swaps the slots."""
    grid, swaps = design.grid("decode", c), current(design.swap)
    return Statement(
        _boundary(design, c, seq_len),
        swaps(grid, seq_len - 1, earlier) != swaps(grid, seq_len, own),
    )


@theorem("slots", least={"earlier": 0, "own": 0})
def a_swap_by_the_lookahead_happens_once_exactly_if_the_lookahead_is_unchanged(
    design, c, seq_len, earlier, own
):
    """Under the released rule the result before a boundary swaps if a step was launched ahead of it, and the
    boundary's own result swaps if none was: both swap if the lookahead falls from 1 to 0 in between, neither if it
    rises from 0 to 1."""
    grid, swaps = grids.track_grid(c), slots.swap_follows_the_lookahead
    return Statement(
        {
            "a_snapshot_is_taken": divides(grid, seq_len),
            "the_grid_is_above_one_token": grid > 1,
        },
        both(
            swaps(grid, seq_len - 1, earlier) == (earlier != 0),
            swaps(grid, seq_len, own) == (own == 0),
        ),
    )
