"""A decoding request in its slots: what is kept under a label is the state of that depth, whatever the order of events.

The invariant is stated for the moment after any event: `completed` is the length whose result was processed last
(of a prompt: that was launched last), `boundary` the depth of a checkpoint that a step or a verify in flight has
written (0: none).  An admission establishes it, a launch and a result each preserve it, and it makes every donation
right.  Each statement takes the slots as they may be: every field is a parameter.  Lengths, depths and states are
tokens; an entry is the first where its number is 0, else the second.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spec.numbers import Number, Truth, both, choose, divides, either, implies, negation
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.rules import verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.slot_buffer import NO_SLOT, UNWRITTEN, Slots
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


def entry_of(number: Number) -> Number:
    """The entry that any number stands for."""
    return choose(number == 0, 0, 1)


def _is_in_the_next_entry(slots: Slots, boundary: Number, entry: Number) -> Truth:
    """The checkpoint in flight, if any, is where the next one goes, and was written there last."""
    return implies(
        boundary != NO_DEPTH, both(slots.state(slots.next) == boundary, entry == slots.next)
    )


def _is_ahead(design: Any, c: Any, boundary: Number, completed: Number, ahead: Number) -> Truth:
    """The checkpoint in flight, if any, is that of one of the steps launched beyond the completed one."""
    launched = both(boundary > completed, boundary <= completed + ahead)
    return implies(
        boundary != NO_DEPTH, both(launched, divides(design.grid("decode", c), boundary))
    )


def eager_invariant(slots: Slots, completed: Number, boundary: Number, entry: Number) -> Truth:
    """What holds of eager slots after every event; a checkpoint in flight was written to `entry`."""
    return both(
        label_is_true(slots, completed),
        slots.kept == 1 - slots.next,
        _is_in_the_next_entry(slots, boundary, entry),
    )


def lazy_invariant(slots: Slots, completed: Number, boundary: Number) -> Truth:
    """What holds of lazy slots under steps: a second slot is held only while a boundary is in flight."""
    second = 1 - slots.next
    alone = slots.state(second) == NO_SLOT
    return both(
        label_is_true(slots, completed),
        slots.previous == NO_DEPTH,
        implies(boundary == NO_DEPTH, alone),
        implies(alone, slots.kept == slots.next),
        implies(negation(alone), slots.kept == second),
        _is_in_the_next_entry(slots, boundary, slots.written),
    )


def single_invariant(slots: Slots, completed: Number) -> Truth:
    """What holds of the only slot without the overlap scheduler, between a result and the next launch."""
    return both(label_is_true(slots, completed), slots.kept == 0, slots.next == 0)


def eager(
    next_entry: Number,
    label: Number,
    previous: Number,
    kept: Number,
    new: Number,
    written: Number,
    written_before: Number,
) -> Slots:
    """Eager slots with the state `kept` in the entry that is kept, `new` in the next one."""
    following = entry_of(next_entry)
    return Slots(
        choose(following == 0, new, kept),
        choose(following == 0, kept, new),
        next=following,
        kept=1 - following,
        label=label,
        previous=previous,
        written=entry_of(written),
        written_before=entry_of(written_before),
    )


def lazy(
    next_entry: Number,
    second: Number,
    label: Number,
    kept: Number,
    new: Number,
    written: Number,
    written_before: Number,
) -> Slots:
    """Lazy slots with `new` in the next entry; where a `second` slot is held it is the kept one, with `kept`."""
    held, following = second != 0, entry_of(next_entry)
    state = choose(held, kept, NO_SLOT)
    return Slots(
        choose(following == 0, new, state),
        choose(following == 0, state, new),
        next=following,
        kept=choose(held, 1 - following, following),
        label=label,
        written=entry_of(written),
        written_before=entry_of(written_before),
    )


def single(
    label: Number,
    previous: Number,
    kept: Number,
    unused: Number,
    written: Number,
    written_before: Number,
) -> Slots:
    """The slots without the overlap scheduler: one is used, which is the kept and the next one."""
    return Slots(
        kept,
        unused,
        next=0,
        kept=0,
        label=label,
        previous=previous,
        written=written,
        written_before=written_before,
    )


def holding(
    next_entry: Number,
    kept_entry: Number,
    label: Number,
    kept: Number,
    other: Number,
    written: Number,
    written_before: Number,
) -> Slots:
    """Lazy slots of any kind: whichever entry is the next one, `kept` in the kept entry and `other` in the other one."""
    first = entry_of(kept_entry) == 0
    return Slots(
        choose(first, kept, other),
        choose(first, other, kept),
        next=entry_of(next_entry),
        kept=entry_of(kept_entry),
        label=label,
        written=entry_of(written),
        written_before=entry_of(written_before),
    )


_FROM_ZERO = (
    "next_entry kept_entry second label previous written written_before planned donates completed ahead boundary entry fails "
    "key mixed wanted passes depth state finishes committed pre retained accepted following start"
)
LEAST = dict.fromkeys(_FROM_ZERO.split(), 0)
LEAST |= {"kept": UNWRITTEN, "new": UNWRITTEN, "unused": UNWRITTEN, "other": NO_SLOT}


def in_flight(grid: Number, pre: Number, accepted: Number) -> Number:
    """The depth of the checkpoint that a verify from `pre` writes (0: none)."""
    crosses = verify.crosses(grid, pre, accepted)
    return choose(crosses, verify.tracking_point(grid, pre, accepted), NO_DEPTH)


def _with(boundary: Number, grid: Number, seq_len: Number) -> Number:
    """The checkpoint in flight once the step at `seq_len` was launched."""
    return choose(divides(grid, seq_len), seq_len, boundary)


def _without(boundary: Number, seq_len: Number) -> Number:
    """The checkpoint in flight once the step at `seq_len` has completed."""
    return choose(boundary == seq_len, NO_DEPTH, boundary)


def _of_a_chunk(checkpoint: Checkpoint, start: Number, end: Number) -> dict[str, Truth]:
    """What is known of the checkpoint that a chunk of a prompt leaves."""
    right = checkpoint.state == checkpoint.recorded
    return {
        "a_state_is_saved_under_its_depth": implies(checkpoint.saved, right),
        "the_depth_is_within_the_chunk": implies(checkpoint.saved, checkpoint.recorded <= end),
        "the_chunk_goes_on": start <= end,
    }


# With the overlap scheduler and two slots.


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_prompts_launch_keeps_the_eager_invariant(
    design,
    c,
    next_entry,
    label,
    previous,
    kept,
    new,
    written,
    written_before,
    start,
    completed,
    wanted,
    passes,
    depth,
    state,
):
    """A new request's slots are right, and a chunk of its prompt leaves them so, with the label it writes, if any."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, previous, kept, new, written, written_before)
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
    after = slot_buffer.prompt_launched(design, c, slots, checkpoint)
    return Statement(
        {
            **_of_a_chunk(checkpoint, start, completed),
            "the_invariant_held": eager_invariant(slots, start, NO_DEPTH, 0),
        },
        both(
            eager_invariant(slot_buffer.admitted(c), start, NO_DEPTH, 0),
            eager_invariant(after, completed, NO_DEPTH, 0),
        ),
    )


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_launch_of_an_eager_step_keeps_the_invariant(
    design,
    c,
    next_entry,
    label,
    previous,
    kept,
    new,
    written,
    written_before,
    completed,
    ahead,
    boundary,
):
    """Launching the next decode step overwrites no state that a label names, nor that of a boundary in flight."""
    c = having(c, **EAGER)
    grid, end = design.grid("decode", c), completed + ahead + 1
    slots = eager(next_entry, label, previous, kept, new, written, written_before)
    after = slot_buffer.step_launched(design, c, slots, end)
    in_flight_then = _with(boundary, grid, end)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "the_boundary_is_ahead": _is_ahead(design, c, boundary, completed, ahead),
            "the_invariant_held": eager_invariant(slots, completed, boundary, slots.written),
        },
        both(
            either(boundary == NO_DEPTH, in_flight_then == boundary),
            _is_ahead(design, c, in_flight_then, completed, ahead + 1),
            eager_invariant(after, completed, in_flight_then, after.written),
        ),
    )


