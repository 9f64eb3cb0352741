"""A decoding request in its slots: what is kept under a label is the state of that depth, whatever the order of events.

The invariant is stated for the moment after any event: `completed` is the length whose result was processed last,
`ahead` (0 to 2) how many steps were launched beyond it.  A launch and a result each preserve it, an admission
establishes it, and it makes every donation right.  Lengths, depths and states are tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spec.numbers import Number, Truth, both, choose, divides, either, implies, negation
from spec.sglang import life
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.life import NO_SLOT, Slots
from spec.sglang.rules import verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.theorems.library import having, theorem
from spec.theorem import Statement

EAGER = {"strategy": "extra_buffer", "overlap": True}
LAZY = {"strategy": "extra_buffer_lazy", "overlap": True}
SYNCHRONOUS = {"strategy": "extra_buffer", "overlap": False}
COMPLETED_SWAP = "sglang-0.5.23+completed-swap"
RELEASES = tuple(f"sglang-0.5.{n}" for n in range(17, 24))
KEEPING_A_STALE_LABEL = RELEASES[:5]
MOST_OUTSTANDING = 2


def label_is_true(slots: Slots, completed: Number) -> Truth:
    """Where there is a label, the state that is kept has consumed just that, and its step has completed."""
    kept = both(slots.state(slots.kept) == slots.label, slots.label <= completed)
    return either(slots.label == NO_DEPTH, kept)


def _boundary_ahead(design: Any, c: Any, completed: Number, ahead: Number) -> Truth:
    """Whether one of the steps launched beyond the completed one is a boundary."""
    return verify.crosses(design.grid("decode", c), completed, ahead)


def _boundary_is_in_the_next_entry(
    design: Any, c: Any, slots: Slots, completed: Number, ahead: Number
) -> Truth:
    """The state of a boundary in flight is where the next snapshot goes, and was the last one written there."""
    point = verify.tracking_point(design.grid("decode", c), completed, ahead)
    written = both(slots.state(slots.next) == point, slots.written == slots.next)
    return implies(_boundary_ahead(design, c, completed, ahead), written)


def _eager_invariant(design: Any, c: Any, slots: Slots, completed: Number, ahead: Number) -> Truth:
    """What holds of eager slots after every event."""
    return both(
        label_is_true(slots, completed),
        slots.kept != slots.next,
        _boundary_is_in_the_next_entry(design, c, slots, completed, ahead),
    )


def _lazy_invariant(design: Any, c: Any, slots: Slots, completed: Number, ahead: Number) -> Truth:
    """What holds of lazy slots after every event: a second slot is held only while a boundary is in flight."""
    second = life.other(c, slots.next)
    alone = slots.state(second) == NO_SLOT
    return both(
        label_is_true(slots, completed),
        implies(negation(_boundary_ahead(design, c, completed, ahead)), alone),
        implies(alone, slots.kept == slots.next),
        implies(negation(alone), slots.kept == second),
        _boundary_is_in_the_next_entry(design, c, slots, completed, ahead),
    )


def _eager(next_entry: Number, label: Number, kept: Number, new: Number) -> Slots:
    """Eager slots with the state `kept` in the entry that is kept, `new` in the next one."""
    return Slots(
        choose(next_entry == 0, new, kept),
        choose(next_entry == 0, kept, new),
        next=next_entry,
        kept=1 - next_entry,
        label=label,
        written=next_entry,
        written_before=1 - next_entry,
    )


def _lazy(next_entry: Number, second: Number, label: Number, kept: Number, new: Number) -> Slots:
    """Lazy slots with `new` in the next entry; where a `second` slot is held it is the kept one, with `kept`."""
    held = second != 0
    state = choose(held, kept, NO_SLOT)
    return Slots(
        choose(next_entry == 0, new, state),
        choose(next_entry == 0, state, new),
        next=next_entry,
        kept=choose(held, 1 - next_entry, next_entry),
        label=label,
        written=next_entry,
        written_before=1 - next_entry,
    )


LEAST = dict.fromkeys(
    (
        *("next_entry", "second", "label", "kept", "new", "completed", "ahead"),
        *("fails", "key", "wanted", "depth", "state", "previous", "finishes"),
        *("committed", "pre", "retained"),
    ),
    0,
)


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_prompts_checkpoint_establishes_the_eager_invariant(
    design, c, wanted, depth, state, completed
):
    """A new request has no label, or that of the checkpoint its prompt has just written, if any."""
    c = having(c, **EAGER)
    checkpoint = Checkpoint(wanted != 0, True, depth, state)
    slots = life.prompt_launched(design, c, life.admitted(c), checkpoint)
    return Statement(
        {
            "the_state_is_that_of_its_depth": state == depth,
            "the_depth_is_within_the_prompt": depth <= completed,
        },
        _eager_invariant(design, c, slots, completed, 0),
    )


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_launch_of_an_eager_step_keeps_the_invariant(
    design, c, next_entry, label, kept, new, completed, ahead
):
    """Launching the next decode step overwrites no state that a label names."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.step_launched(design, c, slots, completed + ahead + 1)
    return Statement(
        {
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "the_invariant_held": _eager_invariant(design, c, slots, completed, ahead),
        },
        _eager_invariant(design, c, after, completed, ahead + 1),
    )


