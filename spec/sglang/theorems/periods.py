"""Which states a search of event orders treats as one: those that differ by whole periods, or by exchanged slots.

`shift` is the number of tokens by which a whole request is later.  Each theorem is about one rule; that a request made
of such rules continues in the same way is the induction over its events that stays outside the solver.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spec.numbers import Truth, both, divides, either, implies
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import (
    Checkpoint,
    extend_checkpoint,
    misplaced,
    verify_checkpoint,
    verify_label,
)
from spec.sglang.releases import current
from spec.sglang.rules import grids
from spec.sglang.rules.slots import NO_DEPTH
from spec.sglang.slot_buffer import Slots
from spec.sglang.theorems.library import having, theorem
from spec.sglang.theorems.slot_invariants import EAGER, LAZY
from spec.theorem import Statement

LEAST = dict.fromkeys(
    (
        *("pre", "prefix", "committed", "state", "previous", "lookahead", "fails"),
        *("first", "second", "next_entry", "kept", "label", "written", "written_before"),
    ),
    0,
)
# An entry of lazy slots may hold no slot, or one that nobody has written.
LEAST_LAZY = {**LEAST, "first": slot_buffer.NO_SLOT, "second": slot_buffer.NO_SLOT}


def _later(a: Checkpoint, b: Checkpoint, shift: Any) -> Truth:
    """Whether a checkpoint is saved, or stops the engine, exactly where another one does, `shift` tokens deeper."""
    same = both(a.wanted == b.wanted, implies(a.wanted, a.passes == b.passes))
    deeper = both(b.recorded == a.recorded + shift, b.state == a.state + shift)
    return both(same, implies(a.wanted, deeper))


@theorem("periods", least=LEAST)
def a_verify_whole_grids_later_saves_the_same_draft_step(design, c, pre, accepted, shift):
    """A verify that starts whole verify grids later saves the state of the same draft step, at a depth that is
    later by as much."""
    first = verify_checkpoint(design, c, pre, accepted)
    later = verify_checkpoint(design, c, pre + shift, accepted)
    return Statement(
        {"it_is_whole_grids_later": divides(design.grid("verify", c), shift)},
        _later(first, later, shift),
    )


@theorem("periods", proved_for="sglang-0.5.21", least=LEAST)
def a_verify_whole_grids_later_labels_a_depth_as_much_later(
    design, c, pre, accepted, retained, shift
):
    """Up to 0.5.21 a label looks for a boundary among all accepted tokens before the end; if these do not reach
    back before the first token, a verify whole grids later labels a depth that is later by as much, or none as
    well."""
    crossed, depth = verify_label(design, c, pre, accepted, retained)
    again, deeper = verify_label(design, c, pre + shift, accepted, retained)
    labels, labels_later = both(crossed, depth != NO_DEPTH), both(again, deeper != NO_DEPTH)
    return Statement(
        {
            "it_is_whole_grids_later": divides(design.grid("verify", c), shift),
            "the_start_is_not_before_the_first_token": accepted <= pre + retained,
        },
        both(labels == labels_later, implies(labels, deeper == depth + shift)),
    )


@theorem("periods", least=LEAST)
def whole_grids_later_a_second_slot_is_planned_alike(design, c, committed, shift):
    """Whether a lazy request plans a second slot does not change with whole verify grids."""
    grid, tokens = design.grid("verify", c), c.speculative_num_draft_tokens
    plans = current(design.verify_plans)
    return Statement(
        {"it_is_whole_grids_later": divides(grid, shift)},
        plans(grid, committed, tokens) == plans(grid, committed + shift, tokens),
    )


@theorem("periods", least=LEAST)
def whole_grids_later_a_step_snapshots_labels_and_swaps_alike(design, c, seq_len, lookahead, shift):
    """A decode step whole decode grids later snapshots and swaps exactly if this one does, and labels a depth that
    is later by as much."""
    grid = design.grid("decode", c)
    snapshots, swaps, label = (
        current(rule) for rule in (design.decode_snapshots, design.swap, design.label)
    )
    depth, deeper = label(grid, seq_len, lookahead), label(grid, seq_len + shift, lookahead)
    return Statement(
        {"it_is_whole_grids_later": divides(grid, shift)},
        both(
            snapshots(grid, seq_len) == snapshots(grid, seq_len + shift),
            swaps(grid, seq_len, lookahead) == swaps(grid, seq_len + shift, lookahead),
            (depth == NO_DEPTH) == (deeper == NO_DEPTH),
            implies(depth != NO_DEPTH, deeper == depth + shift),
        ),
    )


@theorem("periods", least=LEAST)
def whole_grids_later_an_extend_donates_a_depth_as_much_later(design, c, prefix, end, shift):
    """An extend whole donation grids later donates exactly if this one does, a state whose depth is later by as
    much."""
    first = extend_checkpoint(design, c, prefix, end)
    later = extend_checkpoint(design, c, prefix + shift, end + shift)
    return Statement(
        {
            "it_is_whole_grids_later": divides(design.grid("extend", c), shift),
        },
        _later(first, later, shift),
    )


@theorem("periods", least=LEAST)
def whole_pages_later_a_donation_is_wrong_exactly_if_this_one_is(
    design, c, depth, key, state, shift
):
    """A donation whole tree pages later gets a wrong prefix exactly if this one does, provided that this one has a
    node."""
    page = grids.tree_page(c)

    def wrong(by: Any) -> Truth:
        return misplaced(design, c, Checkpoint(True, True, depth + by, state + by, key + by))

    return Statement(
        {
            "it_is_whole_pages_later": divides(page, shift),
            "a_node_is_as_short_as_the_depth": page <= depth,
            "a_node_is_as_short_as_the_key": page <= key,
        },
        wrong(0) == wrong(shift),
    )


@theorem("periods", least=LEAST)
def a_label_that_the_key_reaches_is_donated_whatever_the_key(design, c, key, label, previous):
    """A label that the key reaches is donated under its own depth, however long the key is."""
    depth = current(design.finish_depth)(key, label, previous)
    return Statement({"the_key_reaches_the_label": label <= key}, depth == label)


@theorem("periods", proved_for="sglang-0.5.21", least=LEAST)
def a_later_label_is_less_than_one_verify_before_the_last_result(
    design, c, pre, accepted, retained
):
    """If the result of a verify labels a depth, that lies less than one verify before the verify's start."""
    crossed, depth = verify_label(design, c, pre, accepted, retained)
    return Statement(
        {
            "no_more_is_accepted_than_drafted": accepted <= c.speculative_num_draft_tokens,
            "it_labels": crossed,
        },
        depth + c.speculative_num_draft_tokens > pre,
    )