@theorem("life", proved_for=COMPLETED_SWAP, refuted_by=RELEASES, least=LEAST)
def a_result_of_an_eager_step_keeps_the_invariant(
    design,
    c,
    next_entry,
    label,
    previous,
    kept,
    new,
    written,
    written_before,
    completed,
    ahead,
    boundary,
    mixed,
):
    """Processing a result leaves the label with its own state, and the next snapshot another entry."""
    c = having(c, **EAGER)
    grid, end = design.grid("decode", c), completed + 1
    slots = eager(next_entry, label, previous, kept, new, written, written_before)
    after = slot_buffer.step_completed(design, c, slots, end, ahead, mixed_ahead=mixed != 0)
    in_flight_then = _without(boundary, end)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "its_own_boundary_was_written": implies(divides(grid, end), boundary == end),
            "the_boundary_is_ahead": _is_ahead(design, c, boundary, completed, ahead + 1),
            "the_invariant_held": eager_invariant(slots, completed, boundary, slots.written),
        },
        both(
            _is_ahead(design, c, in_flight_then, end, ahead),
            eager_invariant(after, end, in_flight_then, after.written),
        ),
    )


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state(
    design,
    c,
    next_entry,
    label,
    previous,
    kept,
    new,
    written,
    written_before,
    completed,
    boundary,
    entry,
):
    """What the result of a prompt donates is the state of its label, a step or a verify in flight or not; neither that
    label nor the one before stays, and the slot in its place holds no state yet."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, previous, kept, new, written, written_before)
    entry = entry_of(entry)
    after, donated = slot_buffer.prompt_completed(design, c, slots)
    return Statement(
        {"the_invariant_held": eager_invariant(slots, completed, boundary, entry)},
        both(
            donated.saved == (label != NO_DEPTH),
            implies(donated.saved, both(donated.state == label, donated.recorded == label)),
            implies(donated.saved, after.state(slots.kept) == UNWRITTEN),
            after.label == NO_DEPTH,
            after.previous == NO_DEPTH,
            eager_invariant(after, completed, boundary, entry),
        ),
    )


@theorem("life", least=LEAST)
def an_eager_finish_donates_the_state_of_its_label(
    design,
    c,
    next_entry,
    label,
    previous,
    kept,
    new,
    written,
    written_before,
    completed,
    key,
):
    """A request that finishes behind a prompt or a step donates the state that its label names: its key reaches it."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, previous, kept, new, written, written_before)
    donated = slot_buffer.finished(design, c, slots, key)
    return Statement(
        {
            "the_key_has_all_that_is_completed": completed <= key,
            "the_label_is_true": label_is_true(slots, completed),
        },
        both(
            donated.saved == (label != NO_DEPTH),
            implies(donated.saved, both(donated.state == label, donated.recorded == label)),
        ),
    )