@theorem("life", proved_for=COMPLETED_SWAP, refuted_by=RELEASES, least=LEAST)
def a_result_of_an_eager_step_keeps_the_invariant(
    design, c, next_entry, label, kept, new, completed, ahead
):
    """Processing a result leaves the label with its own state, and the next snapshot another entry."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.step_completed(design, c, slots, completed + 1, ahead)
    return Statement(
        {
            "the_grid_is_above_one_token": design.grid("decode", c) > 1,
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "the_invariant_held": _eager_invariant(design, c, slots, completed, ahead + 1),
        },
        _eager_invariant(design, c, after, completed + 1, ahead),
    )


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state(
    design, c, next_entry, label, kept, new, completed, ahead
):
    """What the result of a prompt donates is the state of its label; the slot in its place names nothing."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after, donated = life.prompt_completed(design, c, slots)
    return Statement(
        {"the_invariant_held": _eager_invariant(design, c, slots, completed, ahead)},
        both(
            implies(donated.saved, donated.state == donated.recorded),
            _eager_invariant(design, c, after, completed, ahead),
        ),
    )


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def an_eager_finish_donates_the_state_of_its_label(
    design, c, next_entry, label, kept, new, completed, ahead, key
):
    """A request that finishes donates the state that its label names, or nothing where the key is shorter."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    donated = life.finished(design, c, slots, key)
    return Statement(
        {
            "the_invariant_held": _eager_invariant(design, c, slots, completed, ahead),
        },
        implies(donated.saved, donated.state == donated.recorded),
    )


@theorem("life", least=LEAST)
def a_completed_boundary_is_labelled(design, c, next_entry, label, kept, new, seq_len, ahead):
    """No boundary passes without a label: a design that checkpoints nothing is not right."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.step_completed(design, c, slots, seq_len, ahead)
    return Statement(
        {"the_step_is_a_boundary": divides(design.grid("decode", c), seq_len)},
        after.label == seq_len,
    )


@theorem("life", refuted_by=RELEASES[:1], least=LEAST)
def a_result_keeps_the_entry_that_its_own_step_wrote(
    design, c, next_entry, label, kept, new, seq_len
):
    """Where the result before a boundary comes between its launch and the next one, the boundary's result keeps the entry
    that it was written to, on a grid of one token as well, where the step ahead is another boundary."""
    c = having(c, **EAGER)
    before = _eager(next_entry, label, kept, new)
    slots = life.step_launched(design, c, before, seq_len)
    slots = life.step_completed(design, c, slots, seq_len - 1, 1)
    slots = life.step_launched(design, c, slots, seq_len + 1)
    after = life.step_completed(design, c, slots, seq_len, 1)
    return Statement(
        {"the_step_is_a_boundary": divides(design.grid("decode", c), seq_len)},
        after.kept == next_entry,
    )


