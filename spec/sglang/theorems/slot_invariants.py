"""The invariants of a request's slots, and the forms in which theorems take slots.

An invariant holds after every event: an admission establishes it, a launch and a result each preserve it, and it makes
every donation right.  `completed` is the length whose result was processed last (of a prompt: that was launched last),
`boundary` the depth of a checkpoint that a step or a verify in flight has written (0: none).  A theorem takes the slots
as they may be: every field is a parameter.  Lengths, depths and states are tokens; an entry is the first one where its
number is 0, else the second one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

from spec.numbers import Number, Truth, both, choose, divides, either, implies, negation
from spec.sglang.checkpoints import Checkpoint
from spec.sglang.rules import verify
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.slot_buffer import NO_SLOT, UNWRITTEN, Slots
from spec.sglang.theorems.library import before, having, theorem
from spec.theorem import Statement, Theorem

EAGER = {"strategy": "extra_buffer", "overlap": True}
LAZY = {"strategy": "extra_buffer_lazy", "overlap": True}
SYNCHRONOUS = {"strategy": "extra_buffer", "overlap": False}
KEEPING_A_STALE_LABEL = before("0.5.22")
MOST_OUTSTANDING = 2

_FROM_ZERO = (
    "next_entry kept_entry second label previous written written_before planned donates completed ahead boundary entry fails "
    "key mixed wanted passes depth state finishes committed pre retained accepted following start"
)
LEAST = dict.fromkeys(_FROM_ZERO.split(), 0)
LEAST |= {"kept": UNWRITTEN, "new": UNWRITTEN, "unused": UNWRITTEN, "other": NO_SLOT}


@dataclass(frozen=True)
class Form:
    """A kind of slots: the function that makes them of numbers, and the configurations (some fields) that have them."""

    slots: Callable[..., Slots]
    fields: Mapping[str, Any]


def slots_theorem(
    form: Form,
    *,
    proved_for: str | None = None,
    refuted_by: tuple[str, ...] = (),
    **fixed: int,
) -> Callable[[Callable[..., Statement]], Theorem]:
    """Enter a function ``(design, c, slots, *lengths) -> Statement`` in the family `slots`.

    The theorem's parameters are the numbers that the form makes slots of, but for those `fixed` here, and the lengths;
    a length that bears the name of such a number is that number.
    """
    numbers = [name for name in signature(form.slots).parameters if name not in fixed]

    def enter(state: Callable[..., Statement]) -> Theorem:
        lengths = list(signature(state).parameters)[3:]

        @wraps(state)
        def stated(design: Any, c: Any, **values: Number) -> Statement:
            slots = form.slots(**{name: values[name] for name in numbers}, **fixed)
            given = {name: values[name] for name in lengths}
            return state(design, having(c, **form.fields), slots, **given)

        names = dict.fromkeys(("design", "c", *numbers, *lengths))
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        stated.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        enter_it = theorem("slots", proved_for=proved_for, refuted_by=refuted_by, least=LEAST)
        return enter_it(stated)

    return enter


def entry_of(number: Number) -> Number:
    """The entry that any number stands for."""
    return choose(number == 0, 0, 1)


def label_is_true(slots: Slots, completed: Number) -> Truth:
    """If there is a label, the kept state has consumed as many tokens, and its step has completed."""
    kept = both(slots.state(slots.kept) == slots.label, slots.label <= completed)
    return either(slots.label == NO_DEPTH, kept)


def donates_its_label(donated: Checkpoint, slots: Slots) -> Truth:
    """The donation, if there is one, is the state that the label of these slots names."""
    return implies(
        donated.saved, both(donated.state == slots.label, donated.recorded == slots.label)
    )


def boundary_is_ahead(
    design: Any, c: Any, boundary: Number, completed: Number, ahead: Number
) -> Truth:
    """The checkpoint in flight, if any, is that of one of the `ahead` steps launched beyond the completed one."""
    launched = both(boundary > completed, boundary <= completed + ahead)
    return implies(
        boundary != NO_DEPTH, both(launched, divides(design.grid("decode", c), boundary))
    )


def boundary_after_launch(boundary: Number, grid: Number, seq_len: Number) -> Number:
    """The checkpoint in flight once the step at `seq_len` was launched."""
    return choose(divides(grid, seq_len), seq_len, boundary)


def boundary_after_result(boundary: Number, seq_len: Number) -> Number:
    """The checkpoint in flight once the step at `seq_len` has completed."""
    return choose(boundary == seq_len, NO_DEPTH, boundary)


def boundary_of_verify(grid: Number, pre: Number, accepted: Number) -> Number:
    """The depth of the checkpoint that a verify from `pre` writes (0: none)."""
    crosses = verify.crosses(grid, pre, accepted)
    return choose(crosses, verify.tracking_point(grid, pre, accepted), NO_DEPTH)


def no_two_cross(grid: Number, pre: Number, accepted: Number, following: Number) -> Truth:
    """A verify and the one behind it do not both pass a depth on the grid."""
    behind = verify.crosses(grid, pre + accepted, following)
    return negation(both(verify.crosses(grid, pre, accepted), behind))


def chunk_hypotheses(checkpoint: Checkpoint, start: Number, end: Number) -> dict[str, Truth]:
    """What is known of the checkpoint that a chunk of a prompt leaves."""
    right = checkpoint.state == checkpoint.recorded
    return {
        "a_state_is_saved_under_its_depth": implies(checkpoint.saved, right),
        "the_depth_is_within_the_chunk": implies(checkpoint.saved, checkpoint.recorded <= end),
        "the_chunk_goes_on": start <= end,
    }


def launch_hypotheses(
    design: Any, c: Any, boundary: Number, completed: Number, ahead: Number
) -> dict[str, Truth]:
    """What is known where a decode step is launched, `ahead` others being in flight."""
    return {
        "the_grid_is_above_one_token": design.grid("decode", c) > 1,
        "at_most_two_steps_are_outstanding": ahead + 1 <= MOST_OUTSTANDING,
        "the_boundary_is_ahead": boundary_is_ahead(design, c, boundary, completed, ahead),
    }


def result_hypotheses(
    design: Any, c: Any, boundary: Number, completed: Number, ahead: Number
) -> dict[str, Truth]:
    """What is known where the result of the step behind `completed` is processed, `ahead` others being in flight."""
    grid, end = design.grid("decode", c), completed + 1
    return {
        "the_grid_is_above_one_token": grid > 1,
        "its_own_boundary_was_written": implies(divides(grid, end), boundary == end),
        "the_boundary_is_ahead": boundary_is_ahead(design, c, boundary, completed, ahead + 1),
    }


def _is_in_the_next_entry(slots: Slots, boundary: Number, entry: Number) -> Truth:
    """The checkpoint in flight, if any, is where the next one goes, and was written there last."""
    return implies(
        boundary != NO_DEPTH, both(slots.state(slots.next) == boundary, entry == slots.next)
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
    """The slots without the overlap scheduler: only one is used, which is both the kept and the next one."""
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
    """Any lazy slots: any entry is the next one; `kept` is in the kept entry and `other` in the other one."""
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


def between_verifies(
    next_entry: Number, second: Number, label: Number, kept: Number, new: Number
) -> Slots:
    """Lazy slots that keep the next entry, with the state `kept`; a `second` slot, where one is held, has `new`."""
    held, following = choose(second != 0, new, NO_SLOT), entry_of(next_entry)
    return Slots(
        choose(following == 0, kept, held),
        choose(following == 0, held, kept),
        next=following,
        kept=following,
        label=label,
    )


EAGER_SLOTS = Form(eager, EAGER)
LAZY_SLOTS = Form(lazy, LAZY)
ANY_LAZY_SLOTS = Form(holding, LAZY)
BETWEEN_VERIFIES = Form(between_verifies, LAZY)
SINGLE_SLOT = Form(single, SYNCHRONOUS)