@theorem("life", proved_for=COMPLETED_SWAP, least=LEAST)
def a_completed_boundary_is_labelled_and_leaves_the_one_before_in_the_other_entry(
    design, c, next_entry, label, previous, kept, new, written_before, seq_len, ahead
):
    """No boundary passes without a label; the label before it is remembered, with its state in the other entry."""
    c = having(c, **EAGER)
    grid = design.grid("decode", c)
    slots = eager(next_entry, label, previous, kept, new, next_entry, written_before)
    after = slot_buffer.step_completed(design, c, slots, seq_len, ahead)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "the_step_is_a_boundary": divides(grid, seq_len),
        },
        both(
            after.label == seq_len,
            after.previous == label,
            after.state(slot_buffer.other(c, after.kept)) == kept,
        ),
    )


@theorem("life", refuted_by=RELEASES[:1], least=LEAST)
def a_result_keeps_the_entry_that_its_own_step_wrote(
    design, c, next_entry, label, previous, kept, new, written, written_before, seq_len
):
    """Where the result before a boundary comes between its launch and the next one, the boundary's result keeps the entry
    that it was written to, on a grid of one token as well, where the step ahead is another boundary."""
    c = having(c, **EAGER)
    before = eager(next_entry, label, previous, kept, new, written, written_before)
    slots = slot_buffer.step_launched(design, c, before, seq_len)
    slots = slot_buffer.step_completed(design, c, slots, seq_len - 1, 1)
    slots = slot_buffer.step_launched(design, c, slots, seq_len + 1)
    after = slot_buffer.step_completed(design, c, slots, seq_len, 1)
    return Statement(
        {"the_step_is_a_boundary": divides(design.grid("decode", c), seq_len)},
        after.kept == before.next,
    )


