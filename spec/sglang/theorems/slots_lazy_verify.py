"""Lazy slots under verifies: a second slot is planned where a verify may cross the grid; behind it one slot is held.

The slots are those between two events: the next entry is the kept one, and a second slot, where one is held, was planned
for a verify, whether that has written it or not.  Lengths and states are tokens.
"""

from __future__ import annotations

from typing import Any

from spec.numbers import Number, Truth, both, choose, divides, either, implies, negation
from spec.sglang import slot_buffer
from spec.sglang.rules import slots as rules
from spec.sglang.rules import verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.slot_buffer import NO_SLOT, Slots
from spec.sglang.theorems.slot_invariants import (
    BETWEEN_VERIFIES,
    KEEPING_A_STALE_LABEL,
    boundary_of_verify,
    donates_its_label,
    label_is_true,
    no_two_cross,
    slots_theorem,
)
from spec.theorem import Statement


def planned_for(slots: Slots, planned: Number) -> Number:
    """The entry that a verify was planned for: the next one where `planned` is 0, else the other one."""
    return choose(planned == 0, slots.next, 1 - slots.next)


def lazy_verify_invariant(
    slots: Slots, entry: Number, grid: Number, pre: Number, accepted: Number
) -> Truth:
    """What holds of lazy slots while a verify from `pre` is in flight, planned for `entry`, or none, which accepts 0.

    A boundary that it passes is in its entry, and where that is the kept one no label names it.
    """
    boundary = boundary_of_verify(grid, pre, accepted)
    written = slots.state(entry) == boundary
    unlabelled = either(entry != slots.next, slots.label == NO_DEPTH)
    return both(
        label_is_true(slots, pre),
        slots.previous == NO_DEPTH,
        slots.kept == slots.next,
        implies(boundary != NO_DEPTH, both(written, unlabelled)),
    )


def _another_launched(
    design: Any,
    c: Any,
    slots: Slots,
    pre: Number,
    accepted: Number,
    following: Number,
    fails: Truth,
) -> tuple[Slots, Number]:
    """The slots after the launch of a verify behind the one in flight, and its entry; of no tokens: none is launched."""
    planned, entry = slot_buffer.verify_planned(design, c, slots, pre, fails)
    launched = slot_buffer.verify_launched(design, c, planned, entry, pre + accepted, following)
    return launched.where(following != 0, slots), entry


def _tokens_of_both(c: Any, accepted: Number, following: Number) -> dict[str, Truth]:
    """What is known of the tokens of a verify and of the one behind it."""
    tokens = c.speculative_num_draft_tokens
    return {
        "no_more_is_accepted_than_drafted": accepted <= tokens,
        "nor_by_the_one_behind_it": following <= tokens,
    }


def _finishing(
    design: Any,
    c: Any,
    slots: Slots,
    entry: Number,
    pre: Number,
    accepted: Number,
    following: Number,
    retained: Number,
    fails: Truth,
) -> Slots:
    """The slots of a request that finishes at the verify in flight, of which `retained` tokens are kept; behind it
    another one was launched, unless it is one of no tokens."""
    launched, _ = _another_launched(design, c, slots, pre, accepted, following, fails)
    return slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, retained, True)


@slots_theorem(BETWEEN_VERIFIES)
def a_prompts_result_keeps_the_invariant_of_lazy_verifies_and_donates_its_own_state(
    design, c, slots, label, planned, pre, accepted
):
    """The result of a lazy prompt donates the state of its label, whether a first verify is in flight or not."""
    grid = design.grid("verify", c)
    entry = planned_for(slots, planned)
    after, donated = slot_buffer.prompt_completed(design, c, slots)
    return Statement(
        {"the_invariant_held": lazy_verify_invariant(slots, entry, grid, pre, accepted)},
        both(
            donated.saved == (label != NO_DEPTH),
            donates_its_label(donated, slots),
            after.label == NO_DEPTH,
            lazy_verify_invariant(after, entry, grid, pre, accepted),
        ),
    )


@slots_theorem(BETWEEN_VERIFIES)
def a_lazy_verify_labels_the_boundary_it_passes_and_frees_the_other_slot(
    design, c, slots, pre, accepted, depth
):
    """A boundary that a lazy verify passes is labelled, and one slot is held afterwards."""
    launched, entry = _another_launched(design, c, slots, pre, 0, accepted, False)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, accepted)
    return Statement(
        {
            "no_more_is_accepted_than_drafted": accepted <= c.speculative_num_draft_tokens,
            "the_depth_is_on_the_grid": divides(design.grid("verify", c), depth),
            "the_depth_lies_beyond_the_start": depth > pre,
            "the_depth_is_accepted": depth <= pre + accepted,
        },
        both(after.label >= depth, after.state(slot_buffer.other(c, after.next)) == NO_SLOT),
    )


@slots_theorem(BETWEEN_VERIFIES)
def planning_a_verify_far_from_a_boundary_changes_nothing(
    design, c, slots, label, number, distance, fails
):
    """If the next boundary is more than two verifies away, planning a verify takes no slot, drops no label and
    keeps the next slot."""
    grid = design.grid("verify", c)
    planned, entry = slot_buffer.verify_planned(
        design, c, slots, number * grid - distance, fails != 0
    )
    return Statement(
        {
            "the_boundary_is_beyond_two_verifies": distance > 2 * c.speculative_num_draft_tokens,
            "it_is_the_next_one": distance <= grid,
        },
        both(
            entry == slots.next,
            planned.label == label,
            planned.first == slots.first,
            planned.second == slots.second,
        ),
    )