@theorem("life", least=LEAST)
def a_prompts_checkpoint_establishes_the_lazy_invariant(design, c, wanted, depth, state, completed):
    """A new lazy request holds one slot, which is the kept and the next one, and its label, if any, is true."""
    c = having(c, **LAZY)
    checkpoint = Checkpoint(wanted != 0, True, depth, state)
    slots = life.prompt_launched(design, c, life.admitted(c), checkpoint)
    return Statement(
        {
            "the_state_is_that_of_its_depth": state == depth,
            "the_depth_is_within_the_prompt": depth <= completed,
        },
        _lazy_invariant(design, c, slots, completed, 0),
    )


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=LEAST)
def a_launch_of_a_lazy_step_keeps_the_invariant(
    design, c, next_entry, second, label, kept, new, completed, ahead, fails
):
    """Launching a boundary takes a second slot, or, where none can be had, forgets the label it overwrites."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after = life.step_launched(design, c, slots, completed + ahead + 1, fails != 0)
    return Statement(
        {
            "the_invariant_held": _lazy_invariant(design, c, slots, completed, ahead),
        },
        _lazy_invariant(design, c, after, completed, ahead + 1),
    )


@theorem("life", least=LEAST)
def a_result_of_a_lazy_step_keeps_the_invariant(
    design, c, next_entry, second, label, kept, new, completed, ahead
):
    """Processing a result labels the slot that a boundary was written to and frees the other one."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after = life.step_completed(design, c, slots, completed + 1, ahead)
    return Statement(
        {
            "the_grid_is_above_one_token": design.grid("decode", c) > 1,
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "the_invariant_held": _lazy_invariant(design, c, slots, completed, ahead + 1),
        },
        _lazy_invariant(design, c, after, completed + 1, ahead),
    )


@theorem("life", least=LEAST)
def a_prompts_result_keeps_the_lazy_invariant_and_donates_its_own_state(
    design, c, next_entry, second, label, kept, new, completed, ahead
):
    """What the result of a lazy prompt donates is the state of its label, a first step in flight or not."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after, donated = life.prompt_completed(design, c, slots)
    return Statement(
        {"the_invariant_held": _lazy_invariant(design, c, slots, completed, ahead)},
        both(
            implies(donated.saved, donated.state == donated.recorded),
            _lazy_invariant(design, c, after, completed, ahead),
        ),
    )


@theorem("life", least=LEAST)
def a_lazy_finish_donates_the_state_of_its_label(
    design, c, next_entry, second, label, kept, new, completed, ahead, key
):
    """A lazy request that finishes donates the state that its label names, or nothing where the key is shorter."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    donated = life.finished(design, c, slots, key)
    return Statement(
        {
            "the_invariant_held": _lazy_invariant(design, c, slots, completed, ahead),
        },
        implies(donated.saved, donated.state == donated.recorded),
    )


@theorem("life", least=LEAST)
def a_step_without_overlap_keeps_its_label_true(design, c, label, kept, completed):
    """Without the overlap scheduler one slot suffices: each result comes before the next launch."""
    c = having(c, **SYNCHRONOUS)
    slots = Slots(kept, NO_SLOT, next=0, kept=0, label=label)
    launched = life.step_launched(design, c, slots, completed + 1)
    after = life.step_completed(design, c, launched, completed + 1, 0)
    return Statement(
        {"the_label_was_true": label_is_true(slots, completed)},
        both(label_is_true(after, completed + 1), after.kept == 0, after.next == 0),
    )