# With slots of which the second is allocated at a boundary.


@theorem("life", least=LEAST)
def a_prompts_launch_keeps_the_lazy_invariant(
    design,
    c,
    next_entry,
    second,
    label,
    kept,
    new,
    written,
    written_before,
    start,
    completed,
    wanted,
    passes,
    depth,
    state,
):
    """A new lazy request holds one slot, which is the kept and the next one; a chunk of its prompt leaves it so, and its
    label, if any, true."""
    c = having(c, **LAZY)
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
    after = slot_buffer.prompt_launched(design, c, slots, checkpoint)
    return Statement(
        {
            **_of_a_chunk(checkpoint, start, completed),
            "the_invariant_held": lazy_invariant(slots, start, NO_DEPTH),
        },
        both(
            lazy_invariant(slot_buffer.admitted(c), start, NO_DEPTH),
            lazy_invariant(after, completed, NO_DEPTH),
        ),
    )


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=LEAST)
def a_launch_of_a_lazy_step_keeps_the_invariant(
    design,
    c,
    next_entry,
    second,
    label,
    kept,
    new,
    written,
    written_before,
    completed,
    ahead,
    boundary,
    fails,
):
    """Launching a boundary takes a second slot, or, where none can be had, forgets the label it overwrites."""
    c = having(c, **LAZY)
    grid, end = design.grid("decode", c), completed + ahead + 1
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
    after = slot_buffer.step_launched(design, c, slots, end, fails != 0)
    in_flight_then = _with(boundary, grid, end)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "the_boundary_is_ahead": _is_ahead(design, c, boundary, completed, ahead),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            either(boundary == NO_DEPTH, in_flight_then == boundary),
            _is_ahead(design, c, in_flight_then, completed, ahead + 1),
            after.label == choose(both(fails != 0, divides(grid, end)), NO_DEPTH, label),
            lazy_invariant(after, completed, in_flight_then),
        ),
    )


@theorem("life", refuted_by=RELEASES[:6], least=LEAST)
def a_launch_of_a_lazy_step_in_a_mixed_batch_keeps_the_invariant(
    design,
    c,
    next_entry,
    second,
    label,
    kept,
    new,
    written,
    written_before,
    completed,
    ahead,
    boundary,
    fails,
):
    """A second slot that is given to a boundary step is given back where its batch writes nothing into it: unless none
    could be had, which costs the label, the slots are as they were."""
    c = having(c, **LAZY)
    grid, end = design.grid("decode", c), completed + ahead + 1
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
    after = slot_buffer.mixed_launched(design, c, slots, end, fails != 0)
    same = both(
        after.next == slots.next,
        after.kept == slots.kept,
        after.first == slots.first,
        after.second == slots.second,
    )
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "the_boundary_is_ahead": _is_ahead(design, c, boundary, completed, ahead),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            same,
            after.label == choose(both(fails != 0, divides(grid, end)), NO_DEPTH, label),
            lazy_invariant(after, completed, boundary),
        ),
    )


