"""The step that a speculative verify saves has consumed exactly the depth recorded for it."""

from spec.numbers import both, divides, either, implies, negation, smallest
from spec.sglang.checkpoints import node_of, verify_checkpoint, verify_label
from spec.sglang.guards import interval_covers_draft_tokens
from spec.sglang.rules import grids, slots, verify
from spec.sglang.theorems.library import before, since, theorem
from spec.theorem import Statement


@theorem("verify", least={"pre": 0})
def the_saved_verify_step_has_consumed_exactly_the_recorded_depth(design, c, pre, accepted):
    """A verify that crosses the grid saves one of its accepted steps, whose state is at the recorded depth."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    step = verify.saved_step(design.grid("verify", c), pre, accepted)
    return Statement(
        {"the_verify_crosses_the_grid": checkpoint.saved},
        both(checkpoint.state == checkpoint.recorded, step >= 0, step < accepted),
    )


@theorem("verify", refuted_by=("sglang-0.5.17", "sglang-0.5.18"), least={"pre": 0})
def verify_checkpoint_lands_on_a_node(design, c, pre, accepted):
    """The state that a verify saves has consumed a new depth that the tree can name, on the interval asked for."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    return Statement(
        {"the_verify_crosses_the_grid": checkpoint.saved},
        both(
            divides(grids.tree_page(c), checkpoint.state),
            divides(c.mamba_track_interval, checkpoint.state),
            checkpoint.state > pre,
        ),
    )


@theorem("verify", least={"pre": 0})
def no_depth_on_the_grid_is_passed_unsaved(design, c, pre, accepted, depth):
    """A verify that passes a depth on the track grid saves a state of that depth or a later one."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    return Statement(
        {
            "the_depth_is_on_the_grid": divides(grids.track_grid(c), depth),
            "the_depth_lies_beyond_the_start": depth > pre,
            "the_depth_is_accepted": depth <= pre + accepted,
        },
        both(checkpoint.saved, checkpoint.recorded >= depth, checkpoint.recorded <= pre + accepted),
    )


@theorem("verify", least={"pre": 0, "accepted": 0})
def the_saved_step_is_always_an_accepted_one(design, c, pre, accepted):
    """The saved step is one of the accepted ones whether the grid is crossed or not; if it is crossed, the clamp
    changes nothing."""
    grid = design.grid("verify", c)
    step = verify.saved_step(grid, pre, accepted)
    point = verify.tracking_point(grid, pre, accepted)
    return Statement(
        {"a_token_is_accepted": accepted >= 1},
        both(
            step >= 0,
            step < accepted,
            implies(verify.crosses(grid, pre, accepted), step == point - pre - 1),
        ),
    )


@theorem("verify", least={"pre": 0})
def a_verify_within_the_guard_passes_one_depth_at_most(design, c, pre, accepted, depth):
    """The grid is no finer than the interval, and where that covers the draft tokens, a depth on the grid that a verify
    passes is the one it saves."""
    grid = design.grid("verify", c)
    return Statement(
        {
            "the_interval_covers_the_draft_tokens": interval_covers_draft_tokens(c),
            "no_more_than_the_draft_tokens_are_accepted": accepted
            <= c.speculative_num_draft_tokens,
            "the_depth_is_on_the_grid": divides(grid, depth),
            "the_depth_lies_beyond_the_start": depth > pre,
            "the_depth_is_accepted": depth <= pre + accepted,
        },
        both(
            grid >= c.mamba_track_interval,
            verify_checkpoint(design, c, pre, accepted).recorded == depth,
        ),
    )


# A grammar may retain fewer tokens than the worker accepted: the scheduler labels from those, the worker saves
# from the accepted ones.


@theorem("verify", refuted_by=before("0.5.22"), least={"pre": 0})
def the_label_is_the_saved_depth_where_no_dropped_token_is_on_the_grid(
    design, c, pre, accepted, retained
):
    """Scheduler and worker agree on the checkpoint's depth if no token that a grammar drops is on the grid."""
    saved = verify_checkpoint(design, c, pre, accepted)
    labels, depth = verify_label(design, c, pre, accepted, retained)
    dropped = accepted - retained
    return Statement(
        {
            "no_dropped_token_is_on_the_grid": negation(
                verify.crosses(design.grid("verify", c), pre + retained, dropped)
            )
        },
        both(labels == saved.saved, implies(labels, depth == saved.recorded)),
    )


