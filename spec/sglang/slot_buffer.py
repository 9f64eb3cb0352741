"""The ping-pong slots of a request from admission to finish: what they hold after each event, and what is donated.

Each event is a function from the slots before it to the slots after it, written with the arithmetic of
`spec.numbers`.  An *entry* is an index of the ping-pong buffer, 0 or 1.  Steps are decode steps; with speculation
verifies take their place.
Source: SGLang 0.5.17 to 0.5.23, see `rules/slots.py`; `mem_cache/memory_pool.py` (`HybridReqToTokenPool`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spec.numbers import Number, Truth, both, choose, either, implies, negation
from spec.records import replace
from spec.sglang.checkpoints import Checkpoint, decode_checkpoint, verify_checkpoint, verify_label
from spec.sglang.releases import Design, current
from spec.sglang.rules.slots import NO_DEPTH

UNWRITTEN = -1  # the state of a slot that no forward pass wrote
NO_SLOT = -2  # an entry that holds no slot


@dataclass(frozen=True)
class Slots:
    """The two entries of a request's buffer, each the tokens that the state in its slot has consumed.

    `next`: the entry that a snapshot is written to; `kept`: the entry that is donated; `label`, `previous`: depths
    (tokens) of the last checkpoint and the one before; `written`, `written_before`: the entries that the last two
    boundary steps wrote; `donates`: whether a finish may donate.
    """

    first: Number
    second: Number
    next: Number
    kept: Number
    label: Number = NO_DEPTH
    previous: Number = NO_DEPTH
    written: Number = 0
    written_before: Number = 0
    donates: Truth = True

    def state(self, entry: Number) -> Number:
        """Tokens consumed by the state in an entry."""
        return choose(entry == 0, self.first, self.second)

    def put(self, entry: Number, state: Number) -> Slots:
        """The slots with another state in an entry."""
        return replace(
            self,
            first=choose(entry == 0, state, self.first),
            second=choose(entry == 0, self.second, state),
        )

    def where(self, condition: Truth, otherwise: Slots) -> Slots:
        """These slots where the condition holds, the others elsewhere."""
        if isinstance(condition, bool):
            return self if condition else otherwise
        numbers = {
            name: choose(condition, getattr(self, name), getattr(otherwise, name))
            for name in (
                *("first", "second", "next", "kept", "label", "previous"),
                *("written", "written_before"),
            )
        }
        donates = both(
            implies(condition, self.donates), implies(negation(condition), otherwise.donates)
        )
        return Slots(**numbers, donates=donates)


def is_lazy(c: Any) -> bool:
    """Whether the second slot is allocated at a boundary and freed behind it."""
    return c.strategy == "extra_buffer_lazy"


def other(c: Any, entry: Number) -> Number:
    """The other entry; the same where a request has only one, which is without the overlap scheduler."""
    return 1 - entry if c.overlap else entry


def _keep(design: Design, c: Any, slots: Slots, entry: Number) -> Slots:
    """Keep an entry; a release that stores none derives it from the next one."""
    if not design.stores_the_kept_entry:
        entry = slots.next if is_lazy(c) else other(c, slots.next)
    return replace(slots, kept=entry)


def _alone(c: Any, slots: Slots) -> Truth:
    """Whether the other entry holds no slot."""
    return slots.state(other(c, slots.next)) == NO_SLOT


def admitted(c: Any) -> Slots:
    """The slots of a new request."""
    if is_lazy(c):
        return Slots(UNWRITTEN, NO_SLOT, next=0, kept=0)
    return Slots(UNWRITTEN, UNWRITTEN, next=0, kept=other(c, 0))


def keeping(label: Number, previous: Number = NO_DEPTH) -> Slots:
    """The slots of a request that keeps the state of its last label, with that of the one before in the other entry."""
    return Slots(label, previous, next=1, kept=0, label=label, previous=previous)


def prompt_launched(
    design: Design, c: Any, slots: Slots, checkpoint: Checkpoint, mixed: Truth = False
) -> Slots:
    """After the launch of an extend: its checkpoint, if any, is written and kept.

    `mixed`: in one batch with steps of other requests, where up to 0.5.22 it is kept and not written.
    """
    entry = slots.next
    written = slots.put(entry, checkpoint.state)
    if not design.writes_mixed_prompts:
        written = slots.where(mixed, written)
    following = entry if is_lazy(c) else other(c, entry)
    written = replace(written, next=following, label=checkpoint.recorded)
    return _keep(design, c, written, entry).where(checkpoint.saved, slots)


def prompt_completed(design: Design, c: Any, slots: Slots) -> tuple[Slots, Checkpoint]:
    """After the result of an extend: the kept slot is donated under its label and replaced by a new one."""
    labelled = slots.label != NO_DEPTH
    donated = Checkpoint(labelled, True, slots.label, slots.state(slots.kept))
    after = slots.put(slots.kept, UNWRITTEN).where(labelled, slots)
    return replace(after, label=NO_DEPTH, previous=NO_DEPTH), donated


def _with_a_second_slot(design: Design, c: Any, slots: Slots, allocation_fails: Truth) -> Slots:
    """Lazy slots that a boundary step is launched with: the next entry is the one that was free."""
    second = other(c, slots.next)
    moved = replace(slots.put(second, UNWRITTEN), next=second)
    moved = _keep(design, c, moved, moved.kept)
    in_place = replace(slots, label=NO_DEPTH) if design.failure_forgets_the_label else slots
    return in_place.where(allocation_fails, moved).where(_alone(c, slots), slots)


def step_launched(
    design: Design, c: Any, slots: Slots, seq_len: Number, allocation_fails: Truth = False
) -> Slots:
    """After the launch of the decode step that brings the request to `seq_len` tokens."""
    before = slots
    if is_lazy(c):
        slots = _with_a_second_slot(design, c, slots, allocation_fails)
    snapshot = decode_checkpoint(design, c, seq_len)
    written = replace(slots, written=slots.next, written_before=slots.written)
    written = written.put(written.next, snapshot.state)
    return written.where(snapshot.saved, before)


def mixed_launched(
    design: Design, c: Any, slots: Slots, seq_len: Number, allocation_fails: Truth = False
) -> Slots:
    """After the launch of the step at `seq_len` tokens in one batch with a chunk of another prompt.

    The batch has no mask for it, so that it writes no state, and its result does nothing to slots.  A lazy request has
    been given its second slot before; from 0.5.23 on that is given back.
    """
    if not is_lazy(c):
        return slots
    given = _with_a_second_slot(design, c, slots, allocation_fails)
    if design.undoes_mixed_allocations:
        before = other(c, given.next)
        back = replace(given.put(given.next, NO_SLOT), next=before)
        given = given.where(_alone(c, given), back)
    return given.where(current(design.decode_snapshots)(design.grid("decode", c), seq_len), slots)


def step_completed(
    design: Design,
    c: Any,
    slots: Slots,
    seq_len: Number,
    lookahead: Number,
    finishes: Truth = False,
    mixed_ahead: Truth = False,
) -> Slots:
    """After the result of the step at `seq_len` tokens, `lookahead` later steps having been launched.

    `mixed_ahead`: whether that later step runs in a mixed batch.
    """
    grid = design.grid("decode", c)
    depth = current(design.label)(grid, seq_len, lookahead)
    labels = depth != NO_DEPTH
    ahead = both(lookahead != 0, current(design.decode_snapshots)(grid, seq_len + 1))
    written_ahead = both(ahead, negation(mixed_ahead))
    entry = choose(written_ahead, slots.written_before, slots.written)
    if not design.stores_the_kept_entry:
        entry = slots.next
    labelled = replace(slots, label=depth, kept=entry)
    if is_lazy(c):
        in_place = _alone(c, slots)
        if design.stores_the_kept_entry:
            taken = written_ahead if design.undoes_mixed_allocations else ahead
            overwritten = both(negation(labels), taken, slots.next == slots.kept)
        else:
            overwritten = both(labels, in_place)
        labelled = replace(labelled, next=entry).put(other(c, entry), NO_SLOT)
        after = labelled.where(labels, slots)
        lost = both(finishes, overwritten)
        return replace(after, donates=both(slots.donates, negation(lost)))
    previous = slots.label if design.fallback_slot else NO_DEPTH
    after = replace(labelled, previous=previous).where(labels, slots)
    swaps = current(design.swap)(grid, seq_len, lookahead)
    after = replace(after, next=choose(swaps, other(c, slots.next), slots.next))
    return _keep(design, c, after, after.kept)


def verify_planned(
    design: Design, c: Any, slots: Slots, committed: Number, allocation_fails: Truth = False
) -> tuple[Slots, Number]:
    """The slots and the entry that a verify may write, planned when `committed` tokens are known."""
    if not is_lazy(c):
        return slots, slots.next
    grid, tokens = design.grid("verify", c), c.speculative_num_draft_tokens
    possible = current(design.verify_plans)(grid, committed, tokens)
    alone, second = _alone(c, slots), other(c, slots.next)
    failed = replace(slots, label=NO_DEPTH) if design.failure_forgets_the_label else slots
    taken = failed.where(allocation_fails, slots.put(second, UNWRITTEN)).where(alone, slots)
    planned = taken.where(possible, slots)
    free = both(possible, planned.state(second) != NO_SLOT)
    return planned, choose(free, second, slots.next)


def verify_launched(
    design: Design, c: Any, slots: Slots, entry: Number, pre: Number, accepted: Number
) -> Slots:
    """After the launch of a verify from depth `pre` that accepts `accepted` tokens, planned for `entry`."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    return slots.put(entry, checkpoint.state).where(checkpoint.saved, slots)


