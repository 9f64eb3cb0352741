"""Eager slots: two for each request, with the overlap scheduler; what is kept under a label is the state of that depth."""

from dataclasses import replace

from spec.numbers import both, divides, either, implies
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.slot_buffer import UNWRITTEN
from spec.sglang.theorems.library import COMPLETED_SWAP, RELEASES, before, since
from spec.sglang.theorems.slot_invariants import (
    EAGER_SLOTS,
    boundary_after_launch,
    boundary_after_result,
    boundary_is_ahead,
    chunk_hypotheses,
    donates_its_label,
    eager_invariant,
    entry_of,
    label_is_true,
    launch_hypotheses,
    result_hypotheses,
    slots_theorem,
)
from spec.theorem import Statement


@slots_theorem(EAGER_SLOTS, proved_for=COMPLETED_SWAP)
def a_prompts_launch_keeps_the_eager_invariant(
    design, c, slots, start, completed, wanted, passes, depth, state
):
    """The slots of a new request satisfy the invariant, and a chunk of its prompt preserves it, with the label that
    the chunk writes, if any."""
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
    after = slot_buffer.prompt_launched(design, c, slots, checkpoint)
    return Statement(
        {
            **chunk_hypotheses(checkpoint, start, completed),
            "the_invariant_held": eager_invariant(slots, start, NO_DEPTH, 0),
        },
        both(
            eager_invariant(slot_buffer.admitted(c), start, NO_DEPTH, 0),
            eager_invariant(after, completed, NO_DEPTH, 0),
        ),
    )


@slots_theorem(EAGER_SLOTS, proved_for=COMPLETED_SWAP)
def a_launch_of_an_eager_step_keeps_the_invariant(design, c, slots, completed, ahead, boundary):
    """Launching the next decode step overwrites neither a labelled state nor the state of a boundary in flight."""
    grid, end = design.grid("decode", c), completed + ahead + 1
    after = slot_buffer.step_launched(design, c, slots, end)
    in_flight_then = boundary_after_launch(boundary, grid, end)
    return Statement(
        {
            **launch_hypotheses(design, c, boundary, completed, ahead),
            "the_invariant_held": eager_invariant(slots, completed, boundary, slots.written),
        },
        both(
            either(boundary == NO_DEPTH, in_flight_then == boundary),
            boundary_is_ahead(design, c, in_flight_then, completed, ahead + 1),
            eager_invariant(after, completed, in_flight_then, after.written),
        ),
    )


@slots_theorem(EAGER_SLOTS, proved_for=COMPLETED_SWAP, refuted_by=RELEASES)
def a_result_of_an_eager_step_keeps_the_invariant(
    design, c, slots, completed, ahead, boundary, mixed
):
    """Processing the result of a step leaves the label with its own state, and the next snapshot goes to the other
    slot."""
    end = completed + 1
    after = slot_buffer.step_completed(design, c, slots, end, ahead, mixed_ahead=mixed != 0)
    in_flight_then = boundary_after_result(boundary, end)
    return Statement(
        {
            **result_hypotheses(design, c, boundary, completed, ahead),
            "the_invariant_held": eager_invariant(slots, completed, boundary, slots.written),
        },
        both(
            boundary_is_ahead(design, c, in_flight_then, end, ahead),
            eager_invariant(after, end, in_flight_then, after.written),
        ),
    )


@slots_theorem(EAGER_SLOTS, proved_for=COMPLETED_SWAP)
def a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state(
    design, c, slots, label, completed, boundary, entry
):
    """The result of a prompt donates the state of its label, whether a step or a verify is in flight or not;
    afterwards there is no label, and the slot in its place holds no state."""
    entry = entry_of(entry)
    after, donated = slot_buffer.prompt_completed(design, c, slots)
    return Statement(
        {"the_invariant_held": eager_invariant(slots, completed, boundary, entry)},
        both(
            donated.saved == (label != NO_DEPTH),
            donates_its_label(donated, slots),
            implies(donated.saved, after.state(slots.kept) == UNWRITTEN),
            after.label == NO_DEPTH,
            after.previous == NO_DEPTH,
            eager_invariant(after, completed, boundary, entry),
        ),
    )


@slots_theorem(EAGER_SLOTS)
def an_eager_finish_donates_the_state_of_its_label(design, c, slots, label, completed, key):
    """A request that finishes after a prompt or a step donates the state of its label, because its key has all
    completed tokens."""
    donated = slot_buffer.finished(design, c, slots, key)
    return Statement(
        {
            "the_key_has_all_that_is_completed": completed <= key,
            "the_label_is_true": label_is_true(slots, completed),
        },
        both(
            donated.saved == (label != NO_DEPTH),
            donates_its_label(donated, slots),
        ),
    )


@slots_theorem(EAGER_SLOTS, proved_for=COMPLETED_SWAP, written=0)
def a_completed_boundary_is_labelled_and_the_checkpoint_before_it_stays_in_the_other_slot(
    design, c, slots, label, kept, seq_len, ahead
):
    """Every completed boundary is labelled; the label before it is remembered, and its state stays in the other
    slot."""
    grid, written = design.grid("decode", c), replace(slots, written=slots.next)
    after = slot_buffer.step_completed(design, c, written, seq_len, ahead)
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