@theorem("periods", least=LEAST)
def a_state_before_the_tree_page_of_its_label_is_always_wrong(design, c, depth, state):
    """A state that ends before the tree page of a depth gets a wrong prefix under that depth, however far before."""
    page = grids.tree_page(c)
    checkpoint = Checkpoint(True, True, depth, state, depth)
    return Statement(
        {
            "the_state_is_before_the_page": state < depth // page * page,
        },
        misplaced(design, c, checkpoint),
    )


def _turned(slots: Slots) -> Slots:
    """The slots with the two entries exchanged."""
    entries = {n: 1 - getattr(slots, n) for n in ("next", "kept", "written", "written_before")}
    return replace(slots, first=slots.second, second=slots.first, **entries)


def _alike(a: Slots, b: Slots) -> Truth:
    numbers = ("first", "second", "next", "kept", "label", "previous", "written", "written_before")
    return both(*(getattr(a, n) == getattr(b, n) for n in numbers), a.donates == b.donates)


def _slots(first: Any, second: Any, next_entry: Any, kept: Any, label: Any, written: Any) -> Slots:
    return Slots(first, second, next_entry, kept, label, NO_DEPTH, written, 1 - written)


def _entries(*entries: Any) -> dict[str, Truth]:
    return {"entries_are_0_or_1": both(*(entry <= 1 for entry in entries))}


@theorem("periods", least=LEAST)
def an_eager_step_treats_the_two_slots_alike(
    design, c, first, second, next_entry, kept, label, written, seq_len, lookahead
):
    """With the two slots exchanged, the launch and the result of a step have the same effect, exchanged."""
    c = having(c, **EAGER)
    slots = _slots(first, second, next_entry, kept, label, written)
    launched, other = (
        slot_buffer.step_launched(design, c, s, seq_len) for s in (slots, _turned(slots))
    )
    done, other_done = (
        slot_buffer.step_completed(design, c, s, seq_len, lookahead)
        for s in (slots, _turned(slots))
    )
    return Statement(
        _entries(next_entry, kept, written),
        both(_alike(_turned(launched), other), _alike(_turned(done), other_done)),
    )


@theorem("periods", least=LEAST_LAZY)
def a_lazy_step_treats_the_two_slots_alike(
    design, c, first, second, next_entry, kept, label, written, seq_len, lookahead, fails
):
    """With the two slots of a lazy request exchanged, the launch and the result of a step have the same effect,
    exchanged."""
    c = having(c, **LAZY)
    slots = _slots(first, second, next_entry, kept, label, written)
    launched, other = (
        slot_buffer.step_launched(design, c, s, seq_len, fails != 0)
        for s in (slots, _turned(slots))
    )
    done, other_done = (
        slot_buffer.step_completed(design, c, s, seq_len, lookahead)
        for s in (slots, _turned(slots))
    )
    return Statement(
        _entries(next_entry, kept, written),
        both(_alike(_turned(launched), other), _alike(_turned(done), other_done)),
    )