def verify_completed(
    design: Design,
    c: Any,
    slots: Slots,
    entry: Number,
    pre: Number,
    accepted: Number,
    retained: Number,
    finishes: Truth = False,
) -> Slots:
    """After the result of a verify of which `retained` tokens are kept; a grammar may keep fewer than accepted."""
    grid, end = design.grid("verify", c), pre + retained
    crossed, depth = verify_label(design, c, pre, accepted, retained)
    if not is_lazy(c):
        previous = slots.label if design.fallback_slot else NO_DEPTH
        labelled = replace(
            slots, label=depth, kept=slots.next, next=other(c, slots.next), previous=previous
        )
        return labelled.where(crossed, slots)
    into_the_kept = both(crossed, entry == slots.next)
    possible = current(design.verify_plans)(grid, end, c.speculative_num_draft_tokens)
    lost = either(into_the_kept, both(_alone(c, slots), possible))
    last = replace(slots, donates=both(slots.donates, negation(lost)))
    promoted = replace(slots.put(slots.next, NO_SLOT), next=entry).where(entry != slots.next, slots)
    promoted = replace(promoted, label=depth, kept=entry).where(crossed, slots)
    return last.where(finishes, promoted)


def finished(design: Design, c: Any, slots: Slots, key_length: Number) -> Checkpoint:
    """What a finished request donates under a key of `key_length` tokens."""
    entry, previous = slots.kept, slots.previous if c.overlap else NO_DEPTH
    depth = current(design.finish_depth)(key_length, slots.label, previous)
    if design.fallback_slot:
        entry = choose(slots.label <= key_length, slots.kept, other(c, slots.kept))
    wanted = both(slots.donates, depth != NO_DEPTH)
    return Checkpoint(wanted, True, depth, slots.state(entry), key_length)