@theorem("life", refuted_by=RELEASES[:6], least=LEAST)
def a_step_in_a_mixed_batch_leaves_the_lazy_slots_as_they_were(
    design, c, next_entry, second, label, kept, new, seq_len, fails
):
    """A second slot that is given to a boundary step is given back where its batch writes nothing into it."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after = life.mixed_launched(design, c, slots, seq_len, fails != 0)
    same = both(after.next == slots.next, after.kept == slots.kept, after.label == slots.label)
    return Statement(
        {
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "no_boundary_is_in_flight": second == 0,
            "a_slot_can_be_had": fails == 0,
        },
        both(same, after.first == slots.first, after.second == slots.second),
    )


@theorem("life", least={"pre": 0})
def two_verifies_within_the_grid_cross_it_at_most_once(design, c, pre, first, second):
    """Of two verifies in a row that accept no more than the grid together, at most one passes a depth on it."""
    grid = design.grid("verify", c)
    return Statement(
        {"both_accept_at_most_the_grid": first + second <= grid},
        negation(both(verify.crosses(grid, pre, first), verify.crosses(grid, pre + first, second))),
    )


@theorem("life", least={**LEAST, "pre": 0})
def an_overlapped_verify_keeps_the_label_true_if_no_two_in_a_row_cross(
    design, c, next_entry, label, kept, new, pre, accepted, following
):
    """With a verify in flight, launching the next one and processing the result leave the label with its own state."""
    c = having(c, **EAGER)
    grid = design.grid("verify", c)
    slots = _eager(next_entry, label, kept, new)

    def in_flight_is_in_the_next_entry(slots: Slots, entry: Number, pre: Number, took: Number):
        at_its_depth = slots.state(entry) == verify.tracking_point(grid, pre, took)
        return implies(verify.crosses(grid, pre, took), both(entry == slots.next, at_its_depth))

    launched = life.verify_launched(design, c, slots, slots.next, pre + accepted, following)
    after = life.verify_completed(design, c, launched, slots.next, pre, accepted, accepted)
    end = pre + accepted
    return Statement(
        {
            "no_two_in_a_row_cross": negation(
                both(verify.crosses(grid, pre, accepted), verify.crosses(grid, end, following))
            ),
            "the_label_was_true": label_is_true(slots, pre),
            "the_one_in_flight_is_in_the_next_entry": in_flight_is_in_the_next_entry(
                slots, slots.next, pre, accepted
            ),
            "the_next_entry_is_0_or_1": next_entry <= 1,
        },
        both(
            label_is_true(after, end),
            after.kept != after.next,
            in_flight_is_in_the_next_entry(after, slots.next, end, following),
        ),
    )


@theorem("life", least=LEAST)
def a_finish_without_overlap_donates_the_state_of_its_label(
    design, c, label, previous, kept, completed, key
):
    """With a single slot there is no earlier state to fall back on, and none is donated."""
    c = having(c, **SYNCHRONOUS)
    slots = Slots(kept, NO_SLOT, next=0, kept=0, label=label, previous=previous)
    donated = life.finished(design, c, slots, key)
    return Statement(
        {"the_label_was_true": label_is_true(slots, completed)},
        implies(donated.saved, donated.state == donated.recorded),
    )


@theorem("life", least=LEAST)
def a_prompt_donates_its_checkpoint_and_nothing_else(design, c, wanted, depth, state):
    """The result of a prompt donates the checkpoint that its launch wrote, as written, and only where one was wanted."""
    c = having(c, **EAGER)
    checkpoint = Checkpoint(wanted != 0, True, depth, state)
    slots = life.prompt_launched(design, c, life.admitted(c), checkpoint)
    donated = life.prompt_completed(design, c, slots)[1]
    written = both(donated.recorded == depth, donated.state == state)
    return Statement(
        {"the_depth_is_above_0": depth >= 1},
        both(donated.saved == (wanted != 0), implies(donated.saved, written)),
    )


@theorem("life", least=LEAST)
def a_prompts_checkpoint_leaves_the_one_before_in_its_entry(
    design, c, next_entry, label, kept, new, wanted, depth, state
):
    """The checkpoint of a later chunk of a prompt leaves the state of an earlier one where it is."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.prompt_launched(design, c, slots, Checkpoint(wanted != 0, True, depth, state))
    return Statement(
        {"the_next_entry_is_0_or_1": next_entry <= 1, "the_chunk_has_a_checkpoint": wanted != 0},
        both(after.state(life.other(c, after.kept)) == kept, after.state(after.kept) == state),
    )