@slots_theorem(BETWEEN_VERIFIES)
def planning_a_verify_takes_a_second_slot_only_if_none_is_held_and_one_is_free(
    design, c, slots, second, label, committed, fails
):
    """If a second slot is held, planning a verify allocates nothing, so that no allocation fails and no label is
    dropped; if none is held and none is free, the verify writes the only slot."""
    planned, entry = slot_buffer.verify_planned(design, c, slots, committed, fails != 0)
    held = planned.state(1 - slots.next)
    return Statement(
        {"a_slot_is_held_or_none_can_be_had": either(second != 0, fails != 0)},
        both(
            held == slots.state(1 - slots.next),
            implies(second != 0, planned.label == label),
            implies(second == 0, entry == slots.next),
        ),
    )


@slots_theorem(BETWEEN_VERIFIES, refuted_by=KEEPING_A_STALE_LABEL)
def an_overlapped_lazy_verify_keeps_the_invariant_unless_two_in_a_row_cross_the_grid(
    design, c, slots, planned, pre, accepted, following, fails
):
    """With a lazy verify in flight or none, launching the next verify and processing the result leave the label
    with its own state."""
    grid, entry, end = design.grid("verify", c), planned_for(slots, planned), pre + accepted
    launched, behind = _another_launched(design, c, slots, pre, accepted, following, fails != 0)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, accepted)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "no_two_in_a_row_cross": no_two_cross(grid, pre, accepted, following),
            "the_invariant_held": lazy_verify_invariant(slots, entry, grid, pre, accepted),
        },
        lazy_verify_invariant(after, behind, grid, end, following),
    )


@slots_theorem(BETWEEN_VERIFIES)
def a_lazy_verify_that_finishes_donates_the_state_of_the_label_before(
    design, c, slots, label, planned, pre, accepted, following, retained, fails, key
):
    """A lazy request whose last result is that of a verify, with another one in flight or not, donates the state of
    the label before that verify, or nothing."""
    entry, grid = planned_for(slots, planned), design.grid("verify", c)
    after = _finishing(design, c, slots, entry, pre, accepted, following, retained, fails != 0)
    donated = slot_buffer.finished(design, c, after, key)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "the_invariant_held": lazy_verify_invariant(slots, entry, grid, pre, accepted),
        },
        donates_its_label(donated, slots),
    )


@slots_theorem(BETWEEN_VERIFIES)
def a_lazy_verify_that_finishes_beside_a_second_slot_donates_the_label_before(
    design, c, slots, second, label, kept, pre, accepted, following, fails, key
):
    """If a second slot is held, the label before the last verify is donated, whatever that verify and the one in
    flight passed."""
    entry = 1 - slots.next
    launched = slot_buffer.verify_launched(design, c, slots, entry, pre, accepted)
    after = _finishing(design, c, launched, entry, pre, accepted, following, accepted, fails != 0)
    donated = slot_buffer.finished(design, c, after, key)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "a_second_slot_is_held": second != 0,
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
        },
        both(donated.saved, donated.recorded == label, donated.state == kept),
    )


@slots_theorem(BETWEEN_VERIFIES, second=0, new=0)
def a_lazy_verify_that_finishes_with_one_slot_donates_its_label_exactly_far_from_a_boundary(
    design, c, slots, label, kept, pre, accepted, following, retained, fails, key
):
    """If the last verify passed no boundary and one slot was held, the label is donated exactly if no boundary lies
    within two verifies of the kept tokens or the verify in flight was given a second slot."""
    grid, tokens = design.grid("verify", c), c.speculative_num_draft_tokens
    entry = slots.next
    after = _finishing(design, c, slots, entry, pre, accepted, following, retained, fails != 0)
    donated = slot_buffer.finished(design, c, after, key)
    near = rules.a_verify_may_cross(grid, pre + retained, tokens)
    given = both(following != 0, fails == 0, rules.a_verify_may_cross(grid, pre, tokens))
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "no_more_is_kept_than_accepted": retained <= accepted,
            "no_boundary_was_passed": negation(verify.crosses(grid, pre, accepted)),
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
        },
        both(
            donated.saved == either(negation(near), given),
            implies(donated.saved, both(donated.recorded == label, donated.state == kept)),
        ),
    )


@slots_theorem(BETWEEN_VERIFIES, proved_for="sglang-0.5.21")
def a_stale_lazy_label_is_not_donated_at_a_verify(
    design, c, slots, label, planned, pre, accepted, following, retained, fails, key
):
    """0.5.21 keeps the label of a state that a verify overwrites in place; a request that finishes at that verify,
    or before one in flight that may overwrite the state, donates nothing under that label, if all accepted tokens
    are kept."""
    entry = planned_for(slots, planned)
    launched = slot_buffer.verify_launched(design, c, slots, entry, pre, accepted)
    after = _finishing(design, c, launched, entry, pre, accepted, following, retained, fails != 0)
    donated = slot_buffer.finished(design, c, after, key)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "all_accepted_tokens_are_kept": retained == accepted,
            "the_key_reaches_the_label": label <= key,
            "the_label_was_true": label_is_true(slots, pre),
        },
        implies(donated.saved, donated.state == donated.recorded),
    )