def _verified(design: Any, c: Any, slots: Slots, lengths: tuple[Any, ...], fails: Truth) -> Slots:
    committed, pre, accepted, retained = lengths
    planned, entry = slot_buffer.verify_planned(design, c, slots, committed, fails)
    launched = slot_buffer.verify_launched(design, c, planned, entry, pre, accepted)
    return slot_buffer.verify_completed(design, c, launched, entry, pre, accepted, retained)


@theorem("periods", least=LEAST)
def an_eager_verify_treats_the_two_slots_alike(
    design, c, first, second, next_entry, kept, label, written, pre, accepted, retained
):
    """With the two slots exchanged, a verify has the same effect, exchanged."""
    c = having(c, **EAGER)
    slots = _slots(first, second, next_entry, kept, label, written)
    lengths = pre, pre, accepted, retained
    after, other = (_verified(design, c, s, lengths, False) for s in (slots, _turned(slots)))
    return Statement(_entries(next_entry, kept, written), _alike(_turned(after), other))


@theorem("periods", least=LEAST_LAZY)
def a_lazy_verify_treats_the_two_slots_alike(
    design, c, first, second, next_entry, kept, label, committed, pre, accepted, retained, fails
):
    """With the two slots of a lazy request exchanged, a verify has the same effect, exchanged."""
    c = having(c, **LAZY)
    slots = _slots(first, second, next_entry, kept, label, 0)
    lengths = committed, pre, accepted, retained
    after, other = (_verified(design, c, s, lengths, fails != 0) for s in (slots, _turned(slots)))
    return Statement(_entries(next_entry, kept), _alike(_turned(after), other))


@theorem("periods", least=LEAST)
def a_finish_treats_the_two_slots_alike(
    design, c, first, second, next_entry, kept, label, written, key
):
    """What a finished request donates does not depend on which of the two slots it is in."""
    c = having(c, **EAGER)
    slots = _slots(first, second, next_entry, kept, label, written)
    mine, other = (slot_buffer.finished(design, c, s, key) for s in (slots, _turned(slots)))
    return Statement(
        _entries(next_entry, kept),
        both(
            mine.wanted == other.wanted,
            mine.recorded == other.recorded,
            mine.state == other.state,
        ),
    )


@theorem("periods", least={**LEAST, "more": 0})
def a_prompt_that_ends_further_on_between_the_same_multiples_leaves_the_same(
    design, c, prefix, end, more
):
    """Two ends between which no depth of the grid and no row lies, each counted from the prefix and from the start, donate
    alike: the same depth, and its state or one beyond it."""
    grid, stride, further = (
        design.grid("extend", c),
        current(design.extend_row_stride)(c),
        end + more,
    )
    first = extend_checkpoint(design, c, prefix, end)
    second = extend_checkpoint(design, c, prefix, further)
    same_state = first.state == second.state
    beyond = both(first.state > first.recorded, second.state > second.recorded)
    return Statement(
        {
            "no_depth_of_the_grid_is_between": end // grid == further // grid,
            "no_whole_grid_is_between": (end - prefix) // grid == (further - prefix) // grid,
            "no_row_is_between": (end - prefix) // stride == (further - prefix) // stride,
        },
        both(
            first.wanted == second.wanted,
            implies(
                first.wanted,
                both(
                    first.passes == second.passes,
                    first.recorded == second.recorded,
                    either(same_state, beyond),
                ),
            ),
        ),
    )


def _stepped(design: Any, c: Any, slots: Slots, *lengths: Any) -> tuple[Slots, Slots]:
    seq_len, lookahead, fails = lengths
    launched = slot_buffer.step_launched(design, c, slots, seq_len, fails != 0)
    return launched, slot_buffer.step_completed(design, c, slots, seq_len, lookahead, fails != 0)


def _beside_no_boundary(design: Any, c: Any, seq_len: Any) -> dict[str, Truth]:
    grid = design.grid("decode", c)
    return {
        "it_is_at_no_boundary": seq_len % grid != 0,
        "it_is_not_before_a_boundary": (seq_len + 1) % grid != 0,
    }


@theorem("periods", least=LEAST)
def an_eager_step_beside_no_boundary_changes_nothing(
    design, c, first, second, next_entry, kept, label, written, seq_len, lookahead, fails
):
    """The launch and the result of a step that is neither at a boundary nor right before one leave the slots as they are,
    whether it is the last one or not."""
    c = having(c, **EAGER)
    slots = _slots(first, second, next_entry, kept, label, written)
    after = _stepped(design, c, slots, seq_len, lookahead, fails)
    return Statement(
        _beside_no_boundary(design, c, seq_len), both(*(_alike(slots, s) for s in after))
    )


