"""Lazy slots under verifies: a second slot is planned where a boundary may be passed, and one is held behind it.

The slots are those between two events: the next entry, the first one, is the kept one.  Lengths and states are tokens.
"""

from __future__ import annotations

from typing import Any

from spec.numbers import Number, Truth, both, choose, divides, either, implies, negation
from spec.sglang import life
from spec.sglang.life import NO_SLOT, Slots
from spec.sglang.rules import slots as rules
from spec.sglang.rules import verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.theorems.library import having, theorem
from spec.sglang.theorems.life import KEEPING_A_STALE_LABEL, LAZY, LEAST, label_is_true
from spec.theorem import Statement


def _lazy_verify(
    design: Any,
    c: Any,
    slots: Slots,
    committed: Number,
    pre: Number,
    accepted: Number,
    retained: Number,
    fails: Truth,
) -> Slots:
    """Lazy slots after a verify from `pre` that was planned when `committed` tokens were known."""
    planned, entry = life.verify_planned(design, c, slots, committed, fails)
    launched = life.verify_launched(design, c, planned, entry, pre, accepted)
    return life.verify_completed(design, c, launched, entry, pre, accepted, retained)


def _lazy_between_verifies(second: Number, label: Number, kept: Number) -> Slots:
    """Lazy slots that keep the next entry, the first one; a `second` slot, where one is held, was planned in vain."""
    held = choose(second != 0, life.UNWRITTEN, NO_SLOT)
    return Slots(kept, held, next=0, kept=0, label=label)


def _verify_lengths(
    design: Any, c: Any, committed: Number, pre: Number, accepted: Number, retained: Number
) -> dict[str, Truth]:
    """What is known of the lengths of a verify."""
    tokens = c.speculative_num_draft_tokens
    return {
        "at_most_one_verify_is_not_committed": both(committed <= pre, pre <= committed + tokens),
        "no_more_is_accepted_than_drafted": accepted <= tokens,
        "a_verify_is_within_the_grid": accepted <= design.grid("verify", c),
        "no_more_is_kept_than_accepted": retained <= accepted,
    }


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=LEAST)
def a_lazy_verify_keeps_its_label_true(
    design, c, second, label, kept, committed, pre, accepted, retained, fails
):
    """A lazy verify labels the slot it wrote, and forgets the label of a slot that it may overwrite in place."""
    c = having(c, **LAZY)
    slots = _lazy_between_verifies(second, label, kept)
    after = _lazy_verify(design, c, slots, committed, pre, accepted, retained, fails != 0)
    return Statement(
        {
            **_verify_lengths(design, c, committed, pre, accepted, retained),
            "the_label_was_true": label_is_true(slots, pre),
        },
        both(label_is_true(after, pre + retained), after.kept == after.next),
    )


@theorem("life", least=LEAST)
def a_lazy_verify_labels_what_it_passes_and_frees_the_other_slot(
    design, c, second, label, kept, pre, accepted, depth
):
    """A boundary that a lazy verify passes is labelled, and one slot is held behind it."""
    c = having(c, **LAZY)
    slots = _lazy_between_verifies(second, label, kept)
    after = _lazy_verify(design, c, slots, pre, pre, accepted, accepted, False)
    return Statement(
        {
            "no_more_is_accepted_than_drafted": accepted <= c.speculative_num_draft_tokens,
            "the_depth_is_on_the_grid": divides(design.grid("verify", c), depth),
            "the_depth_lies_beyond_the_start": depth > pre,
            "the_depth_is_accepted": depth <= pre + accepted,
        },
        both(after.label >= depth, after.state(life.other(c, after.next)) == NO_SLOT),
    )


