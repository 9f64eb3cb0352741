"""What a design does with one checkpoint: the depth recorded, the tokens its state has consumed, the node it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spec.numbers import Number, Truth, both, choose, implies, negation
from spec.sglang.releases import Design, ExtendRule, current
from spec.sglang.rules import extend, grids, verify


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint: whether it is wanted, whether the engine's assertion passes, and the two depths that must agree.

    `recorded` is the depth (tokens) that the engine takes it to have, `state` the tokens its state has consumed,
    `key_length` the tokens of the key it is inserted under; None: as many as recorded.
    """

    wanted: Truth
    passes: Truth
    recorded: Number
    state: Number
    key_length: Number | None = None

    @property
    def saved(self) -> Truth:
        """Whether the state is written and may be donated."""
        return both(self.wanted, self.passes)

    @property
    def fault(self) -> Truth:
        """Whether an assertion of the engine stops the request."""
        return both(self.wanted, negation(self.passes))


def _extend_rule(design: Design, rule: ExtendRule, c: Any, prefix: Number, end: Number):
    grid, chunk = design.grid("extend", c), grids.cache_chunk_size(c)
    return (
        current(rule.donates)(grid, chunk, prefix, end),
        current(rule.depth)(grid, prefix, end),
    )


def extend_checkpoint(design: Design, c: Any, prefix: Number, end: Number) -> Checkpoint:
    """The checkpoint of an extend from depth `prefix` up to depth `end` (tokens), branching points left out."""
    donates, depth = _extend_rule(design, design.extend_rule, c, prefix, end)
    if design.extend_rule_under_dcp is not design.extend_rule:
        dcp = c.dcp_size > 1
        donates_dcp, depth_dcp = _extend_rule(design, design.extend_rule_under_dcp, c, prefix, end)
        donates = both(implies(dcp, donates_dcp), implies(negation(dcp), donates))
        depth = choose(dcp, depth_dcp, depth)
    stride, chunk = current(design.extend_row_stride)(c), grids.cache_chunk_size(c)
    passes = extend.assertion_holds(
        current(design.extend_assertion), stride, chunk, prefix, end, depth
    )
    tracked = extend.tracked_length(stride, prefix, end, depth)
    return Checkpoint(
        wanted=donates,
        passes=passes,
        recorded=depth,
        state=current(design.extend_state)(stride, c.mamba_chunk_size, prefix, end, tracked),
    )


def branching_checkpoint(
    design: Design, c: Any, prefix: Number, end: Number, point: Number
) -> Checkpoint:
    """The checkpoint of such an extend at a branching point (tokens); wanted where the extend keeps that one."""
    ordinary = extend_checkpoint(design, c, prefix, end)
    stride, chunk = current(design.extend_row_stride)(c), grids.cache_chunk_size(c)
    tracked = extend.tracked_length(stride, prefix, end, ordinary.recorded)
    kept = current(design.branching_kept)(chunk, prefix, tracked, point)
    passes = current(design.extend_assertion)(chunk, prefix, point)
    read = current(design.extend_state)
    state = read(stride, c.mamba_chunk_size, prefix, end, point + 1)
    return Checkpoint(both(ordinary.saved, kept), passes, recorded=point, state=state)


def decode_checkpoint(design: Design, c: Any, seq_len: Number) -> Checkpoint:
    """The checkpoint of the decode step that brings a request to `seq_len` tokens."""
    wanted = current(design.decode_snapshots)(design.grid("decode", c), seq_len)
    state = current(design.decode_state)(seq_len)
    return Checkpoint(wanted=wanted, passes=True, recorded=seq_len, state=state)


def flushed_checkpoint(design: Design, c: Any, seq_len: Number) -> Checkpoint:
    """The checkpoint of a decode step where a snapshot copies the state as of the last flush."""
    step = decode_checkpoint(design, c, seq_len)
    flushed = current(design.flush_state)(design.grid("flush", c), seq_len)
    return Checkpoint(step.wanted, step.passes, step.recorded, flushed)


def verify_checkpoint(design: Design, c: Any, pre: Number, accepted: Number) -> Checkpoint:
    """The checkpoint of a verify that commits `accepted` tokens after depth `pre` (tokens)."""
    grid = design.grid("verify", c)
    sees = c.speculative_algorithm not in design.algorithms_without_checkpoints
    step = current(design.verify_saved_step)(grid, pre, accepted)
    return Checkpoint(
        wanted=both(sees, current(design.verify_crosses)(grid, pre, accepted)),
        passes=True,
        recorded=current(design.verify_point)(grid, pre, accepted),
        state=verify.state_depth(pre, step),
    )


def verify_label(
    design: Design, c: Any, pre: Number, accepted: Number, retained: Number
) -> tuple[Truth, Number]:
    """Whether the result of a verify, of which `retained` tokens are kept, labels a checkpoint, and its depth."""
    start = current(design.verify_label_start)(pre, accepted, retained)
    grid, passed = design.grid("verify", c), pre + retained - start
    crosses, point = current(design.verify_crosses), current(design.verify_point)
    return crosses(grid, start, passed), point(grid, start, passed)


def node_of(design: Design, c: Any, checkpoint: Checkpoint) -> Number:
    """Depth (tokens) of the node that gets the checkpoint; 0 where no node can have it or the guard refuses it."""
    page = grids.tree_page(c)
    key = checkpoint.recorded if checkpoint.key_length is None else checkpoint.key_length
    node = current(design.node_depth)(page, key, checkpoint.recorded)
    return choose(current(design.insert_guard)(page, checkpoint.recorded), node, 0)


def misplaced(design: Design, c: Any, checkpoint: Checkpoint) -> Truth:
    """Whether the checkpoint is inserted under a wrong prefix: at a node whose depth is not its state's."""
    node = node_of(design, c, checkpoint)
    return both(checkpoint.saved, node > 0, node != checkpoint.state)