@theorem("periods", least=LEAST_LAZY)
def a_lazy_step_beside_no_boundary_changes_nothing(
    design, c, first, second, next_entry, kept, label, written, seq_len, lookahead, fails
):
    """The same of lazy slots, whether a second one could be had or not."""
    c = having(c, **LAZY)
    slots = _slots(first, second, next_entry, kept, label, written)
    after = _stepped(design, c, slots, seq_len, lookahead, fails)
    return Statement(
        _beside_no_boundary(design, c, seq_len), both(*(_alike(slots, s) for s in after))
    )


def _far(design: Any, c: Any, pre: Any, accepted: Any, retained: Any) -> dict[str, Truth]:
    grid, drafts = design.grid("verify", c), c.speculative_num_draft_tokens
    return {
        "it_is_a_verify_behind_a_boundary": drafts <= pre % grid,
        "it_is_three_verifies_before_the_next": pre % grid + 3 * drafts < grid,
        "no_more_is_accepted_than_drafted": accepted <= drafts,
        "no_more_is_retained_than_accepted": retained <= accepted,
    }


@theorem("periods", proved_for="sglang-0.5.21", least=LEAST)
def an_eager_verify_far_from_every_boundary_changes_nothing(
    design, c, first, second, next_entry, kept, label, written, committed, pre, accepted, retained
):
    """A verify that starts at least one verify behind a boundary and more than three before the next leaves the slots as
    they are."""
    c = having(c, **EAGER)
    slots = _slots(first, second, next_entry, kept, label, written)
    after = _verified(design, c, slots, (committed, pre, accepted, retained), False)
    return Statement(_far(design, c, pre, accepted, retained), _alike(slots, after))


@theorem("periods", proved_for="sglang-0.5.21", least=LEAST_LAZY)
def a_lazy_verify_far_from_every_boundary_changes_nothing(
    design, c, first, second, next_entry, kept, label, committed, pre, accepted, retained, fails
):
    """The same of lazy slots, with no second slot planned for it."""
    c = having(c, **LAZY)
    slots = _slots(first, second, next_entry, kept, label, 0)
    after = _verified(design, c, slots, (committed, pre, accepted, retained), fails != 0)
    planned = both(committed <= pre, pre <= committed + c.speculative_num_draft_tokens)
    return Statement(
        {
            **_far(design, c, pre, accepted, retained),
            "it_was_planned_at_most_a_verify_before": planned,
        },
        _alike(slots, after),
    )


def _on_another_grid(c: Any, interval: Any) -> Any:
    return having(c, mamba_track_interval=interval)


@theorem("periods", least={**LEAST, "before": 0})
def a_verify_that_many_tokens_before_a_boundary_saves_the_same_on_every_grid(
    design, c, boundary, before, accepted
):
    """Of the verify grid a verify sees only how far before a boundary it starts: it saves where it reaches that one, the state
    of its depth."""
    grid, pre = design.grid("verify", c), boundary - before
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    return Statement(
        {
            "the_depth_is_a_boundary": divides(grid, boundary),
            "it_starts_before_it": 1 <= before,
            "it_starts_behind_the_one_before": before <= grid,
            "it_does_not_reach_the_one_after": accepted < grid + before,
        },
        both(
            checkpoint.wanted == (accepted >= before),
            implies(
                checkpoint.wanted,
                both(checkpoint.recorded == boundary, checkpoint.state == boundary),
            ),
        ),
    )


@theorem("periods", least={**LEAST, "before": 0})
def a_verify_that_many_tokens_before_a_boundary_labels_the_same_on_every_grid(
    design, c, boundary, before, accepted, retained
):
    """The same of the label: the boundary, where what is retained reaches it."""
    grid, pre = design.grid("verify", c), boundary - before
    crossed, depth = verify_label(design, c, pre, accepted, retained)
    return Statement(
        {
            "the_depth_is_a_boundary": divides(grid, boundary),
            "it_starts_before_it": 1 <= before,
            "it_starts_behind_the_one_before": before <= grid,
            "it_does_not_reach_the_one_after": retained < grid + before,
        },
        both(crossed == (retained >= before), implies(crossed, depth == boundary)),
    )


@theorem("periods", least={**LEAST, "before": 0})
def a_second_slot_is_planned_the_same_on_every_grid(design, c, boundary, before):
    """The same of the second slot of a lazy request: it is planned where two verifies reach the boundary."""
    grid, tokens = design.grid("verify", c), c.speculative_num_draft_tokens
    return Statement(
        {
            "the_depth_is_a_boundary": divides(grid, boundary),
            "it_is_before_it": 1 <= before,
            "it_is_behind_the_one_before": before <= grid,
        },
        current(design.verify_plans)(grid, boundary - before, tokens) == (2 * tokens >= before),
    )