@theorem("life", least=LEAST)
def a_plan_far_from_a_boundary_changes_nothing(
    design, c, second, label, kept, number, distance, fails
):
    """Where the next boundary is beyond two verifies, a plan takes no slot, forgets no label and leaves the entry."""
    c = having(c, **LAZY)
    grid = design.grid("verify", c)
    slots = _lazy_between_verifies(second, label, kept)
    planned, entry = life.verify_planned(design, c, slots, number * grid - distance, fails != 0)
    return Statement(
        {
            "the_boundary_is_beyond_two_verifies": distance > 2 * c.speculative_num_draft_tokens,
            "it_is_the_next_one": distance <= grid,
        },
        both(entry == slots.next, planned.label == label, planned.second == slots.second),
    )


@theorem("life", least=LEAST)
def a_plan_for_which_no_slot_can_be_had_writes_in_place(
    design, c, second, label, kept, committed, fails
):
    """Where the allocation of a second slot fails, none is held and the verify writes the one there is."""
    c = having(c, **LAZY)
    slots = _lazy_between_verifies(second, label, kept)
    planned, entry = life.verify_planned(design, c, slots, committed, fails != 0)
    return Statement(
        {"no_slot_can_be_had": fails != 0, "no_second_one_is_held": second == 0},
        both(entry == slots.next, planned.second == NO_SLOT),
    )


@theorem("life", least=LEAST)
def a_plan_that_has_a_second_slot_forgets_no_label(
    design, c, second, label, kept, committed, fails
):
    """Where a second slot is held from an earlier plan, none is allocated, so that nothing can fail."""
    c = having(c, **LAZY)
    slots = _lazy_between_verifies(second, label, kept)
    planned, _ = life.verify_planned(design, c, slots, committed, fails != 0)
    return Statement({"a_second_one_is_held": second != 0}, planned.label == label)


def _with_a_verify_in_flight(second: Number, label: Number, kept: Number, new: Number) -> Slots:
    """Lazy slots while a verify is in flight; a `second` slot, where one is held, was planned for it and holds `new`."""
    return Slots(kept, choose(second != 0, new, NO_SLOT), next=0, kept=0, label=label)


def _planned_for(slots: Slots) -> Number:
    """The entry that the verify in flight was planned for: the second one where it is held."""
    return choose(slots.second == NO_SLOT, 0, 1)


def _what_is_in_flight_is_told(
    design: Any, c: Any, slots: Slots, entry: Number, pre: Number, accepted: Number
) -> Truth:
    """A boundary that the verify in flight passes is in its entry, and where that is the kept one no label names it."""
    grid = design.grid("verify", c)
    written = slots.state(entry) == verify.tracking_point(grid, pre, accepted)
    told = either(entry != slots.next, slots.label == NO_DEPTH)
    return implies(verify.crosses(grid, pre, accepted), both(written, told))


def _lazy_verify_invariant(
    design: Any, c: Any, slots: Slots, entry: Number, pre: Number, accepted: Number
) -> Truth:
    """What holds of lazy slots while a verify from `pre` is in flight, the result before it processed."""
    return both(
        label_is_true(slots, pre),
        slots.kept == slots.next,
        _what_is_in_flight_is_told(design, c, slots, entry, pre, accepted),
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
    planned, entry = life.verify_planned(design, c, slots, pre, fails)
    launched = life.verify_launched(design, c, planned, entry, pre + accepted, following)
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
    pre: Number,
    accepted: Number,
    following: Number,
    retained: Number,
    fails: Truth,
) -> Slots:
    """The slots of a request that finishes at the verify in flight, of which `retained` tokens are kept; behind it
    another one was launched, unless it is one of no tokens."""
    launched, _ = _another_launched(design, c, slots, pre, accepted, following, fails)
    entry = _planned_for(slots)
    return life.verify_completed(design, c, launched, entry, pre, accepted, retained, True)


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=LEAST)
def an_overlapped_lazy_verify_keeps_the_invariant_if_no_two_in_a_row_cross(
    design, c, second, label, kept, new, pre, accepted, following, fails
):
    """With a lazy verify in flight, launching the next one and processing the result leave the label with its own state."""
    c = having(c, **LAZY)
    slots = _with_a_verify_in_flight(second, label, kept, new)
    grid, entry, end = design.grid("verify", c), _planned_for(slots), pre + accepted
    launched, planned = _another_launched(design, c, slots, pre, accepted, following, fails != 0)
    after = life.verify_completed(design, c, launched, entry, pre, accepted, accepted)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "no_two_in_a_row_cross": negation(
                both(verify.crosses(grid, pre, accepted), verify.crosses(grid, end, following))
            ),
            "the_invariant_held": _lazy_verify_invariant(design, c, slots, entry, pre, accepted),
        },
        _lazy_verify_invariant(design, c, after, planned, end, following),
    )