@slots_theorem(EAGER_SLOTS, refuted_by=before("0.5.18"))
def a_result_keeps_the_slot_that_its_own_step_wrote(design, c, before, seq_len):
    """If the result before a boundary is processed between the boundary's launch and the next launch, the
    boundary's result keeps the slot that the boundary was written to, also on a grid of one token, where the step
    ahead is another boundary."""
    slots = slot_buffer.step_launched(design, c, before, seq_len)
    slots = slot_buffer.step_completed(design, c, slots, seq_len - 1, 1)
    slots = slot_buffer.step_launched(design, c, slots, seq_len + 1)
    after = slot_buffer.step_completed(design, c, slots, seq_len, 1)
    return Statement(
        {"the_step_is_a_boundary": divides(design.grid("decode", c), seq_len)},
        after.kept == before.next,
    )


@slots_theorem(
    EAGER_SLOTS, refuted_by=before("0.5.23"), label=NO_DEPTH, written=0, written_before=0
)
def a_prompt_donates_its_checkpoint_and_nothing_else(
    design, c, slots, wanted, passes, depth, state, mixed
):
    """If there was no label, the result of a prompt donates exactly the checkpoint that its launch saved, or
    nothing if none was saved, also in a batch mixed with other requests' steps."""
    checkpoint = Checkpoint(wanted != 0, passes != 0, depth, state)
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


@slots_theorem(
    EAGER_SLOTS, proved_for="sglang-0.5.22", refuted_by=since("0.5.23"), written=0, written_before=0
)
def a_prompt_in_a_mixed_batch_donates_a_state_that_it_did_not_write(
    design, c, slots, new, depth, state, mixed
):
    """Up to 0.5.22 a prompt in a batch mixed with other requests' steps labels a slot that was not written for it,
    and donates what that slot held before."""
    checkpoint = Checkpoint(True, True, depth, state)
    launched = slot_buffer.prompt_launched(design, c, slots, checkpoint, mixed != 0)
    donated = slot_buffer.prompt_completed(design, c, launched)[1]
    return Statement(
        {"the_batch_is_mixed": mixed != 0, "the_depth_is_above_0": depth >= 1},
        both(donated.saved, donated.recorded == depth, donated.state == new),
    )


@slots_theorem(EAGER_SLOTS, written=0, written_before=0)
def a_later_prompt_checkpoint_leaves_the_earlier_one_in_its_slot(
    design, c, slots, kept, wanted, depth, state
):
    """The checkpoint of a later chunk of a prompt leaves the state of an earlier chunk in the other slot."""
    after = slot_buffer.prompt_launched(
        design, c, slots, Checkpoint(wanted != 0, True, depth, state)
    )
    return Statement(
        {"the_chunk_has_a_checkpoint": wanted != 0},
        both(
            after.state(slot_buffer.other(c, after.kept)) == kept, after.state(after.kept) == state
        ),
    )


@slots_theorem(EAGER_SLOTS, proved_for="sglang-0.5.17", written=0, written_before=0)
def deriving_the_kept_slot_preserves_the_prompt_checkpoint(design, c, slots, wanted, depth, state):
    """The slot that 0.5.17 derives as the kept one is the slot to which the prompt's checkpoint was just written."""
    after = slot_buffer.prompt_launched(
        design, c, slots, Checkpoint(wanted != 0, True, depth, state)
    )
    return Statement({"the_chunk_has_a_checkpoint": wanted != 0}, after.state(after.kept) == state)


@slots_theorem(EAGER_SLOTS, written=0, written_before=0)
def a_finish_donates_the_last_label_that_its_key_reaches(
    design, c, slots, label, previous, kept, new, key
):
    """A finish donates the state of the label if the key reaches it, else the state of the label before if the key
    reaches that one, else nothing."""
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


@slots_theorem(EAGER_SLOTS, proved_for="sglang-0.5.21", previous=0, written=0, written_before=0)
def an_old_finish_names_no_depth_beyond_its_key_or_its_state(design, c, slots, label, kept, key):
    """Up to 0.5.21 a finish cuts the label to the key: the donated state has consumed at least as many tokens as
    recorded, possibly more."""
    donated = slot_buffer.finished(design, c, slots, key)
    return Statement(
        {"the_label_was_true": kept == label},
        both(donated.recorded <= key, donated.recorded <= donated.state),
    )


@slots_theorem(EAGER_SLOTS, proved_for="sglang-0.5.17", previous=0, written=0, written_before=0)
def a_label_of_the_launched_length_is_ahead_of_its_step(design, c, slots, seq_len, ahead):
    """0.5.17 labels a boundary that was launched ahead already at the result of the step before it."""
    after = slot_buffer.step_completed(design, c, slots, seq_len, ahead)
    return Statement(
        {
            "a_step_was_launched_ahead": ahead == 1,
            "the_step_ahead_is_a_boundary": divides(design.grid("decode", c), seq_len + 1),
        },
        after.label == seq_len + 1,
    )
