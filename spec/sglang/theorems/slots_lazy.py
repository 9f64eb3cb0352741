"""Lazy slots under decode steps: a second slot is allocated at a boundary and freed behind it."""

from dataclasses import replace

from spec.numbers import both, choose, divides, either, implies, negation
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.theorems.library import before
from spec.sglang.theorems.slot_invariants import (
    ANY_LAZY_SLOTS,
    KEEPING_A_STALE_LABEL,
    LAZY_SLOTS,
    MOST_OUTSTANDING,
    boundary_after_launch,
    boundary_after_result,
    boundary_is_ahead,
    chunk_hypotheses,
    donates_its_label,
    label_is_true,
    launch_hypotheses,
    lazy_invariant,
    result_hypotheses,
    slots_theorem,
)
from spec.theorem import Statement


@slots_theorem(LAZY_SLOTS)
def a_prompts_launch_keeps_the_lazy_invariant(
    design, c, slots, start, completed, wanted, passes, depth, state
):
    """A new lazy request holds one slot, which is both the kept and the next one; a chunk of its prompt preserves
    that and leaves the label, if any, true."""
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
    after = slot_buffer.prompt_launched(design, c, slots, checkpoint)
    return Statement(
        {
            **chunk_hypotheses(checkpoint, start, completed),
            "the_invariant_held": lazy_invariant(slots, start, NO_DEPTH),
        },
        both(
            lazy_invariant(slot_buffer.admitted(c), start, NO_DEPTH),
            lazy_invariant(after, completed, NO_DEPTH),
        ),
    )


@slots_theorem(LAZY_SLOTS, refuted_by=KEEPING_A_STALE_LABEL)
def a_launch_of_a_lazy_step_keeps_the_invariant(
    design, c, slots, label, completed, ahead, boundary, fails
):
    """Launching a boundary step takes a second slot or, if none can be had, drops the label of the state that it
    overwrites."""
    grid, end = design.grid("decode", c), completed + ahead + 1
    after = slot_buffer.step_launched(design, c, slots, end, fails != 0)
    in_flight_then = boundary_after_launch(boundary, grid, end)
    return Statement(
        {
            **launch_hypotheses(design, c, boundary, completed, ahead),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            either(boundary == NO_DEPTH, in_flight_then == boundary),
            boundary_is_ahead(design, c, in_flight_then, completed, ahead + 1),
            after.label == choose(both(fails != 0, divides(grid, end)), NO_DEPTH, label),
            lazy_invariant(after, completed, in_flight_then),
        ),
    )


@slots_theorem(LAZY_SLOTS, refuted_by=before("0.5.23"))
def a_launch_of_a_lazy_step_in_a_mixed_batch_keeps_the_invariant(
    design, c, slots, label, completed, ahead, boundary, fails
):
    """A second slot taken for a boundary step in a mixed batch, which writes nothing into it, is given back: the
    slots are as before, except that the label is dropped if no slot could be had."""
    grid, end = design.grid("decode", c), completed + ahead + 1
    after = slot_buffer.mixed_launched(design, c, slots, end, fails != 0)
    same = both(
        after.next == slots.next,
        after.kept == slots.kept,
        after.first == slots.first,
        after.second == slots.second,
    )
    return Statement(
        {
            **launch_hypotheses(design, c, boundary, completed, ahead),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            same,
            after.label == choose(both(fails != 0, divides(grid, end)), NO_DEPTH, label),
            lazy_invariant(after, completed, boundary),
        ),
    )


@slots_theorem(LAZY_SLOTS)
def a_result_of_a_lazy_step_keeps_the_invariant(
    design, c, slots, completed, ahead, boundary, finishes, mixed
):
    """Processing a result labels the slot that a boundary was written to and frees the other slot; only a request
    that finishes may lose its donation."""
    grid, end = design.grid("decode", c), completed + 1
    after = slot_buffer.step_completed(design, c, slots, end, ahead, finishes != 0, mixed != 0)
    in_flight_then = boundary_after_result(boundary, end)
    return Statement(
        {
            **result_hypotheses(design, c, boundary, completed, ahead),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            boundary_is_ahead(design, c, in_flight_then, end, ahead),
            implies(divides(grid, end), after.label == end),
            implies(finishes == 0, after.donates),
            lazy_invariant(after, end, in_flight_then),
        ),
    )