@theorem("life", proved_for="sglang-0.5.17", least=LEAST)
def a_release_that_derives_what_it_keeps_keeps_what_a_prompt_wrote(
    design, c, next_entry, label, kept, new, wanted, depth, state
):
    """The entry that 0.5.17 derives from the next one is that of the checkpoint a prompt has just written."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.prompt_launched(design, c, slots, Checkpoint(wanted != 0, True, depth, state))
    return Statement({"the_chunk_has_a_checkpoint": wanted != 0}, after.state(after.kept) == state)


@theorem("life", least=LEAST)
def a_prompts_result_leaves_nothing_to_donate_twice(
    design, c, next_entry, label, previous, kept, new, key
):
    """What a prompt's result has donated is no longer the request's: neither its label nor the one before stays."""
    c = having(c, **EAGER)
    slots = replace(_eager(next_entry, label, kept, new), previous=previous)
    after = life.prompt_completed(design, c, slots)[0]
    return Statement(
        {"there_was_a_label": label >= 1},
        both(
            negation(life.finished(design, c, after, key).saved),
            after.state(slots.kept) == life.UNWRITTEN,
        ),
    )


@theorem("life", least=LEAST)
def a_finish_donates_the_label_that_its_key_reaches(
    design, c, next_entry, label, previous, kept, new, key
):
    """A request that finishes with a label, and a key no shorter than it, donates under that label."""
    c = having(c, **EAGER)
    slots = replace(_eager(next_entry, label, kept, new), previous=previous)
    donated = life.finished(design, c, slots, key)
    return Statement(
        {
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
        },
        both(donated.saved, donated.recorded == label, donated.state == kept),
    )


@theorem("life", least=LEAST)
def a_finish_falls_back_on_the_label_before(design, c, next_entry, label, previous, kept, new, key):
    """Where the key is shorter than the label and reaches the one before, the state of the one before is donated."""
    c = having(c, **EAGER)
    slots = replace(_eager(next_entry, label, kept, new), previous=previous)
    donated = life.finished(design, c, slots, key)
    return Statement(
        {
            "the_key_is_shorter_than_the_label": key < label,
            "there_was_a_label_before": previous >= 1,
            "the_key_reaches_the_one_before": previous <= key,
            "the_other_entry_has_its_state": new == previous,
        },
        both(donated.saved, donated.recorded == previous, donated.state == previous),
    )


@theorem("life", least=LEAST)
def a_finish_with_a_key_shorter_than_both_labels_donates_nothing(
    design, c, next_entry, label, previous, kept, new, key
):
    """No state of more tokens than the key has is donated, under whatever label."""
    c = having(c, **EAGER)
    slots = replace(_eager(next_entry, label, kept, new), previous=previous)
    return Statement(
        {
            "the_key_is_shorter_than_the_label": key < label,
            "the_key_is_shorter_than_the_one_before": key < previous,
        },
        negation(life.finished(design, c, slots, key).saved),
    )


@theorem("life", proved_for="sglang-0.5.21", least=LEAST)
def an_old_finish_names_no_depth_beyond_its_key_or_its_state(
    design, c, next_entry, label, kept, new, key
):
    """Up to 0.5.21 a finish cuts the label to the key: the state donated may have consumed more, never less."""
    c = having(c, **EAGER)
    donated = life.finished(design, c, _eager(next_entry, label, kept, new), key)
    return Statement(
        {"the_next_entry_is_0_or_1": next_entry <= 1, "the_label_was_true": kept == label},
        both(donated.recorded <= key, donated.recorded <= donated.state),
    )


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_labelled_boundary_leaves_the_one_before_in_the_other_entry(
    design, c, next_entry, label, kept, new, completed, ahead
):
    """Where a boundary is labelled, the label before it is remembered and its state is in the other entry."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.step_completed(design, c, slots, completed + 1, ahead)
    return Statement(
        {
            "the_grid_is_above_one_token": design.grid("decode", c) > 1,
            "there_was_a_label": label >= 1,
            "the_step_is_a_boundary": divides(design.grid("decode", c), completed + 1),
            "the_invariant_held": _eager_invariant(design, c, slots, completed, ahead + 1),
        },
        both(after.previous == label, after.state(life.other(c, after.kept)) == label),
    )


@theorem("life", proved_for="sglang-0.5.17", least=LEAST)
def a_label_of_the_launched_length_is_ahead_of_its_step(
    design, c, next_entry, label, kept, new, seq_len, ahead
):
    """0.5.17 labels a boundary that was launched ahead one result too early."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.step_completed(design, c, slots, seq_len, ahead)
    return Statement(
        {
            "a_step_was_launched_ahead": ahead == 1,
            "the_step_ahead_is_a_boundary": divides(design.grid("decode", c), seq_len + 1),
        },
        after.label == seq_len + 1,
    )


@theorem("life", least=LEAST)
def a_lazy_step_forgets_its_label_only_where_no_slot_can_be_had(
    design, c, next_entry, second, label, kept, new, completed, ahead, fails
):
    """Where the allocation of a second slot does not fail, launching a boundary forgets no label."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after = life.step_launched(design, c, slots, completed + ahead + 1, fails != 0)
    return Statement({"a_slot_can_be_had": fails == 0}, after.label == label)


