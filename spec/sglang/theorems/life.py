"""A decoding request in its slots: what is kept under a label is the state of that depth, whatever the order of events.

The invariant is stated for the moment after any event: `completed` is the length whose result was processed last,
`ahead` (0 to 2) how many steps were launched beyond it.  A launch and a result each preserve it, an admission
establishes it, and it makes every donation right.  Lengths, depths and states are tokens.
"""

from __future__ import annotations

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


def _label_is_true(slots: Slots, completed: Number) -> Truth:
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
        _label_is_true(slots, completed),
        slots.kept != slots.next,
        _boundary_is_in_the_next_entry(design, c, slots, completed, ahead),
    )


def _lazy_invariant(design: Any, c: Any, slots: Slots, completed: Number, ahead: Number) -> Truth:
    """What holds of lazy slots after every event: a second slot is held only while a boundary is in flight."""
    second = life.other(c, slots.next)
    alone = slots.state(second) == NO_SLOT
    return both(
        _label_is_true(slots, completed),
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


_LEAST = dict.fromkeys(
    (
        *("next_entry", "second", "label", "kept", "new", "completed", "ahead"),
        *("fails", "key", "wanted", "depth", "state"),
    ),
    0,
)


@theorem("life", proved_for=COMPLETED_SWAP, least=_LEAST)
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


@theorem("life", proved_for=COMPLETED_SWAP, least=_LEAST)
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


@theorem("life", proved_for=COMPLETED_SWAP, refuted_by=RELEASES, least=_LEAST)
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


@theorem("life", proved_for=COMPLETED_SWAP, least=_LEAST)
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


@theorem("life", proved_for=COMPLETED_SWAP, least=_LEAST)
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


@theorem("life", least=_LEAST)
def a_completed_boundary_is_labelled(design, c, next_entry, label, kept, new, seq_len, ahead):
    """No boundary passes without a label: a design that checkpoints nothing is not right."""
    c = having(c, **EAGER)
    slots = _eager(next_entry, label, kept, new)
    after = life.step_completed(design, c, slots, seq_len, ahead)
    return Statement(
        {"the_step_is_a_boundary": divides(design.grid("decode", c), seq_len)},
        after.label == seq_len,
    )


@theorem("life", least=_LEAST)
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


@theorem("life", refuted_by=KEEPING_A_STALE_LABEL, least=_LEAST)
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


@theorem("life", least=_LEAST)
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


@theorem("life", least=_LEAST)
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


@theorem("life", least=_LEAST)
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


@theorem("life", least=_LEAST)
def a_step_without_overlap_keeps_its_label_true(design, c, label, kept, completed):
    """Without the overlap scheduler one slot suffices: each result comes before the next launch."""
    c = having(c, **SYNCHRONOUS)
    slots = Slots(kept, kept, next=0, kept=0, label=label)
    launched = life.step_launched(design, c, slots, completed + 1)
    after = life.step_completed(design, c, launched, completed + 1, 0)
    return Statement(
        {"the_label_was_true": _label_is_true(slots, completed)},
        _label_is_true(after, completed + 1),
    )


@theorem("life", least={"pre": 0})
def two_verifies_within_the_grid_cross_it_at_most_once(design, c, pre, first, second):
    """Of two verifies in a row that accept no more than the grid together, at most one passes a depth on it."""
    grid = design.grid("verify", c)
    return Statement(
        {"both_accept_at_most_the_grid": first + second <= grid},
        negation(both(verify.crosses(grid, pre, first), verify.crosses(grid, pre + first, second))),
    )


@theorem("life", least={**_LEAST, "pre": 0})
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
            "the_label_was_true": _label_is_true(slots, pre),
            "the_one_in_flight_is_in_the_next_entry": in_flight_is_in_the_next_entry(
                slots, slots.next, pre, accepted
            ),
            "the_next_entry_is_0_or_1": next_entry <= 1,
        },
        both(
            _label_is_true(after, end),
            after.kept != after.next,
            in_flight_is_in_the_next_entry(after, slots.next, end, following),
        ),
    )