@theorem("life", least={**LEAST, "following": 0})
def a_lazy_verify_that_finishes_donates_the_state_of_the_label_before(
    design, c, second, label, kept, new, pre, accepted, following, retained, fails, key
):
    """What a lazy request donates whose last result is a verify's, another one in flight behind it or none, is the
    state of the label before that verify, or nothing."""
    c = having(c, **LAZY)
    slots = _with_a_verify_in_flight(second, label, kept, new)
    after = _finishing(design, c, slots, pre, accepted, following, retained, fails != 0)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "the_invariant_held": _lazy_verify_invariant(
                design, c, slots, _planned_for(slots), pre, accepted
            ),
        },
        implies(donated.saved, both(donated.state == donated.recorded, donated.recorded == label)),
    )


@theorem("life", least={**LEAST, "following": 0})
def a_lazy_verify_that_finishes_beside_a_second_slot_donates_the_label_before(
    design, c, second, label, kept, pre, accepted, following, fails, key
):
    """Where a second slot is held, whatever the last verify and the one in flight passed, the label before is donated."""
    c = having(c, **LAZY)
    slots = _lazy_between_verifies(second, label, kept)
    launched = life.verify_launched(design, c, slots, _planned_for(slots), pre, accepted)
    after = _finishing(design, c, launched, pre, accepted, following, accepted, fails != 0)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "a_second_slot_is_held": second != 0,
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
        },
        both(donated.saved, donated.recorded == label, donated.state == kept),
    )


@theorem("life", least={**LEAST, "following": 0})
def a_lazy_verify_that_finishes_far_from_a_boundary_donates_its_label(
    design, c, label, kept, pre, accepted, following, fails, key
):
    """Where the last verify passed no boundary and none lies within two verifies of its end, the label is donated from
    the only slot."""
    c = having(c, **LAZY)
    grid, tokens, end = design.grid("verify", c), c.speculative_num_draft_tokens, pre + accepted
    slots = _lazy_between_verifies(0, label, kept)
    after = _finishing(design, c, slots, pre, accepted, following, accepted, fails != 0)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            "no_boundary_was_passed": negation(verify.crosses(grid, pre, accepted)),
            "none_is_near": negation(rules.a_verify_may_cross(grid, end, tokens)),
            "the_one_behind_it_accepts_no_more_than_drafted": following <= tokens,
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
        },
        both(donated.saved, donated.recorded == label, donated.state == kept),
    )


@theorem("life", proved_for="sglang-0.5.21", least={**LEAST, "following": 0})
def a_stale_lazy_label_is_not_donated_at_a_verify(
    design, c, second, label, kept, pre, accepted, following, retained, fails, key
):
    """0.5.21 keeps the label of a state that a verify overwrites in place, and a request that finishes at that verify, or
    before one in flight that may do so, donates nothing under it, if all accepted tokens are kept."""
    c = having(c, **LAZY)
    slots = _lazy_between_verifies(second, label, kept)
    launched = life.verify_launched(design, c, slots, _planned_for(slots), pre, accepted)
    after = _finishing(design, c, launched, pre, accepted, following, retained, fails != 0)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            **_tokens_of_both(c, accepted, following),
            "all_accepted_tokens_are_kept": retained == accepted,
            "the_key_reaches_the_label": label <= key,
            "the_label_was_true": label_is_true(slots, pre),
        },
        implies(donated.saved, donated.state == donated.recorded),
    )