@slots_theorem(LAZY_SLOTS)
def a_prompts_result_keeps_the_lazy_invariant_and_donates_its_own_state(
    design, c, slots, label, completed, boundary
):
    """The result of a lazy prompt donates the state of its label, whether a first step is in flight or not."""
    after, donated = slot_buffer.prompt_completed(design, c, slots)
    return Statement(
        {
            "the_boundary_is_beyond_the_prompt": either(boundary == NO_DEPTH, boundary > completed),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            donated.saved == (label != NO_DEPTH),
            donates_its_label(donated, slots),
            after.label == NO_DEPTH,
            lazy_invariant(after, completed, boundary),
        ),
    )


@slots_theorem(ANY_LAZY_SLOTS)
def a_lazy_finish_donates_the_state_of_its_label(design, c, held, label, donates, completed, key):
    """A lazy request that finishes after a prompt or a step donates the state of its label, or nothing."""
    slots = replace(held, donates=donates != 0)
    donated = slot_buffer.finished(design, c, slots, key)
    return Statement(
        {"the_label_is_true": label_is_true(slots, completed)},
        donates_its_label(donated, slots),
    )


@slots_theorem(LAZY_SLOTS)
def a_lazy_step_that_finishes_off_a_boundary_donates_its_label(
    design, c, slots, label, completed, ahead, mixed, key
):
    """A lazy request whose last step is not a boundary donates its label, whether a boundary is in flight or not."""
    grid, following = design.grid("decode", c), completed + 2
    after = slot_buffer.step_completed(design, c, slots, completed + 1, ahead, True, mixed != 0)
    donated = slot_buffer.finished(design, c, after, key)
    in_flight_then = both(ahead != 0, mixed == 0, divides(grid, following))
    boundary = choose(in_flight_then, following, NO_DEPTH)
    return Statement(
        {
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
            "the_step_is_no_boundary": negation(divides(grid, completed + 1)),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(donated.saved, donated.recorded == label, donated.state == label),
    )


@slots_theorem(LAZY_SLOTS)
def a_lazy_step_that_finishes_on_a_boundary_donates_it(design, c, slots, seq_len, ahead, key):
    """A lazy request whose last step is a boundary within its key donates under the depth of that boundary."""
    after = slot_buffer.step_completed(design, c, slots, seq_len, ahead, True)
    donated = slot_buffer.finished(design, c, after, key)
    return Statement(
        {
            "the_step_is_a_boundary": divides(design.grid("decode", c), seq_len),
            "the_key_reaches_it": seq_len <= key,
        },
        both(donated.saved, donated.recorded == seq_len),
    )


@slots_theorem(LAZY_SLOTS, proved_for="sglang-0.5.21")
def a_stale_lazy_label_is_not_donated(design, c, slots, second, completed, ahead, boundary, key):
    """0.5.21 keeps the label of a state that a boundary in flight overwrites, but a finish donates nothing under
    that label."""
    end = completed + 1
    forgetful = replace(slots, label=NO_DEPTH)
    overwritten = both(second == 0, boundary != NO_DEPTH)
    after = slot_buffer.step_completed(design, c, slots, end, ahead, True)
    donated = slot_buffer.finished(design, c, after, key)
    return Statement(
        {
            **result_hypotheses(design, c, boundary, completed, ahead),
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "the_key_reaches_the_label": after.label <= key,
            "the_label_is_true_or_overwritten": either(
                label_is_true(slots, completed), overwritten
            ),
            "the_rest_of_the_invariant_held": lazy_invariant(forgetful, completed, boundary),
        },
        implies(donated.saved, donated.state == donated.recorded),
    )