@theorem("verify", least={"pre": 0})
def a_state_saved_among_dropped_tokens_is_not_labelled(design, c, pre, accepted, retained):
    """If a grammar drops tokens of which one is on the grid, the worker saves a state that the label does not
    name."""
    saved = verify_checkpoint(design, c, pre, accepted)
    labels, depth = verify_label(design, c, pre, accepted, retained)
    grid = design.grid("verify", c)
    return Statement(
        {
            "fewer_are_retained_than_accepted": retained < accepted,
            "a_dropped_token_is_on_the_grid": verify.crosses(
                grid, pre + retained, accepted - retained
            ),
        },
        both(saved.saved, implies(labels, depth < saved.recorded)),
    )


@theorem(
    "verify",
    proved_for="sglang-0.5.21",
    refuted_by=since("0.5.22"),
    least={"pre": 0},
)
def an_old_label_is_repeated_exactly_within_the_dropped_tokens_before_the_start(
    design, c, pre, accepted, retained
):
    """If a verify saves nothing, the label that counts the accepted tokens names a depth before its start exactly
    if one lies there, no farther away than as many tokens as were dropped."""
    grid = design.grid("verify", c)
    labels, depth = verify_label(design, c, pre, accepted, retained)
    dropped = accepted - retained
    return Statement(
        {
            "nothing_is_saved": negation(verify_checkpoint(design, c, pre, accepted).saved),
            "no_more_are_retained_than_accepted": retained <= accepted,
        },
        both(labels == verify.crosses(grid, pre - dropped, dropped), depth <= pre),
    )


# With lazy slots the second one is planned from the committed length, which lags by one verify at most.


@theorem("verify", least={"committed": 0, "pre": 0})
def the_planned_window_covers_every_crossing_one_verify_ahead(design, c, committed, pre, accepted):
    """A verify that crosses the grid and starts at most one verify beyond the committed tokens has a planned slot;
    one that starts two verifies beyond may have none."""
    grid, draft_tokens = design.grid("verify", c), c.speculative_num_draft_tokens
    return Statement(
        {
            "the_start_is_no_less_than_what_is_committed": pre >= committed,
            "the_start_is_at_most_one_verify_ahead": pre <= committed + draft_tokens,
            "no_more_than_the_draft_tokens_are_accepted": accepted <= draft_tokens,
            "the_verify_crosses_the_grid": verify.crosses(grid, pre, accepted),
        },
        slots.a_verify_may_cross(grid, committed, draft_tokens),
    )


@theorem("verify", least={"committed": 0})
def a_second_slot_is_planned_only_if_a_verify_can_cross_the_grid(design, c, committed):
    """If a second slot is planned, some verify that starts at most one verify beyond the committed tokens crosses
    the grid."""
    grid, draft_tokens = design.grid("verify", c), c.speculative_num_draft_tokens
    depth = verify.tracking_point(grid, committed, 2 * draft_tokens)
    pre = smallest(committed + draft_tokens, depth - 1)
    return Statement(
        {"a_slot_is_planned": slots.a_verify_may_cross(grid, committed, draft_tokens)},
        both(
            pre >= committed,
            depth - pre <= draft_tokens,
            verify.crosses(grid, pre, depth - pre),
        ),
    )


@theorem(
    "verify",
    proved_for="sglang-0.5.18+insert-guard",
    refuted_by=("sglang-0.5.18",),
    least={"pre": 0},
)
def with_the_insert_guard_a_verify_is_inserted_at_its_own_depth_or_not_at_all(
    design, c, pre, accepted
):
    """With the insert-time guard, a verify on the raw interval inserts its state at the node of its own depth or at
    none."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    node = node_of(design, c, checkpoint)
    return Statement(
        {"the_verify_crosses_the_grid": checkpoint.saved},
        either(node == 0, node == checkpoint.state),
    )