@theorem("life", least=LEAST)
def a_result_of_a_lazy_step_keeps_the_invariant(
    design,
    c,
    next_entry,
    second,
    label,
    kept,
    new,
    written,
    written_before,
    completed,
    ahead,
    boundary,
    finishes,
    mixed,
):
    """Processing a result labels the slot that a boundary was written to and frees the other one; only a request that
    finishes may lose its donation."""
    c = having(c, **LAZY)
    grid, end = design.grid("decode", c), completed + 1
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
    after = slot_buffer.step_completed(design, c, slots, end, ahead, finishes != 0, mixed != 0)
    in_flight_then = _without(boundary, end)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "its_own_boundary_was_written": implies(divides(grid, end), boundary == end),
            "the_boundary_is_ahead": _is_ahead(design, c, boundary, completed, ahead + 1),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            _is_ahead(design, c, in_flight_then, end, ahead),
            implies(divides(grid, end), after.label == end),
            implies(finishes == 0, after.donates),
            lazy_invariant(after, end, in_flight_then),
        ),
    )


@theorem("life", least=LEAST)
def a_prompts_result_keeps_the_lazy_invariant_and_donates_its_own_state(
    design, c, next_entry, second, label, kept, new, written, written_before, completed, boundary
):
    """What the result of a lazy prompt donates is the state of its label, a first step in flight or not."""
    c = having(c, **LAZY)
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
    after, donated = slot_buffer.prompt_completed(design, c, slots)
    return Statement(
        {
            "the_boundary_is_beyond_the_prompt": either(boundary == NO_DEPTH, boundary > completed),
            "the_invariant_held": lazy_invariant(slots, completed, boundary),
        },
        both(
            donated.saved == (label != NO_DEPTH),
            implies(donated.saved, both(donated.state == label, donated.recorded == label)),
            after.label == NO_DEPTH,
            lazy_invariant(after, completed, boundary),
        ),
    )


@theorem("life", least=LEAST)
def a_lazy_finish_donates_the_state_of_its_label(
    design,
    c,
    next_entry,
    kept_entry,
    label,
    kept,
    other,
    written,
    written_before,
    donates,
    completed,
    key,
):
    """A lazy request that finishes behind a prompt or a step donates the state that its label names, or nothing."""
    c = having(c, **LAZY)
    held = holding(next_entry, kept_entry, label, kept, other, written, written_before)
    slots = replace(held, donates=donates != 0)
    donated = slot_buffer.finished(design, c, slots, key)
    return Statement(
        {"the_label_is_true": label_is_true(slots, completed)},
        implies(donated.saved, both(donated.state == label, donated.recorded == label)),
    )


@theorem("life", least=LEAST)
def a_lazy_step_that_finishes_off_a_boundary_donates_its_label(
    design,
    c,
    next_entry,
    second,
    label,
    kept,
    new,
    written,
    written_before,
    completed,
    ahead,
    mixed,
    key,
):
    """A lazy request whose last step is no boundary donates the label it has, a boundary in flight or not."""
    c = having(c, **LAZY)
    grid, following = design.grid("decode", c), completed + 2
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
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


@theorem("life", least=LEAST)
def a_lazy_step_that_finishes_on_a_boundary_donates_it(
    design, c, next_entry, second, label, kept, new, written, written_before, seq_len, ahead, key
):
    """A lazy request whose last step is a boundary that its key reaches donates under the depth of that boundary."""
    c = having(c, **LAZY)
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
    after = slot_buffer.step_completed(design, c, slots, seq_len, ahead, True)
    donated = slot_buffer.finished(design, c, after, key)
    return Statement(
        {
            "the_step_is_a_boundary": divides(design.grid("decode", c), seq_len),
            "the_key_reaches_it": seq_len <= key,
        },
        both(donated.saved, donated.recorded == seq_len),
    )


