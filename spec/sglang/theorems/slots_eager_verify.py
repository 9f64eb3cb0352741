"""Eager slots under verifies, with the overlap scheduler: right as long as no two verifies in a row cross the grid."""

from spec.numbers import both, choose, either, implies, negation
from spec.sglang import slot_buffer
from spec.sglang.rules import verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.theorems.library import theorem
from spec.sglang.theorems.slot_invariants import (
    EAGER_SLOTS,
    KEEPING_A_STALE_LABEL,
    boundary_of_verify,
    eager_invariant,
    no_two_cross,
    slots_theorem,
)
from spec.theorem import Statement


@theorem("slots", least={"pre": 0})
def two_verifies_within_the_grid_cross_it_at_most_once(design, c, pre, first, second):
    """Of two successive verifies that together accept no more tokens than the grid, at most one crosses the grid."""
    grid = design.grid("verify", c)
    return Statement(
        {"both_accept_at_most_the_grid": first + second <= grid},
        negation(both(verify.crosses(grid, pre, first), verify.crosses(grid, pre + first, second))),
    )


@slots_theorem(EAGER_SLOTS)
def an_overlapped_verify_keeps_the_label_true_unless_two_in_a_row_cross_the_grid(
    design, c, slots, label, kept, pre, accepted, following
):
    """With a verify in flight or none, launching another verify and processing the result leave the label with its
    own state; a boundary that was passed is labelled, and the label before it is remembered, with its state in the
    other slot."""
    grid, end = design.grid("verify", c), pre + accepted
    planned, entry = slot_buffer.verify_planned(design, c, slots, pre)
    launched = slot_buffer.verify_launched(design, c, planned, entry, end, following)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, accepted)
    passed = boundary_of_verify(grid, pre, accepted)
    return Statement(
        {
            "no_two_in_a_row_cross": no_two_cross(grid, pre, accepted, following),
            "the_invariant_held": eager_invariant(slots, pre, passed, slots.next),
        },
        both(
            after.label == choose(passed == NO_DEPTH, label, passed),
            implies(
                passed != NO_DEPTH,
                both(
                    after.previous == label,
                    after.state(slot_buffer.other(c, after.kept)) == kept,
                ),
            ),
            eager_invariant(after, end, boundary_of_verify(grid, end, following), entry),
        ),
    )


@slots_theorem(EAGER_SLOTS, refuted_by=KEEPING_A_STALE_LABEL)
def a_verify_that_finishes_donates_a_labelled_state_unless_two_in_a_row_cross_the_grid(
    design, c, slots, label, pre, accepted, following, retained, key
):
    """A request whose last result is that of a verify, with another one in flight or not, donates the state of its
    label, or of the label before if the key is shorter, also if a grammar keeps fewer tokens than were accepted."""
    grid, end = design.grid("verify", c), pre + accepted
    entry = slots.next
    launched = slot_buffer.verify_launched(design, c, slots, entry, end, following)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, retained, True)
    donated = slot_buffer.finished(design, c, after, key)
    passed = boundary_of_verify(grid, pre, retained)
    return Statement(
        {
            "no_two_in_a_row_cross": no_two_cross(grid, pre, accepted, following),
            "a_verify_is_within_the_grid": accepted <= grid,
            "no_more_is_kept_than_accepted": retained <= accepted,
            "the_key_reaches_its_start": pre <= key,
            "the_invariant_held": eager_invariant(
                slots, pre, boundary_of_verify(grid, pre, accepted), slots.next
            ),
        },
        both(
            donated.saved == either(label != NO_DEPTH, both(passed != NO_DEPTH, passed <= key)),
            implies(donated.saved, both(donated.state == donated.recorded, donated.state <= key)),
        ),
    )
