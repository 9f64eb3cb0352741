"""Each boundary of a decode has to swap the ping-pong slots exactly once, or a later snapshot overwrites the kept one.

`earlier` and `own` are the lookaheads (steps) of the result before the boundary and of the boundary's own result.
"""

from spec.numbers import both, divides, negation
from spec.sglang.designs import current
from spec.sglang.rules import grids, slots
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement

RELEASES_THAT_FOLLOW_THE_LOOKAHEAD = tuple(f"sglang-0.5.{n}" for n in range(18, 24))


def _boundary(design, c, seq_len):
    grid = design.grid("decode", c)
    return {"a_snapshot_is_taken": divides(grid, seq_len), "the_grid_is_above_one_token": grid > 1}


@theorem(
    "slots",
    proved_for="sglang-0.5.23+completed-swap",
    refuted_by=RELEASES_THAT_FOLLOW_THE_LOOKAHEAD,
    least={"earlier": 0, "own": 0},
)
def a_boundary_swaps_the_slots_exactly_once(design, c, seq_len, earlier, own):
    """Whatever was launched ahead of either, one and only one of the two results around a boundary swaps the slots."""
    grid, swaps = design.grid("decode", c), current(design.swap)
    return Statement(
        _boundary(design, c, seq_len),
        swaps(grid, seq_len - 1, earlier) != swaps(grid, seq_len, own),
    )


@theorem("slots", least={"earlier": 0, "own": 0})
def a_swap_that_follows_the_lookahead_is_single_if_the_lookahead_stays(
    design, c, seq_len, earlier, own
):
    """The released rule swaps exactly once where both results around a boundary had the same lookahead."""
    grid = grids.track_grid(c)
    return Statement(
        {
            "a_snapshot_is_taken": divides(grid, seq_len),
            "the_grid_is_above_one_token": grid > 1,
            "the_lookahead_stays": (earlier == 0) == (own == 0),
        },
        slots.swap_follows_the_lookahead(grid, seq_len - 1, earlier)
        != slots.swap_follows_the_lookahead(grid, seq_len, own),
    )


@theorem("slots", least={"earlier": 0, "own": 0})
def a_swap_that_follows_the_lookahead_happens_twice_if_a_step_ahead_is_lost(
    design, c, seq_len, earlier, own
):
    """Where a step was launched ahead of the result before a boundary and none ahead of its own, both swap."""
    grid = grids.track_grid(c)
    return Statement(
        {
            "a_snapshot_is_taken": divides(grid, seq_len),
            "a_step_was_ahead_of_the_earlier_result": earlier == 1,
            "no_step_was_ahead_of_its_own": own == 0,
        },
        both(
            slots.swap_follows_the_lookahead(grid, seq_len - 1, earlier),
            slots.swap_follows_the_lookahead(grid, seq_len, own),
        ),
    )


@theorem("slots", least={"earlier": 0, "own": 0})
def a_swap_that_follows_the_lookahead_never_happens_if_a_step_ahead_is_won(
    design, c, seq_len, earlier, own
):
    """Where none was launched ahead of the result before a boundary and one ahead of its own, neither swaps."""
    grid = grids.track_grid(c)
    return Statement(
        {
            "a_snapshot_is_taken": divides(grid, seq_len),
            "the_grid_is_above_one_token": grid > 1,
            "no_step_was_ahead_of_the_earlier_result": earlier == 0,
            "a_step_was_ahead_of_its_own": own == 1,
        },
        both(
            negation(slots.swap_follows_the_lookahead(grid, seq_len - 1, earlier)),
            negation(slots.swap_follows_the_lookahead(grid, seq_len, own)),
        ),
    )