@theorem("life", proved_for="sglang-0.5.21", least=LEAST)
def a_stale_lazy_label_is_not_donated(
    design,
    c,
    next_entry,
    second,
    label,
    kept,
    new,
    written,
    written_before,
    completed,
    ahead,
    boundary,
    key,
):
    """0.5.21 keeps the label of a state that a boundary in flight overwrites, and a finish donates nothing under it."""
    c = having(c, **LAZY)
    grid, end = design.grid("decode", c), completed + 1
    slots = lazy(next_entry, second, label, kept, new, written, written_before)
    forgetful = replace(slots, label=NO_DEPTH)
    overwritten = both(second == 0, boundary != NO_DEPTH)
    after = slot_buffer.step_completed(design, c, slots, end, ahead, True)
    donated = slot_buffer.finished(design, c, after, key)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
            "its_own_boundary_was_written": implies(divides(grid, end), boundary == end),
            "the_boundary_is_ahead": _is_ahead(design, c, boundary, completed, ahead + 1),
            "the_key_reaches_the_label": after.label <= key,
            "the_label_is_true_or_overwritten": either(
                label_is_true(slots, completed), overwritten
            ),
            "the_rest_of_the_invariant_held": lazy_invariant(forgetful, completed, boundary),
        },
        implies(donated.saved, donated.state == donated.recorded),
    )


# Without the overlap scheduler one slot suffices: each result comes before the next launch.


@theorem("life", least=LEAST)
def a_prompt_without_overlap_keeps_its_label_true_and_donates_its_own_state(
    design,
    c,
    label,
    previous,
    kept,
    unused,
    written,
    written_before,
    start,
    completed,
    wanted,
    passes,
    depth,
    state,
):
    """A chunk of a prompt leaves the only slot with the state of its label, which its result donates."""
    c = having(c, **SYNCHRONOUS)
    slots = single(label, previous, kept, unused, written, written_before)
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
    launched = slot_buffer.prompt_launched(design, c, slots, checkpoint)
    after, donated = slot_buffer.prompt_completed(design, c, launched)
    return Statement(
        {
            **_of_a_chunk(checkpoint, start, completed),
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


@theorem("life", least=LEAST)
def a_step_without_overlap_keeps_its_label_true(
    design, c, label, previous, kept, unused, written, written_before, completed
):
    """A boundary that is launched and completed before the next launch is labelled in the only slot."""
    c = having(c, **SYNCHRONOUS)
    slots = single(label, previous, kept, unused, written, written_before)
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


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=LEAST)
def a_verify_without_overlap_keeps_its_label_true_if_no_dropped_token_is_on_the_grid(
    design,
    c,
    label,
    previous,
    kept,
    unused,
    written,
    written_before,
    pre,
    accepted,
    retained,
):
    """A verify that is launched and completed before the next one labels the last depth on the grid that it passes; of
    one that a grammar ends, if no token that it drops is on the grid."""
    c = having(c, **SYNCHRONOUS)
    grid = design.grid("verify", c)
    slots = single(label, previous, kept, unused, written, written_before)
    planned, entry = slot_buffer.verify_planned(design, c, slots, pre)
    launched = slot_buffer.verify_launched(design, c, planned, entry, pre, accepted)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, retained)
    point = in_flight(grid, pre, retained)
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


@theorem("life", least=LEAST)
def a_finish_without_overlap_donates_the_state_of_its_label(
    design, c, label, previous, kept, unused, written, written_before, completed, key
):
    """With a single slot there is no earlier state to fall back on, and none is donated."""
    c = having(c, **SYNCHRONOUS)
    slots = single(label, previous, kept, unused, written, written_before)
    donated = slot_buffer.finished(design, c, slots, key)
    return Statement(
        {"the_label_was_true": label_is_true(slots, completed)},
        both(
            donated.saved == both(label != NO_DEPTH, label <= key),
            implies(donated.saved, both(donated.state == label, donated.recorded == label)),
        ),
    )


# Verifies with the overlap scheduler and two slots.


@theorem("life", least={"pre": 0})
def two_verifies_within_the_grid_cross_it_at_most_once(design, c, pre, first, second):
    """Of two verifies in a row that accept no more than the grid together, at most one passes a depth on it."""
    grid = design.grid("verify", c)
    return Statement(
        {"both_accept_at_most_the_grid": first + second <= grid},
        negation(both(verify.crosses(grid, pre, first), verify.crosses(grid, pre + first, second))),
    )