@theorem("life", least=LEAST)
def a_lazy_step_that_finishes_off_a_boundary_donates_its_label(
    design, c, next_entry, second, label, kept, new, completed, ahead, key
):
    """A lazy request whose last step is no boundary donates the label it has, a boundary in flight or not."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after = life.step_completed(design, c, slots, completed + 1, ahead, True)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
            "the_step_is_no_boundary": negation(divides(design.grid("decode", c), completed + 1)),
            "the_invariant_held": _lazy_invariant(design, c, slots, completed, ahead + 1),
        },
        both(donated.saved, donated.recorded == label, donated.state == label),
    )


@theorem("life", least=LEAST)
def a_boundary_in_flight_in_the_second_slot_does_not_cost_the_label(
    design, c, next_entry, label, new, number, key
):
    """A lazy request that finishes one step before a boundary, written to its second slot, donates its label."""
    c = having(c, **LAZY)
    grid = design.grid("decode", c)
    slots = _lazy(next_entry, 1, label, label, new)
    after = life.step_completed(design, c, slots, number * grid - 1, 1, True)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "there_is_a_label": label >= 1,
            "the_key_reaches_it": label <= key,
        },
        both(donated.saved, donated.recorded == label, donated.state == label),
    )


@theorem("life", least=LEAST)
def a_lazy_step_that_finishes_on_a_boundary_donates_it(
    design, c, next_entry, second, label, kept, new, seq_len, ahead, key
):
    """A lazy request whose last step is a boundary that its key reaches donates under the depth of that boundary."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after = life.step_completed(design, c, slots, seq_len, ahead, True)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            "the_step_is_a_boundary": divides(design.grid("decode", c), seq_len),
            "the_key_reaches_it": seq_len <= key,
        },
        both(donated.saved, donated.recorded == seq_len),
    )


@theorem("life", least=LEAST)
def a_lazy_step_that_goes_on_may_still_donate(
    design, c, next_entry, second, label, kept, new, seq_len, ahead, finishes
):
    """Only a request that finishes loses its donation to a boundary in flight."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    after = life.step_completed(design, c, slots, seq_len, ahead, finishes != 0)
    return Statement({"the_request_goes_on": finishes == 0}, after.donates)


@theorem("life", proved_for="sglang-0.5.21", least=LEAST)
def a_stale_lazy_label_is_not_donated(
    design, c, next_entry, second, label, kept, new, completed, ahead, key
):
    """0.5.21 keeps the label of a state that a boundary in flight overwrites, and a finish donates nothing under it."""
    c = having(c, **LAZY)
    slots = _lazy(next_entry, second, label, kept, new)
    forgetful = replace(slots, label=NO_DEPTH)
    overwritten = both(second == 0, _boundary_ahead(design, c, completed, ahead + 1))
    after = life.step_completed(design, c, slots, completed + 1, ahead, True)
    donated = life.finished(design, c, after, key)
    return Statement(
        {
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "the_grid_is_above_one_token": design.grid("decode", c) > 1,
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "the_key_reaches_the_label": after.label <= key,
            "the_label_is_true_or_overwritten": either(
                label_is_true(slots, completed), overwritten
            ),
            "the_rest_of_the_invariant_held": _lazy_invariant(
                design, c, forgetful, completed, ahead + 1
            ),
        },
        implies(donated.saved, donated.state == donated.recorded),
    )


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=LEAST)
def an_eager_verify_keeps_its_label_true(
    design, c, next_entry, label, kept, new, pre, accepted, retained
):
    """A verify labels the state of the boundary it passed, even where a grammar keeps fewer tokens than accepted."""
    c = having(c, **EAGER)
    slots, entry = life.verify_planned(design, c, _eager(next_entry, label, kept, new), pre)
    launched = life.verify_launched(design, c, slots, entry, pre, accepted)
    after = life.verify_completed(design, c, launched, entry, pre, accepted, retained)
    return Statement(
        {
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "the_label_was_true": label_is_true(slots, pre),
            "a_verify_is_within_the_grid": accepted <= design.grid("verify", c),
            "no_more_is_kept_than_accepted": retained <= accepted,
        },
        both(label_is_true(after, pre + retained), after.kept != after.next),
    )


@theorem("life", least=LEAST)
def an_eager_verify_labels_what_it_passes_and_remembers_the_label_before(
    design, c, next_entry, label, kept, new, pre, accepted, depth
):
    """A boundary that a verify passes is labelled, and the label before it is still in the other entry."""
    c = having(c, **EAGER)
    slots, entry = life.verify_planned(design, c, _eager(next_entry, label, kept, new), pre)
    launched = life.verify_launched(design, c, slots, entry, pre, accepted)
    after = life.verify_completed(design, c, launched, entry, pre, accepted, accepted)
    return Statement(
        {
            "the_next_entry_is_0_or_1": next_entry <= 1,
            "the_depth_is_on_the_grid": divides(design.grid("verify", c), depth),
            "the_depth_lies_beyond_the_start": depth > pre,
            "the_depth_is_accepted": depth <= pre + accepted,
        },
        both(
            after.label >= depth,
            after.previous == label,
            after.state(life.other(c, after.kept)) == kept,
        ),
    )
