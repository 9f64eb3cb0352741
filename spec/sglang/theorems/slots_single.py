"""The only slot of a request without the overlap scheduler, where each result comes before the next launch."""

from spec.numbers import both, choose, divides, implies, negation
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.rules import verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.theorems.slot_invariants import (
    KEEPING_A_STALE_LABEL,
    SINGLE_SLOT,
    boundary_of_verify,
    chunk_hypotheses,
    donates_its_label,
    label_is_true,
    single_invariant,
    slots_theorem,
)
from spec.theorem import Statement


@slots_theorem(SINGLE_SLOT)
def a_prompt_without_overlap_keeps_its_label_true_and_donates_its_own_state(
    design, c, slots, start, completed, wanted, passes, depth, state
):
    """A chunk of a prompt leaves the only slot with the state of its label, and the prompt's result donates that
    state."""
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
    launched = slot_buffer.prompt_launched(design, c, slots, checkpoint)
    after, donated = slot_buffer.prompt_completed(design, c, launched)
    return Statement(
        {
            **chunk_hypotheses(checkpoint, start, completed),
            "the_label_was_true": label_is_true(slots, start),
        },
        both(
            single_invariant(slot_buffer.admitted(c), start),
            single_invariant(launched, completed),
            donated.saved == (launched.label != NO_DEPTH),
            implies(donated.saved, donated.state == donated.recorded),
            after.label == NO_DEPTH,
            single_invariant(after, completed),
        ),
    )


@slots_theorem(SINGLE_SLOT)
def a_step_without_overlap_keeps_its_label_true(design, c, slots, label, completed):
    """A boundary step that is launched and completed before the next launch is labelled in the only slot."""
    launched = slot_buffer.step_launched(design, c, slots, completed + 1)
    after = slot_buffer.step_completed(design, c, launched, completed + 1, 0)
    boundary = divides(design.grid("decode", c), completed + 1)
    return Statement(
        {"the_label_was_true": label_is_true(slots, completed)},
        both(
            single_invariant(after, completed + 1),
            after.label == choose(boundary, completed + 1, label),
        ),
    )


@slots_theorem(SINGLE_SLOT, refuted_by=KEEPING_A_STALE_LABEL)
def a_verify_without_overlap_keeps_its_label_true_if_no_dropped_token_is_on_the_grid(
    design, c, slots, label, pre, accepted, retained
):
    """A verify that is launched and completed before the next launch labels the last depth on the grid that it
    passes, if no token dropped by a grammar is on the grid."""
    grid = design.grid("verify", c)
    planned, entry = slot_buffer.verify_planned(design, c, slots, pre)
    launched = slot_buffer.verify_launched(design, c, planned, entry, pre, accepted)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, retained)
    point = boundary_of_verify(grid, pre, retained)
    return Statement(
        {
            "the_label_was_true": label_is_true(slots, pre),
            "no_dropped_token_is_on_the_grid": negation(
                verify.crosses(grid, pre + retained, accepted - retained)
            ),
        },
        both(
            single_invariant(after, pre + retained),
            after.label == choose(point == NO_DEPTH, label, point),
        ),
    )


@slots_theorem(SINGLE_SLOT)
def a_finish_without_overlap_donates_the_state_of_its_label(
    design, c, slots, label, completed, key
):
    """With a single slot a finish donates the state of its label if the key reaches it, and never an earlier
    state."""
    donated = slot_buffer.finished(design, c, slots, key)
    return Statement(
        {"the_label_was_true": label_is_true(slots, completed)},
        both(
            donated.saved == both(label != NO_DEPTH, label <= key),
            donates_its_label(donated, slots),
        ),
    )