def no_two_cross(grid: Number, pre: Number, accepted: Number, following: Number) -> Truth:
    """That a verify and the one behind it do not both pass a depth on the grid."""
    behind = verify.crosses(grid, pre + accepted, following)
    return negation(both(verify.crosses(grid, pre, accepted), behind))


@theorem("life", least=LEAST)
def an_overlapped_verify_keeps_the_label_true_if_no_two_in_a_row_cross(
    design,
    c,
    next_entry,
    label,
    previous,
    kept,
    new,
    written,
    written_before,
    pre,
    accepted,
    following,
):
    """With a verify in flight or none, launching another one and processing the result leave the label with its own
    state; what was passed is labelled, and the label before it is remembered, with its state in the other entry."""
    c = having(c, **EAGER)
    grid, end = design.grid("verify", c), pre + accepted
    slots = eager(next_entry, label, previous, kept, new, written, written_before)
    planned, entry = slot_buffer.verify_planned(design, c, slots, pre)
    launched = slot_buffer.verify_launched(design, c, planned, entry, end, following)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, accepted)
    passed = in_flight(grid, pre, accepted)
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
            eager_invariant(after, end, in_flight(grid, end, following), entry),
        ),
    )


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=LEAST)
def a_verify_that_finishes_donates_the_state_of_a_label_if_no_two_in_a_row_cross(
    design,
    c,
    next_entry,
    label,
    previous,
    kept,
    new,
    written,
    written_before,
    pre,
    accepted,
    following,
    retained,
    key,
):
    """What a request donates whose last result is a verify's, another one in flight behind it or none, is the state of its
    label, or of the one before where the key is shorter, even where a grammar keeps fewer tokens than accepted."""
    c = having(c, **EAGER)
    grid, end = design.grid("verify", c), pre + accepted
    slots = eager(next_entry, label, previous, kept, new, written, written_before)
    entry = slots.next
    launched = slot_buffer.verify_launched(design, c, slots, entry, end, following)
    after = slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, retained, True)
    donated = slot_buffer.finished(design, c, after, key)
    passed = in_flight(grid, pre, retained)
    return Statement(
        {
            "no_two_in_a_row_cross": no_two_cross(grid, pre, accepted, following),
            "a_verify_is_within_the_grid": accepted <= grid,
            "no_more_is_kept_than_accepted": retained <= accepted,
            "the_key_reaches_its_start": pre <= key,
            "the_invariant_held": eager_invariant(
                slots, pre, in_flight(grid, pre, accepted), slots.next
            ),
        },
        both(
            donated.saved == either(label != NO_DEPTH, both(passed != NO_DEPTH, passed <= key)),
            implies(donated.saved, both(donated.state == donated.recorded, donated.state <= key)),
        ),
    )


# What a prompt and a finish donate.


@theorem("life", refuted_by=RELEASES[:6], least=LEAST)
def a_prompt_donates_its_checkpoint_and_nothing_else(
    design, c, next_entry, previous, kept, new, wanted, passes, depth, state, mixed
):
    """The result of a prompt whose slots had no label donates the checkpoint that its launch wrote, as written, and only
    where one was saved, in one batch with other requests' steps or not."""
    c = having(c, **EAGER)
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
    slots = eager(next_entry, NO_DEPTH, previous, kept, new, 0, 0)
    launched = slot_buffer.prompt_launched(design, c, slots, checkpoint, mixed != 0)
    donated = slot_buffer.prompt_completed(design, c, launched)[1]
    written = both(donated.recorded == depth, donated.state == state)
    return Statement(
        {"the_depth_is_above_0": depth >= 1},
        both(
            donated.saved == both(wanted != 0, passes != 0),
            implies(donated.saved, written),
        ),
    )


@theorem("life", proved_for="sglang-0.5.22", refuted_by=RELEASES[6:], least=LEAST)
def a_prompt_in_a_mixed_batch_donates_a_state_that_it_did_not_write(
    design, c, next_entry, label, previous, kept, new, depth, state, mixed
):
    """Up to 0.5.22 a prompt in one batch with other requests' steps labels a slot that nobody wrote for it, and donates
    whatever it held."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, previous, kept, new, 0, 0)
    checkpoint = Checkpoint(True, True, depth, state)
    launched = slot_buffer.prompt_launched(design, c, slots, checkpoint, mixed != 0)
    donated = slot_buffer.prompt_completed(design, c, launched)[1]
    return Statement(
        {"the_batch_is_mixed": mixed != 0, "the_depth_is_above_0": depth >= 1},
        both(donated.saved, donated.recorded == depth, donated.state == new),
    )


@theorem("life", least=LEAST)
def a_prompts_checkpoint_leaves_the_one_before_in_its_entry(
    design, c, next_entry, label, previous, kept, new, wanted, depth, state
):
    """The checkpoint of a later chunk of a prompt leaves the state of an earlier one where it is."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, previous, kept, new, 0, 0)
    after = slot_buffer.prompt_launched(
        design, c, slots, Checkpoint(wanted != 0, True, depth, state)
    )
    return Statement(
        {"the_chunk_has_a_checkpoint": wanted != 0},
        both(
            after.state(slot_buffer.other(c, after.kept)) == kept, after.state(after.kept) == state
        ),
    )


@theorem("life", proved_for="sglang-0.5.17", least=LEAST)
def a_release_that_derives_what_it_keeps_keeps_what_a_prompt_wrote(
    design, c, next_entry, label, previous, kept, new, wanted, depth, state
):
    """The entry that 0.5.17 derives from the next one is that of the checkpoint a prompt has just written."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, previous, kept, new, 0, 0)
    after = slot_buffer.prompt_launched(
        design, c, slots, Checkpoint(wanted != 0, True, depth, state)
    )
    return Statement({"the_chunk_has_a_checkpoint": wanted != 0}, after.state(after.kept) == state)


@theorem("life", least=LEAST)
def a_finish_donates_the_last_label_that_its_key_reaches(
    design, c, next_entry, label, previous, kept, new, key
):
    """The state of the label is donated if the key reaches it, else that of the label before if the key reaches that one,
    else nothing."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, previous, kept, new, 0, 0)
    donated = slot_buffer.finished(design, c, slots, key)
    falls_back = both(key < label, previous != NO_DEPTH, previous <= key)
    return Statement(
        {"there_is_a_label": label >= 1},
        both(
            donated.saved == either(label <= key, falls_back),
            implies(label <= key, both(donated.recorded == label, donated.state == kept)),
            implies(falls_back, both(donated.recorded == previous, donated.state == new)),
        ),
    )


@theorem("life", proved_for="sglang-0.5.21", least=LEAST)
def an_old_finish_names_no_depth_beyond_its_key_or_its_state(
    design, c, next_entry, label, kept, new, key
):
    """Up to 0.5.21 a finish cuts the label to the key: the state donated may have consumed more, never less."""
    c = having(c, **EAGER)
    donated = slot_buffer.finished(design, c, eager(next_entry, label, 0, kept, new, 0, 0), key)
    return Statement(
        {"the_label_was_true": kept == label},
        both(donated.recorded <= key, donated.recorded <= donated.state),
    )


@theorem("life", proved_for="sglang-0.5.17", least=LEAST)
def a_label_of_the_launched_length_is_ahead_of_its_step(
    design, c, next_entry, label, kept, new, seq_len, ahead
):
    """0.5.17 labels a boundary that was launched ahead one result too early."""
    c = having(c, **EAGER)
    slots = eager(next_entry, label, 0, kept, new, 0, 0)
    after = slot_buffer.step_completed(design, c, slots, seq_len, ahead)
    return Statement(
        {
            "a_step_was_launched_ahead": ahead == 1,
            "the_step_ahead_is_a_boundary": divides(design.grid("decode", c), seq_len + 1),
        },
        after.label == seq_len + 1,
    )
