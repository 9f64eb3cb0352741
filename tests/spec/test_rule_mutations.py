"""A wrong rule is noticed: each one-line mutant of the rules is refuted by integers on which a theorem fails.

Run with ``pytest tests/spec/test_rule_mutations.py``.  A mutant is a function whose source has one text put in
place of another, compiled in its own module's globals; its code is put into the function itself, so that whoever
holds the function under whatever name runs the mutant.  `KILLED` names the theorem that each mutant breaks,
`EQUIVALENT` the statement, proved by the solver, by which a mutant changes nothing that is looked at.  None survives.
"""

import inspect
import textwrap
import time
from dataclasses import dataclass
from types import CodeType, FunctionType

import numpy
import pytest

from spec import points
from spec.numbers import divides, negation
from spec.prove import shown
from spec.sglang import checkpoints, life
from spec.sglang.rules import decode, extend, flush, grids, insert, lookup, slots, tree, verify
from spec.sglang.theorems import LIBRARY
from spec.sglang.theorems import life as life_theorems
from spec.sglang.theorems.library import having
from spec.theorem import Library, Statement, Theorem

MODULES = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        checkpoints,
        life,
        decode,
        extend,
        flush,
        grids,
        insert,
        lookup,
        slots,
        tree,
        verify,
    )
}
SECONDS = 20  # of one core, for one theorem: the candidates are finitely many, so that this is met only by a fault


@dataclass(frozen=True)
class Mutant:
    """A function, by module and name, and a text of its source that stands there once, with what replaces it."""

    name: str
    where: str
    old: str
    new: str

    @property
    def function(self) -> FunctionType:
        """The function itself; of a property, the function behind it."""
        module, *path = self.where.split(".")
        held = MODULES[module]
        for name in path:
            held = inspect.getattr_static(held, name)
        return getattr(held, "fget", held)

    def code(self) -> CodeType:
        """The code of the mutant."""
        source = textwrap.dedent(inspect.getsource(self.function))
        assert source.count(self.old) == 1, f"{self.where} has {self.old!r} not just once"
        text = f"from __future__ import annotations\n{source.replace(self.old, self.new)}"
        scope = dict(self.function.__globals__)
        exec(compile(text, f"<{self.name}>", "exec"), scope)
        mutated = scope[self.function.__name__]
        return getattr(mutated, "fget", mutated).__code__


def _never(*_, **__):
    raise NotImplementedError


def statement(state) -> Theorem:
    """A theorem outside the library."""
    return Library(LIBRARY.setting).theorem("equivalence", least=life_theorems.LEAST)(state)


# The statements by which mutants are equivalent.


@statement
def the_old_assertion_is_one_on_the_prefix(design, c, prefix, tokens):
    """On the relative grid a depth is whole cache chunks where its prefix is, and nowhere else."""
    chunk = grids.cache_chunk_size(c)
    depth = extend.relative_depth(grids.checkpoint_grid(c), prefix, prefix + tokens)
    return Statement({}, divides(chunk, depth) == divides(chunk, prefix))


@statement
def the_new_assertion_holds_wherever_an_extend_donates(design, c, prefix, tokens):
    """Whatever is donated lies whole cache chunks beyond its prefix, with DCP and without."""
    checkpoint = checkpoints.extend_checkpoint(design, c, prefix, prefix + tokens)
    return Statement(
        {"the_extend_donates": checkpoint.wanted},
        divides(grids.cache_chunk_size(c), checkpoint.recorded - prefix),
    )


@statement
def a_snapshot_is_taken_of_the_length_that_is_flushed(design, c, seq_len):
    """Where a snapshot is taken, the flushed depth is the length."""
    checkpoint = checkpoints.flushed_checkpoint(design, c, seq_len)
    return Statement(
        {"a_snapshot_is_taken": checkpoint.saved},
        flush.flushed_depth(design.grid("flush", c), seq_len) == checkpoint.recorded,
    )


@statement
def a_lazy_boundary_was_written_to_the_next_entry(
    design, c, next_entry, second, label, kept, new, completed, ahead
):
    """Where a result labels, the entry it moves to is the next one already."""
    c = having(c, **life_theorems.LAZY)
    before = life_theorems._lazy(next_entry, second, label, kept, new)
    after = life.step_completed(design, c, before, completed + 1, ahead)
    return Statement(
        {
            "the_grid_is_above_one_token": design.grid("decode", c) > 1,
            "the_invariant_held": life_theorems._lazy_invariant(
                design, c, before, completed, ahead + 1
            ),
        },
        after.next == before.next,
    )


@statement
def without_a_label_there_is_no_falling_back(
    design, c, next_entry, label, previous, kept, new, key
):
    """A finish without a label donates nothing, whatever the label before it."""
    c = having(c, **life_theorems.EAGER)
    held = life_theorems.replace(
        life_theorems._eager(next_entry, label, kept, new), previous=previous
    )
    donated = life.finished(design, c, held, key)
    return Statement({"there_is_no_label": label == 0}, negation(donated.saved))


@statement
def a_finish_picks_no_depth_beyond_its_key(design, c, label, previous, key):
    """The depth that a finish donates lies within its key already."""
    return Statement({}, slots.label_within_the_key(key, label, previous) <= key)


# fmt: off
KILLED: tuple[tuple[Mutant, str], ...] = (
    (Mutant("the tree page forgets dcp", "grids.tree_page", "c.page_size * c.dcp_size", "c.page_size"), "the_configured_page_guard_does_not_imply_a_safe_interval"),
    (Mutant("the tree page adds the ranks", "grids.tree_page", "c.page_size * c.dcp_size", "c.page_size + c.dcp_size - 1"), "the_configured_page_guard_does_not_imply_a_safe_interval"),
    (Mutant("the tree page is one rank too wide", "grids.tree_page", "c.page_size * c.dcp_size", "c.page_size * (c.dcp_size + 1)"), "without_dcp_the_tree_page_is_the_configured_page"),
    (Mutant("the tree page is the larger of page and ranks", "grids.tree_page", "c.page_size * c.dcp_size", "largest(c.page_size, c.dcp_size)"), "the_configured_page_guard_does_not_imply_a_safe_interval"),
    (Mutant("the cache chunk forgets the page", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "c.mamba_chunk_size"), "the_cache_chunk_is_whole_where_chunk_and_page_fit"),
    (Mutant("the cache chunk forgets the model", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "c.page_size"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the cache chunk is the product", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "c.mamba_chunk_size * c.page_size"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the cache chunk is the lcm", "grids.cache_chunk_size", "largest(", "lcm("), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the cache chunk is the gcd", "grids.cache_chunk_size", "largest(", "gcd("), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the cache chunk is the tree page", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "largest(c.mamba_chunk_size, tree_page(c))"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the checkpoint grid is the larger one", "grids.checkpoint_grid", "lcm(", "largest("), "every_track_depth_is_a_multiple_of_all_three_grids"),
    (Mutant("the checkpoint grid is the product", "grids.checkpoint_grid", "lcm(cache_chunk_size(c), tree_page(c))", "cache_chunk_size(c) * tree_page(c)"), "an_aligned_interval_is_left_unchanged"),
    (Mutant("the checkpoint grid forgets the chunk", "grids.checkpoint_grid", "lcm(cache_chunk_size(c), tree_page(c))", "tree_page(c)"), "every_track_depth_is_a_multiple_of_all_three_grids"),
    (Mutant("the checkpoint grid forgets the tree page", "grids.checkpoint_grid", "lcm(cache_chunk_size(c), tree_page(c))", "cache_chunk_size(c)"), "every_track_depth_is_a_multiple_of_all_three_grids"),
    (Mutant("the checkpoint grid forgets dcp", "grids.checkpoint_grid", "tree_page(c)", "c.page_size"), "every_track_depth_is_a_multiple_of_all_three_grids"),
    (Mutant("the checkpoint grid is on the model chunk", "grids.checkpoint_grid", "cache_chunk_size(c)", "c.mamba_chunk_size"), "an_aligned_interval_is_left_unchanged"),
    (Mutant("the track grid is the larger one", "grids.track_grid", "lcm(", "largest("), "every_snapshot_step_is_a_flush_step"),
    (Mutant("the track grid is the product", "grids.track_grid", "lcm(checkpoint_grid(c), c.mamba_track_interval)", "checkpoint_grid(c) * c.mamba_track_interval"), "an_aligned_interval_is_left_unchanged"),
    (Mutant("the track grid forgets the interval", "grids.track_grid", "lcm(checkpoint_grid(c), c.mamba_track_interval)", "checkpoint_grid(c)"), "an_aligned_interval_is_left_unchanged"),
    (Mutant("the track grid forgets the checkpoint grid", "grids.track_grid", "lcm(checkpoint_grid(c), c.mamba_track_interval)", "c.mamba_track_interval"), "every_track_depth_is_a_multiple_of_all_three_grids"),
    (Mutant("the track grid forgets the chunk", "grids.track_grid", "checkpoint_grid(c)", "tree_page(c)"), "every_track_depth_is_a_multiple_of_all_three_grids"),
    (Mutant("the track grid forgets the tree page", "grids.track_grid", "checkpoint_grid(c)", "cache_chunk_size(c)"), "every_track_depth_is_a_multiple_of_all_three_grids"),
    (Mutant("the raw interval is doubled", "grids.track_interval", "return c.mamba_track_interval", "return 2 * c.mamba_track_interval"), "a_raw_interval_is_safe_only_if_the_tree_page_divides_it"),
    (Mutant("the raw interval is no shorter than a page", "grids.track_interval", "return c.mamba_track_interval", "return largest(c.mamba_track_interval, c.page_size)"), "a_raw_interval_is_safe_only_if_the_tree_page_divides_it"),
    (Mutant("the raw interval is whole pages", "grids.track_interval", "return c.mamba_track_interval", "return lcm(c.mamba_track_interval, c.page_size)"), "a_raw_interval_is_safe_only_if_the_tree_page_divides_it"),
    (Mutant("the period forgets the grid", "grids.period", "tree_page(c) // gcd(grid, tree_page(c))", "tree_page(c)"), "no_other_checkpoint_in_a_period_lands_on_a_node"),
    (Mutant("the period counts in the grid", "grids.period", "return tree_page(c)", "return grid"), "no_other_checkpoint_in_a_period_lands_on_a_node"),
    (Mutant("the period forgets dcp", "grids.period", "gcd(grid, tree_page(c))", "gcd(grid, c.page_size)"), "no_other_checkpoint_in_a_period_lands_on_a_node"),
    (Mutant("the period is one short", "grids.period", "tree_page(c) // gcd(grid, tree_page(c))", "largest(tree_page(c) // gcd(grid, tree_page(c)) - 1, 1)"), "no_other_checkpoint_in_a_period_lands_on_a_node"),
    (Mutant("a snapshot is one step late", "decode.snapshot_step", "divides(grid, seq_len)", "divides(grid, seq_len - 1)"), "only_equal_grids_make_every_flush_step_a_snapshot_step"),
    (Mutant("a snapshot is one step early", "decode.snapshot_step", "divides(grid, seq_len)", "divides(grid, seq_len + 1)"), "only_equal_grids_make_every_flush_step_a_snapshot_step"),
    (Mutant("a snapshot is taken off the grid", "decode.snapshot_step", "divides(grid, seq_len)", "seq_len % grid != 0"), "only_equal_grids_make_every_flush_step_a_snapshot_step"),
    (Mutant("divisor and length are exchanged", "decode.snapshot_step", "divides(grid, seq_len)", "divides(seq_len, grid)"), "only_equal_grids_make_every_flush_step_a_snapshot_step"),
    (Mutant("a snapshot is taken from the grid on", "decode.snapshot_step", "divides(grid, seq_len)", "seq_len >= grid"), "a_raw_interval_is_safe_if_the_tree_page_divides_it"),
    (Mutant("a snapshot every second grid", "decode.snapshot_step", "divides(grid, seq_len)", "divides(2 * grid, seq_len)"), "equal_grids_make_every_flush_step_a_snapshot_step"),
    (Mutant("a snapshot lacks the last token", "decode.snapshot_depth", "return seq_len", "return seq_len - 1"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("a relative depth forgets its prefix", "extend.relative_depth", "prefix + (end - prefix)", "(end - prefix)"), "a_relative_extend_lands_on_a_node_only_if_its_prefix_does"),
    (Mutant("a relative depth is rounded up", "extend.relative_depth", "(end - prefix) // grid", "(end - prefix + grid - 1) // grid"), "a_relative_extend_lands_on_a_node_if_its_prefix_does"),
    (Mutant("a relative depth is one grid early", "extend.relative_depth", "(end - prefix) // grid", "((end - prefix) // grid - 1)"), "the_old_assertion_is_not_reached_where_the_grid_is_the_cache_chunk"),
    (Mutant("a relative depth ends at the first grid", "extend.relative_depth", "(end - prefix) // grid * grid", "grid"), "a_relative_extend_lands_on_a_node_if_its_prefix_does"),
    (Mutant("a relative depth counts the end from 0", "extend.relative_depth", "(end - prefix) // grid", "end // grid"), "a_relative_extend_lands_on_a_node_if_its_prefix_does"),
    (Mutant("a relative extend of exactly one grid donates nothing", "extend.relative_donates", ">= grid", "> grid"), "an_extend_misses_no_depth_from_a_prefix_on_the_checkpoint_grid"),
    (Mutant("a relative extend donates below one grid", "extend.relative_donates", ">= grid", ">= chunk"), "a_relative_extend_donates_what_it_computed"),
    (Mutant("a relative extend donates always", "extend.relative_donates", "end - prefix >= grid", "end >= prefix"), "a_relative_extend_donates_what_it_computed"),
    (Mutant("a relative extend counts its prefix", "extend.relative_donates", "end - prefix >= grid", "end >= grid"), "a_relative_extend_donates_what_it_computed"),
    (Mutant("a relative extend never donates", "extend.relative_donates", "end - prefix >= grid", "end < prefix"), "an_extend_misses_no_depth_from_a_prefix_on_the_checkpoint_grid"),
    (Mutant("an absolute depth is rounded up", "extend.absolute_depth", "end // grid * grid", "(end + grid - 1) // grid * grid"), "an_absolute_extend_lands_on_a_node"),
    (Mutant("an absolute depth excludes its end", "extend.absolute_depth", "end // grid", "(end - 1) // grid"), "an_absolute_extend_misses_no_depth_from_a_prefix_on_the_grid"),
    (Mutant("an absolute depth is one grid early", "extend.absolute_depth", "end // grid * grid", "(end // grid - 1) * grid"), "an_absolute_extend_misses_no_depth_from_a_prefix_on_the_grid"),
    (Mutant("an absolute depth is the prefix's next grid", "extend.absolute_depth", "end // grid * grid", "(prefix // grid + 1) * grid"), "an_absolute_extend_lands_on_a_node"),
    (Mutant("an absolute depth is its end", "extend.absolute_depth", "end // grid * grid", "end"), "an_absolute_extend_lands_on_a_node"),
    (Mutant("an absolute extend donates its prefix", "extend.absolute_donates", "depth > prefix", "depth >= prefix"), "an_absolute_extend_lands_on_a_node"),
    (Mutant("an absolute extend forgets the prefix", "extend.absolute_donates", "depth > prefix", "depth > 0"), "an_absolute_extend_lands_on_a_node"),
    (Mutant("an absolute extend forgets the whole chunks", "extend.absolute_donates", "both(depth > prefix, divides(chunk, depth - prefix))", "depth > prefix"), "the_extend_assertion_never_fires"),
    (Mutant("an absolute extend asks for a whole depth", "extend.absolute_donates", "divides(chunk, depth - prefix)", "divides(chunk, depth)"), "the_extend_assertion_never_fires"),
    (Mutant("an absolute extend asks for whole chunks of tokens", "extend.absolute_donates", "divides(chunk, depth - prefix)", "divides(chunk, end - prefix)"), "the_extend_assertion_never_fires"),
    (Mutant("an absolute extend asks for whole grids", "extend.absolute_donates", "divides(chunk, depth - prefix)", "divides(grid, depth - prefix)"), "an_absolute_extend_donates_from_any_prefix_on_the_cache_chunk"),
    (Mutant("an absolute extend never donates", "extend.absolute_donates", "depth > prefix", "depth < prefix"), "an_absolute_extend_lands_on_a_node"),
    (Mutant("a row is forced where none is needed", "extend.forces_intermediate", "!= depth", "== depth"), "the_old_assertion_is_not_reached_where_the_grid_is_the_cache_chunk"),
    (Mutant("a row is never forced", "extend.forces_intermediate", "!= depth", "< depth"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("a row is forced from 0", "extend.forces_intermediate", "prefix + (end - prefix) // stride * stride", "end // stride * stride"), "the_old_assertion_is_not_reached_where_the_grid_is_the_cache_chunk"),
    (Mutant("a row is forced before the end", "extend.forces_intermediate", "prefix + (end - prefix) // stride * stride", "end"), "the_old_assertion_is_not_reached_where_the_grid_is_the_cache_chunk"),
    (Mutant("the tracked length is the depth", "extend.tracked_length", "depth + 1", "depth"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the tracked length is one more", "extend.tracked_length", "depth + 1", "depth + 2"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the tracked length is one stride more", "extend.tracked_length", "depth + 1", "depth + stride"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the tracked length is one past the end", "extend.tracked_length", "depth + 1, end)", "depth + 1, end + 1)"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the tracked length never forces", "extend.tracked_length", "depth + 1, end)", "end, end)"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the old assertion asks for the offset", "extend.depth_is_on_the_chunk", "divides(chunk, depth)", "divides(chunk, depth - prefix)"), "an_old_extend_that_reads_an_earlier_row_started_on_the_cache_chunk"),
    (Mutant("the old assertion always passes", "extend.depth_is_on_the_chunk", "divides(chunk, depth)", "depth >= 0"), "an_old_extend_that_reads_an_earlier_row_started_on_the_cache_chunk"),
    (Mutant("the new assertion asks for the depth", "extend.offset_is_on_the_chunk", "depth - prefix", "depth"), "the_extend_assertion_never_fires"),
    (Mutant("the new assertion is off by one", "extend.offset_is_on_the_chunk", "depth - prefix", "depth - prefix + 1"), "the_extend_assertion_never_fires"),
    (Mutant("the assertion guards every read", "extend.assertion_holds", "implies(forced, assertion(chunk, prefix, depth))", "assertion(chunk, prefix, depth)"), "an_old_extend_is_not_stopped_where_the_grid_is_the_cache_chunk"),
    (Mutant("the assertion guards the last row", "extend.assertion_holds", "implies(forced,", "implies(forced == False,"), "an_old_extend_that_reads_an_earlier_row_started_on_the_cache_chunk"),
    (Mutant("the assertion is handed the end", "extend.assertion_holds", "assertion(chunk, prefix, depth)", "assertion(chunk, prefix, end)"), "the_extend_assertion_never_fires"),
    (Mutant("the assertion takes the stride for the chunk", "extend.assertion_holds", "assertion(chunk,", "assertion(stride,"), "the_extend_assertion_never_fires"),
    (Mutant("the assertion is dropped", "extend.assertion_holds", "implies(forced, assertion(chunk, prefix, depth))", "end >= prefix"), "an_old_extend_that_reads_an_earlier_row_started_on_the_cache_chunk"),
    (Mutant("the row is counted from 0", "extend.state_depth", "(tracked - prefix) // stride", "tracked // stride"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the row is the one before", "extend.state_depth", "(tracked - prefix) // stride", "(tracked - prefix) // stride - 1"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the row is the one behind", "extend.state_depth", "(tracked - prefix) // stride", "(tracked - prefix) // stride + 1"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the row is a stride wide", "extend.state_depth", "row * mamba_chunk_size", "row * stride"), "an_old_row_scales_its_depth_down_where_the_page_is_above_the_model_chunk"),
    (Mutant("the state forgets its prefix", "extend.state_depth", "prefix + row *", "row *"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("rows are whole chunks alone", "extend.rows_written", "(tokens - 1) // stride + 1", "tokens // stride"), "a_row_read_in_a_batch_is_the_requests_own"),
    (Mutant("one row more is written", "extend.rows_written", "(tokens - 1) // stride + 1", "tokens // stride + 1"), "a_row_read_in_a_batch_is_the_requests_own"),
    (Mutant("a row is written for each token", "extend.rows_written", "// stride + 1", "+ 1"), "a_row_read_in_a_batch_is_the_requests_own"),
    (Mutant("a row ignores the request before", "extend.row_in_batch", "rows_written(stride, before) + ", ""), "a_row_read_in_a_batch_is_the_requests_own"),
    (Mutant("a row counts the tokens before", "extend.row_in_batch", "rows_written(stride, before)", "before"), "a_row_read_in_a_batch_is_the_requests_own"),
    (Mutant("a row in a batch is counted from 0", "extend.row_in_batch", "(tracked - prefix) // stride", "tracked // stride"), "a_row_read_in_a_batch_is_the_requests_own"),
    (Mutant("a window ends where it is tracked", "extend.window_depth", "prefix + (tracked - prefix) // chunk * chunk", "tracked"), "the_window_kept_ends_where_the_state_does"),
    (Mutant("a window is counted from 0", "extend.window_depth", "prefix + (tracked - prefix) //", "tracked //"), "the_window_kept_ends_where_the_state_does"),
    (Mutant("a window forgets its prefix", "extend.window_depth", "prefix + (tracked", "(tracked"), "the_window_kept_ends_where_the_state_does"),
    (Mutant("the last state is never read", "extend.state_depth", "divides(stride, tracked - prefix), end", "divides(stride, tracked - prefix), prefix"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("the last state is read on whole depths", "extend.state_depth", "divides(stride, tracked - prefix)", "divides(stride, tracked)"), "the_old_row_is_right_where_the_page_is_within_the_model_chunk"),
    (Mutant("a flush is one step late", "flush.flush_step", "divides(interval, seq_len)", "divides(interval, seq_len - 1)"), "every_snapshot_step_is_a_flush_step"),
    (Mutant("a flush is one step early", "flush.flush_step", "divides(interval, seq_len)", "divides(interval, seq_len + 1)"), "every_snapshot_step_is_a_flush_step"),
    (Mutant("a flush every second interval", "flush.flush_step", "divides(interval, seq_len)", "divides(2 * interval, seq_len)"), "every_snapshot_step_is_a_flush_step"),
    (Mutant("a flush at every step", "flush.flush_step", "divides(interval, seq_len)", "seq_len >= 1"), "equal_grids_make_every_flush_step_a_snapshot_step"),
    (Mutant("the flushed depth excludes its end", "flush.flushed_depth", "seq_len // interval", "(seq_len - 1) // interval"), "a_snapshot_of_flushed_inputs_is_the_state_of_its_depth"),
    (Mutant("the flushed depth is rounded up", "flush.flushed_depth", "seq_len // interval", "(seq_len + interval - 1) // interval"), "the_flushed_state_is_that_of_the_last_flush_step"),
    (Mutant("the flushed depth is the length", "flush.flushed_depth", "seq_len // interval * interval", "seq_len"), "the_flushed_state_is_that_of_the_last_flush_step"),
    (Mutant("a node is rounded up", "insert.node_depth", "smallest(key_length, donated) //", "(smallest(key_length, donated) + tree_page - 1) //"), "no_node_is_deeper_than_its_key"),
    (Mutant("a node is one page deeper", "insert.node_depth", "// tree_page * tree_page", "// tree_page * tree_page + tree_page"), "the_insert_guard_accepts_only_depths_with_a_node"),
    (Mutant("a node excludes its end", "insert.node_depth", "smallest(key_length, donated) //", "(smallest(key_length, donated) - 1) //"), "the_insert_guard_accepts_only_depths_with_a_node"),
    (Mutant("a node is not cut to pages", "insert.node_depth", "smallest(key_length, donated) // tree_page * tree_page", "smallest(key_length, donated)"), "a_raw_interval_is_safe_only_if_the_tree_page_divides_it"),
    (Mutant("a node forgets its key", "insert.node_depth", "smallest(key_length, donated)", "donated"), "no_node_is_deeper_than_its_key"),
    (Mutant("a node forgets the donation", "insert.node_depth", "smallest(key_length, donated)", "key_length"), "a_node_is_the_deepest_one_that_the_donation_reaches"),
    (Mutant("a node is the deeper of key and donation", "insert.node_depth", "smallest(key_length, donated)", "(key_length + donated - smallest(key_length, donated))"), "no_node_is_deeper_than_its_key"),
    (Mutant("no depth is accepted", "insert.accepts_any_depth", "depth >= 0", "depth < 0"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("only pages above one are accepted", "insert.accepts_any_depth", "depth >= 0", "tree_page > 1"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("the insert guard accepts any depth from a page on", "insert.depth_has_a_node", "divides(tree_page, depth)", "depth >= tree_page"), "the_insert_guard_accepts_only_depths_with_a_node"),
    (Mutant("the insert guard asks for two pages", "insert.depth_has_a_node", "divides(tree_page, depth)", "divides(2 * tree_page, depth)"), "the_insert_guard_refuses_no_depth_with_a_node"),
    (Mutant("the insert guard is one late", "insert.depth_has_a_node", "divides(tree_page, depth)", "divides(tree_page, depth - 1)"), "the_insert_guard_accepts_only_depths_with_a_node"),
    (Mutant("the insert guard refuses everything", "insert.depth_has_a_node", "divides(tree_page, depth)", "depth < 0"), "the_insert_guard_refuses_no_depth_with_a_node"),
    (Mutant("a crossing needs a whole grid", "verify.crosses", "pre // grid != (pre + accepted) // grid", "accepted >= grid"), "no_depth_on_the_grid_is_passed_unsaved"),
    (Mutant("a crossing ends on the grid", "verify.crosses", "pre // grid != (pre + accepted) // grid", "(pre + accepted) % grid == 0"), "no_depth_on_the_grid_is_passed_unsaved"),
    (Mutant("a crossing where none is", "verify.crosses", "!= (pre", "== (pre"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("a crossing excludes its end", "verify.crosses", "(pre + accepted) // grid", "(pre + accepted - 1) // grid"), "no_depth_on_the_grid_is_passed_unsaved"),
    (Mutant("a crossing counts its start", "verify.crosses", "pre // grid !=", "(pre - 1) // grid !="), "verify_checkpoint_lands_on_a_node"),
    (Mutant("a crossing counts one token more", "verify.crosses", "(pre + accepted) // grid", "(pre + accepted + 1) // grid"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("a crossing looks at the accepted only", "verify.crosses", "(pre + accepted) // grid", "accepted // grid"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the tracking point is the first multiple passed", "verify.tracking_point", "(pre + accepted) // grid * grid", "(pre // grid + 1) * grid"), "no_depth_on_the_grid_is_passed_unsaved"),
    (Mutant("the tracking point forgets the start", "verify.tracking_point", "(pre + accepted) //", "accepted //"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the tracking point is rounded up", "verify.tracking_point", "(pre + accepted) // grid", "(pre + accepted + grid - 1) // grid"), "the_saved_verify_step_has_consumed_exactly_the_recorded_depth"),
    (Mutant("the tracking point excludes its end", "verify.tracking_point", "(pre + accepted) // grid", "(pre + accepted - 1) // grid"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the tracking point is before the verify", "verify.tracking_point", "(pre + accepted) //", "pre //"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the saved step is one late", "verify.saved_step", "- pre - 1, 0)", "- pre, 0)"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the saved step is one early", "verify.saved_step", "- pre - 1, 0)", "- pre - 2, 0)"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the saved step is the first", "verify.saved_step", "largest(tracking_point(grid, pre, accepted) - pre - 1, 0)", "0"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the saved step is the last", "verify.saved_step", "largest(tracking_point(grid, pre, accepted) - pre - 1, 0)", "accepted - 1"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the saved step is at least 1", "verify.saved_step", "- 1, 0)", "- 1, 1)"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("a step's state lacks its own token", "verify.state_depth", "pre + step + 1", "pre + step"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("a step's state has one token more", "verify.state_depth", "pre + step + 1", "pre + step + 2"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("a step's state forgets the start", "verify.state_depth", "pre + step + 1", "step + 1"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("the window ends one later", "verify.window_end", "saved_step(grid, pre, accepted)", "saved_step(grid, pre, accepted) + 1"), "the_window_of_a_draft_extend_ends_one_token_short"),
    (Mutant("the window ends with the verify", "verify.window_end", "saved_step(grid, pre, accepted)", "accepted"), "the_window_of_a_draft_extend_ends_one_token_short"),
    (Mutant("the released swap follows the next step", "slots.swap_follows_the_lookahead", "divides(grid, seq_len)),", "divides(grid, seq_len + 1)),"), "a_swap_that_follows_the_lookahead_happens_twice_if_a_step_ahead_is_lost"),
    (Mutant("the released swap follows the completed step", "slots.swap_follows_the_lookahead", "seq_len + 1", "seq_len"), "a_swap_that_follows_the_lookahead_happens_twice_if_a_step_ahead_is_lost"),
    (Mutant("the released swap looks two ahead", "slots.swap_follows_the_lookahead", "seq_len + 1", "seq_len + 2"), "a_swap_that_follows_the_lookahead_is_single_if_the_lookahead_stays"),
    (Mutant("the released swap exchanges its masks", "slots.swap_follows_the_lookahead", "implies(lookahead == 0, divides(grid, seq_len))", "implies(lookahead != 0, divides(grid, seq_len))"), "a_swap_that_follows_the_lookahead_is_single_if_the_lookahead_stays"),
    (Mutant("the released swap drops the second mask", "slots.swap_follows_the_lookahead", "implies(lookahead != 0, divides(grid, seq_len + 1)),", "lookahead >= 0,"), "a_swap_that_follows_the_lookahead_is_single_if_the_lookahead_stays"),
    (Mutant("the proposed swap follows the next step", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len + 1)"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("the proposed swap follows the launched length", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len + lookahead)"), "a_boundary_swaps_the_slots_exactly_once"),
    (Mutant("the proposed swap is one late", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len - 1)"), "a_boundary_swaps_the_slots_exactly_once"),
    (Mutant("the proposed swap never happens", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "seq_len < 0"), "a_boundary_swaps_the_slots_exactly_once"),
    (Mutant("the proposed swap always happens", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "seq_len >= 0"), "a_boundary_swaps_the_slots_exactly_once"),
    (Mutant("the label is of the launched length", "slots.label_of_the_completed_step", "divides(grid, seq_len), seq_len,", "divides(grid, seq_len + lookahead), seq_len + lookahead,"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("the label counts the steps ahead", "slots.label_of_the_completed_step", "seq_len), seq_len,", "seq_len), seq_len + lookahead,"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("the label looks at the launched length", "slots.label_of_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len + lookahead)"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("the label is one short", "slots.label_of_the_completed_step", "seq_len), seq_len,", "seq_len), seq_len - 1,"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("the label is set at every step", "slots.label_of_the_completed_step", "divides(grid, seq_len)", "seq_len >= 0"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("the label is never set", "slots.label_of_the_completed_step", "divides(grid, seq_len)", "seq_len < 0"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("the old label is of the completed step", "slots.label_of_the_launched_length", "seq_len + lookahead", "seq_len"), "a_label_of_the_launched_length_is_ahead_of_its_step"),
    (Mutant("the old label is one further", "slots.label_of_the_launched_length", "seq_len + lookahead", "seq_len + lookahead + 1"), "a_label_of_the_launched_length_is_ahead_of_its_step"),
    (Mutant("the old key is the longer", "slots.label_cut_to_the_key", "smallest(key_length, label)", "key_length"), "an_old_finish_names_no_depth_beyond_its_key_or_its_state"),
    (Mutant("the old key is forgotten", "slots.label_cut_to_the_key", "smallest(key_length, label)", "label"), "an_old_finish_names_no_depth_beyond_its_key_or_its_state"),
    (Mutant("a finish forgets its key", "slots.label_within_the_key", "choose(label <= key_length, label, fallback)", "label"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("a finish always falls back", "slots.label_within_the_key", "choose(label <= key_length, label, fallback)", "fallback"), "a_finish_donates_the_label_that_its_key_reaches"),
    (Mutant("a finish donates a label beyond its key", "slots.label_within_the_key", "choose(label <= key_length, label", "choose(label >= key_length, label"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("a finish never falls back", "slots.label_within_the_key", "choose(previous <= key_length, previous, NO_DEPTH)", "NO_DEPTH"), "a_finish_falls_back_on_the_label_before"),
    (Mutant("a fallback forgets its key", "slots.label_within_the_key", "choose(previous <= key_length, previous, NO_DEPTH)", "previous"), "a_finish_with_a_key_shorter_than_both_labels_donates_nothing"),
    (Mutant("a finish on its own key donates nothing", "slots.label_within_the_key", "choose(label <= key_length, label", "choose(label < key_length, label"), "a_finish_donates_the_label_that_its_key_reaches"),
    (Mutant("a finish is cut to its key", "slots.label_within_the_key", "choose(label <= key_length, label, fallback)", "smallest(key_length, label)"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("a plan looks one verify ahead", "slots.a_verify_may_cross", "2 * draft_tokens", "draft_tokens"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a plan looks one token less ahead", "slots.a_verify_may_cross", "2 * draft_tokens", "2 * draft_tokens - 1"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a plan always sees a boundary", "slots.a_verify_may_cross", "crosses(grid, committed, 2 * draft_tokens)", "committed >= 0"), "a_plan_far_from_a_boundary_changes_nothing"),
    (Mutant("the label of a verify counts the accepted", "slots.label_counts_the_retained", "return pre", "return pre + retained - accepted"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("the label of a verify starts at its end", "slots.label_counts_the_retained", "return pre", "return pre + retained"), "an_eager_verify_labels_what_it_passes_and_remembers_the_label_before"),
    (Mutant("a saved checkpoint may fail its assertion", "checkpoints.Checkpoint.saved", "both(self.wanted, self.passes)", "self.wanted"), "an_old_extend_that_reads_an_earlier_row_started_on_the_cache_chunk"),
    (Mutant("an unwanted checkpoint is saved", "checkpoints.Checkpoint.saved", "both(self.wanted, self.passes)", "self.passes"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("a fault needs no wish", "checkpoints.Checkpoint.fault", "both(self.wanted, negation(self.passes))", "negation(self.passes)"), "an_old_extend_that_is_stopped_would_have_donated_from_off_the_cache_chunk"),
    (Mutant("a fault is a pass", "checkpoints.Checkpoint.fault", "negation(self.passes)", "self.passes"), "an_old_extend_that_is_stopped_would_have_donated_from_off_the_cache_chunk"),
    (Mutant("an extend donates on the interval", "checkpoints._extend_rule", "design.grid(\"extend\", c)", "design.grid(\"flush\", c)"), "the_extend_assertion_never_fires"),
    (Mutant("an extend donates on the cache chunk", "checkpoints._extend_rule", "design.grid(\"extend\", c)", "grids.cache_chunk_size(c)"), "an_extend_under_dcp_lands_on_a_node"),
    (Mutant("an extend donates on the track grid", "checkpoints._extend_rule", "design.grid(\"extend\", c)", "design.grid(\"decode\", c)"), "an_old_extend_that_reads_an_earlier_row_started_on_the_cache_chunk"),
    (Mutant("an extend's donation asks for model chunks", "checkpoints._extend_rule", "grids.cache_chunk_size(c)", "c.mamba_chunk_size"), "the_extend_assertion_never_fires"),
    (Mutant("an extend under dcp is relative", "checkpoints.extend_checkpoint", "design.extend_rule_under_dcp, c", "design.extend_rule, c"), "an_extend_under_dcp_lands_on_a_node"),
    (Mutant("dcp is on with one rank", "checkpoints.extend_checkpoint", "c.dcp_size > 1", "c.dcp_size >= 1"), "an_extend_of_a_whole_grid_donates_without_dcp"),
    (Mutant("dcp is off with two ranks", "checkpoints.extend_checkpoint", "c.dcp_size > 1", "c.dcp_size > 2"), "an_extend_under_dcp_lands_on_a_node"),
    (Mutant("the rules under dcp are exchanged", "checkpoints.extend_checkpoint", "choose(dcp, depth_dcp, depth)", "choose(dcp, depth, depth_dcp)"), "the_extend_assertion_never_fires"),
    (Mutant("the donation under dcp is exchanged", "checkpoints.extend_checkpoint", "both(implies(dcp, donates_dcp), implies(negation(dcp), donates))", "both(implies(dcp, donates), implies(negation(dcp), donates_dcp))"), "the_extend_assertion_never_fires"),
    (Mutant("the donation under dcp is the relative one", "checkpoints.extend_checkpoint", "both(implies(dcp, donates_dcp), implies(negation(dcp), donates))", "donates"), "the_extend_assertion_never_fires"),
    (Mutant("rows are counted in cache chunks", "checkpoints.extend_checkpoint", "current(design.extend_row_stride)(c), grids", "grids.cache_chunk_size(c), grids"), "the_row_read_is_the_row_of_the_recorded_depth"),
    (Mutant("the assertion is on model chunks", "checkpoints.extend_checkpoint", "(c), grids.cache_chunk_size(c)", "(c), c.mamba_chunk_size"), "the_extend_assertion_never_fires"),
    (Mutant("the assertion is on the tree page", "checkpoints.extend_checkpoint", "(c), grids.cache_chunk_size(c)", "(c), grids.tree_page(c)"), "the_extend_assertion_never_fires"),
    (Mutant("an extend records its end", "checkpoints.extend_checkpoint", "recorded=depth", "recorded=end"), "an_extend_under_dcp_lands_on_a_node"),
    (Mutant("an extend records its tracked length", "checkpoints.extend_checkpoint", "recorded=depth", "recorded=tracked"), "an_extend_under_dcp_lands_on_a_node"),
    (Mutant("rows are as wide as the cache chunk", "checkpoints.extend_checkpoint", "extend_state)(stride, c.mamba_chunk_size,", "extend_state)(stride, chunk,"), "the_row_read_is_the_row_of_the_recorded_depth"),
    (Mutant("the state is read at the depth", "checkpoints.extend_checkpoint", "prefix, end, tracked),", "prefix, end, depth),"), "the_row_read_is_the_row_of_the_recorded_depth"),
    (Mutant("decode is on the raw interval", "checkpoints.decode_checkpoint", "design.grid(\"decode\", c)", "design.grid(\"flush\", c)"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("decode is on the checkpoint grid", "checkpoints.decode_checkpoint", "design.grid(\"decode\", c)", "design.grid(\"extend\", c)"), "a_snapshot_of_flushed_inputs_is_the_state_of_its_depth"),
    (Mutant("decode records the length before", "checkpoints.decode_checkpoint", "recorded=seq_len", "recorded=seq_len - 1"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("decode reads the state before", "checkpoints.decode_checkpoint", "state=state", "state=state - 1"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("a flush is on the track grid", "checkpoints.flushed_checkpoint", "design.grid(\"flush\", c)", "design.grid(\"decode\", c)"), "the_flushed_state_is_that_of_the_last_flush_step"),
    (Mutant("a flush is on the checkpoint grid", "checkpoints.flushed_checkpoint", "design.grid(\"flush\", c)", "design.grid(\"extend\", c)"), "the_flushed_state_is_that_of_the_last_flush_step"),
    (Mutant("a flushed snapshot ignores the flush", "checkpoints.flushed_checkpoint", "step.recorded, flushed", "step.recorded, step.state"), "the_flushed_state_is_that_of_the_last_flush_step"),
    (Mutant("verify is on the raw interval", "checkpoints.verify_checkpoint", "design.grid(\"verify\", c)", "design.grid(\"flush\", c)"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("verify is on the checkpoint grid", "checkpoints.verify_checkpoint", "design.grid(\"verify\", c)", "design.grid(\"extend\", c)"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("every verifier is blind", "checkpoints.verify_checkpoint", "not in design", "in design"), "no_depth_on_the_grid_is_passed_unsaved"),
    (Mutant("verify saves without a crossing", "checkpoints.verify_checkpoint", "both(sees, current(design.verify_crosses)(grid, pre, accepted))", "sees"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("verify records its end", "checkpoints.verify_checkpoint", "recorded=current(design.verify_point)(grid, pre, accepted)", "recorded=pre + accepted"), "the_saved_verify_step_has_consumed_exactly_the_recorded_depth"),
    (Mutant("verify reads the last state", "checkpoints.verify_checkpoint", "current(design.verify_saved_step)(grid, pre, accepted)", "accepted - 1"), "verify_checkpoint_lands_on_a_node"),
    (Mutant("a node is looked up under the state", "checkpoints.node_of", "(page, key, checkpoint.recorded)", "(page, checkpoint.state, checkpoint.state)"), "a_guarded_extend_hangs_on_the_node_of_its_recorded_depth"),
    (Mutant("a node forgets dcp", "checkpoints.node_of", "grids.tree_page(c)", "c.page_size"), "a_raw_interval_misplaces_nothing_that_fits_or_has_no_node"),
    (Mutant("the guard is asked about the state", "checkpoints.node_of", "(page, checkpoint.recorded), node", "(page, checkpoint.state), node"), "a_guarded_extend_hangs_on_the_node_of_its_recorded_depth"),
    (Mutant("the guard is exchanged", "checkpoints.node_of", "node, 0)", "0, node)"), "decode_checkpoint_lands_on_a_node"),
    (Mutant("the guard is not asked", "checkpoints.node_of", "choose(current(design.insert_guard)(page, checkpoint.recorded), node, 0)", "node"), "a_guarded_extend_hangs_on_the_node_of_its_recorded_depth"),
    (Mutant("the node is compared with the record", "checkpoints.misplaced", "node != checkpoint.state", "node != checkpoint.recorded"), "an_old_extend_with_a_wrong_row_is_misplaced_even_from_the_tree_page"),
    (Mutant("nothing is misplaced", "checkpoints.misplaced", "node != checkpoint.state", "node < checkpoint.state"), "an_old_extend_with_a_wrong_row_is_misplaced_even_from_the_tree_page"),
    (Mutant("the root is misplaced", "checkpoints.misplaced", "both(checkpoint.saved, node > 0, node != checkpoint.state)", "both(checkpoint.saved, node != checkpoint.state)"), "a_raw_interval_misplaces_nothing_that_fits_or_has_no_node"),
    (Mutant("an unsaved checkpoint is misplaced", "checkpoints.misplaced", "both(checkpoint.saved, node > 0,", "both(node > 0,"), "a_raw_interval_misplaces_nothing_that_fits_or_has_no_node"),
    (Mutant("a state is read from the other entry", "life.Slots.state", "self.first, self.second", "self.second, self.first"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("a state is always the first", "life.Slots.state", "self.first, self.second", "self.first, self.first"), "a_prompts_checkpoint_establishes_the_lazy_invariant"),
    (Mutant("a state is put into the other entry", "life.Slots.put", "first=choose(entry == 0, state, self.first)", "first=choose(entry != 0, state, self.first)"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("a put writes both entries", "life.Slots.put", "second=choose(entry == 0, self.second, state)", "second=state"), "a_prompts_checkpoint_establishes_the_lazy_invariant"),
    (Mutant("a put forgets the second entry", "life.Slots.put", "second=choose(entry == 0, self.second, state)", "second=self.second"), "a_launch_of_an_eager_step_keeps_the_invariant"),
    (Mutant("lazy is any buffer", "life.is_lazy", "== \"extra_buffer_lazy\"", "!= \"no_buffer\""), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("lazy is never", "life.is_lazy", "== \"extra_buffer_lazy\"", "== \"lazy\""), "a_prompts_checkpoint_establishes_the_lazy_invariant"),
    (Mutant("the other entry is the same", "life.other", "1 - entry if", "entry if"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("there is always another entry", "life.other", "1 - entry if c.overlap else entry", "1 - entry"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("the kept entry is not stored", "life._keep", "kept=entry", "kept=slots.kept"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("the kept entry is derived always", "life._keep", "not design.stores_the_kept_entry", "True"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("the kept entry is the next one", "life._keep", "kept=entry", "kept=slots.next"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("the kept entry is derived the wrong way", "life._keep", "slots.next if is_lazy(c) else other(c, slots.next)", "slots.next"), "a_release_that_derives_what_it_keeps_keeps_what_a_prompt_wrote"),
    (Mutant("the next entry is asked for a slot", "life._alone", "other(c, slots.next)", "slots.next"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("an unwritten slot is none", "life._alone", "NO_SLOT", "UNWRITTEN"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a new lazy request has two slots", "life.admitted", "Slots(UNWRITTEN, NO_SLOT, next=0, kept=0)", "Slots(UNWRITTEN, UNWRITTEN, next=0, kept=0)"), "a_prompts_checkpoint_establishes_the_lazy_invariant"),
    (Mutant("a new lazy request keeps the second entry", "life.admitted", "NO_SLOT, next=0, kept=0", "NO_SLOT, next=0, kept=1"), "a_prompts_checkpoint_establishes_the_lazy_invariant"),
    (Mutant("a new request keeps its next entry", "life.admitted", "kept=other(c, 0)", "kept=0"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("a new request starts at the second entry", "life.admitted", "UNWRITTEN, UNWRITTEN, next=0", "UNWRITTEN, UNWRITTEN, next=1"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("a prompt writes the kept entry", "life.prompt_launched", "entry = slots.next", "entry = slots.kept"), "a_prompts_checkpoint_leaves_the_one_before_in_its_entry"),
    (Mutant("a prompt swaps lazily", "life.prompt_launched", "entry if is_lazy(c) else other(c, entry)", "other(c, entry)"), "a_prompts_checkpoint_establishes_the_lazy_invariant"),
    (Mutant("a prompt never swaps", "life.prompt_launched", "entry if is_lazy(c) else other(c, entry)", "entry"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("a prompt leaves no label", "life.prompt_launched", "label=checkpoint.recorded", "label=slots.label"), "a_prompt_donates_its_checkpoint_and_nothing_else"),
    (Mutant("a prompt labels its state", "life.prompt_launched", "label=checkpoint.recorded", "label=checkpoint.state"), "a_prompt_donates_its_checkpoint_and_nothing_else"),
    (Mutant("a prompt labels one more", "life.prompt_launched", "label=checkpoint.recorded", "label=checkpoint.recorded + 1"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("a prompt keeps the following entry", "life.prompt_launched", "written, entry)", "written, following)"), "a_prompts_checkpoint_establishes_the_eager_invariant"),
    (Mutant("a prompt needs no checkpoint", "life.prompt_launched", "checkpoint.saved", "True"), "a_prompt_donates_its_checkpoint_and_nothing_else"),
    (Mutant("a prompt writes what it records", "life.prompt_launched", "slots.put(entry, checkpoint.state)", "slots.put(entry, checkpoint.recorded)"), "a_prompt_donates_its_checkpoint_and_nothing_else"),
    (Mutant("a prompt donates the next entry", "life.prompt_completed", "slots.state(slots.kept)", "slots.state(slots.next)"), "a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state"),
    (Mutant("a prompt donates without a label", "life.prompt_completed", "Checkpoint(labelled, True,", "Checkpoint(True, True,"), "a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state"),
    (Mutant("a prompt never donates", "life.prompt_completed", "slots.label != NO_DEPTH", "slots.label < NO_DEPTH"), "a_prompt_donates_its_checkpoint_and_nothing_else"),
    (Mutant("a prompt replaces the next entry", "life.prompt_completed", "slots.put(slots.kept, UNWRITTEN)", "slots.put(slots.next, UNWRITTEN)"), "a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state"),
    (Mutant("a prompt replaces nothing", "life.prompt_completed", "slots.put(slots.kept, UNWRITTEN)", "slots"), "a_prompts_result_leaves_nothing_to_donate_twice"),
    (Mutant("a prompt's label stays", "life.prompt_completed", "label=NO_DEPTH, previous=NO_DEPTH", "previous=NO_DEPTH"), "a_prompts_result_keeps_the_eager_invariant_and_donates_its_own_state"),
    (Mutant("a step moves where it holds two slots", "life.step_launched", "where(alone, slots)", "where(negation(alone), slots)"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a step does not move", "life.step_launched", "next=other(c, slots.next))", "next=slots.next)"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a step keeps the new entry", "life.step_launched", "moved.kept)", "moved.next)"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a step without a slot moves", "life.step_launched", "allocation_fails, moved", "negation(allocation_fails), moved"), "a_lazy_step_forgets_its_label_only_where_no_slot_can_be_had"),
    (Mutant("a step without a slot keeps its label", "life.step_launched", "if design.failure_forgets_the_label else slots", "if not design.failure_forgets_the_label else slots"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a step writes the kept entry", "life.step_launched", "written.put(written.next,", "written.put(written.kept,"), "a_launch_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a step writes the length before", "life.step_launched", "snapshot.state", "snapshot.state - 1"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("a step writes off the boundary", "life.step_launched", "snapshot.saved", "True"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("a step writes one late", "life.step_launched", "decode_checkpoint(design, c, seq_len)", "decode_checkpoint(design, c, seq_len - 1)"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("a step off the boundary moves", "life.step_launched", ", before)", ", slots)"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a step does not note its entry", "life.step_launched", "written=slots.next, written_before", "written=slots.written, written_before"), "a_launch_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a step notes the kept entry", "life.step_launched", "written=slots.next", "written=slots.kept"), "a_launch_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result is on the raw interval", "life.step_completed", "grid = design.grid(\"decode\", c)", "grid = design.grid(\"flush\", c)"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("a result labels at every step", "life.step_completed", "depth != NO_DEPTH", "depth >= NO_DEPTH"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result labels never", "life.step_completed", "labels = depth != NO_DEPTH", "labels = depth < NO_DEPTH"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("a result labels what was launched", "life.step_completed", "label=depth", "label=depth + lookahead"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result keeps the old label", "life.step_completed", "replace(slots, label=depth,", "replace(slots,"), "a_step_without_overlap_keeps_its_label_true"),
    (Mutant("a result keeps the entry written before", "life.step_completed", "choose(ahead, slots.written_before, slots.written)", "slots.written_before"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result exchanges its entries", "life.step_completed", "choose(ahead, slots.written_before, slots.written)", "choose(ahead, slots.written, slots.written_before)"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result sees no step ahead", "life.step_completed", "both(lookahead != 0, current(design.decode_snapshots)(grid, seq_len + 1))", "both(lookahead == 0, current(design.decode_snapshots)(grid, seq_len + 1))"), "a_lazy_step_that_finishes_off_a_boundary_donates_its_label"),
    (Mutant("a result looks two ahead", "life.step_completed", "seq_len + 1", "seq_len + 2"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result sees every step ahead", "life.step_completed", "both(lookahead != 0, current(design.decode_snapshots)(grid, seq_len + 1))", "lookahead != 0"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result forgets the lookahead", "life.step_completed", "both(lookahead != 0, current(design.decode_snapshots)(grid, seq_len + 1))", "current(design.decode_snapshots)(grid, seq_len + 1)"), "a_lazy_step_that_finishes_off_a_boundary_donates_its_label"),
    (Mutant("a lazy result frees its own entry", "life.step_completed", "put(other(c, entry), NO_SLOT)", "put(entry, NO_SLOT)"), "a_result_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a lazy result frees nothing", "life.step_completed", ".put(other(c, entry), NO_SLOT)", ""), "a_result_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a lazy result moves to the other", "life.step_completed", "replace(labelled, next=entry)", "replace(labelled, next=other(c, entry))"), "a_result_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a lazy result frees at every step", "life.step_completed", "after = labelled.where(labels, slots)", "after = labelled"), "a_result_of_a_lazy_step_keeps_the_invariant"),
    (Mutant("a finishing lazy step always donates", "life.step_completed", "negation(lost))", "True)"), "a_stale_lazy_label_is_not_donated"),
    (Mutant("a finishing lazy step never donates", "life.step_completed", "negation(lost))", "negation(finishes))"), "a_lazy_step_that_finishes_off_a_boundary_donates_its_label"),
    (Mutant("a lazy step is lost though it labels", "life.step_completed", "both(negation(labels), ahead, slots.next == slots.kept)", "both(ahead, slots.next == slots.kept)"), "a_lazy_step_that_finishes_on_a_boundary_donates_it"),
    (Mutant("a lazy step is lost though nothing is ahead", "life.step_completed", "both(negation(labels), ahead, slots.next == slots.kept)", "both(negation(labels), slots.next == slots.kept)"), "a_lazy_step_that_finishes_off_a_boundary_donates_its_label"),
    (Mutant("a lazy step is lost though it wrote elsewhere", "life.step_completed", "both(negation(labels), ahead, slots.next == slots.kept)", "both(negation(labels), ahead)"), "a_boundary_in_flight_in_the_second_slot_does_not_cost_the_label"),
    (Mutant("a lazy step that goes on is lost", "life.step_completed", "both(finishes, overwritten)", "overwritten"), "a_lazy_step_that_goes_on_may_still_donate"),
    (Mutant("a result forgets the label before", "life.step_completed", "slots.label if design.fallback_slot else NO_DEPTH", "NO_DEPTH"), "a_labelled_boundary_leaves_the_one_before_in_the_other_entry"),
    (Mutant("a result takes its own label for the one before", "life.step_completed", "slots.label if design.fallback_slot else NO_DEPTH", "depth"), "a_labelled_boundary_leaves_the_one_before_in_the_other_entry"),
    (Mutant("a result swaps never", "life.step_completed", "choose(swaps, other(c, slots.next), slots.next)", "slots.next"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result swaps always", "life.step_completed", "choose(swaps, other(c, slots.next), slots.next)", "other(c, slots.next)"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result swaps the wrong way", "life.step_completed", "choose(swaps, other(c, slots.next), slots.next)", "choose(swaps, slots.next, other(c, slots.next))"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result swaps on the lookahead", "life.step_completed", "current(design.swap)(grid, seq_len, lookahead)", "ahead"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a result keeps the next entry", "life.step_completed", "after, after.kept)", "after, after.next)"), "a_result_of_an_eager_step_keeps_the_invariant"),
    (Mutant("a mixed step keeps its second slot", "life.mixed_launched", "given = given.where(_alone(c, given), back)", "pass"), "a_step_in_a_mixed_batch_leaves_the_lazy_slots_as_they_were"),
    (Mutant("a mixed step keeps the slot and moves away", "life.mixed_launched", "replace(given.put(given.next, NO_SLOT), next=before)", "replace(given, next=before)"), "a_step_in_a_mixed_batch_leaves_the_lazy_slots_as_they_were"),
    (Mutant("a mixed step gives back the slot of its checkpoint", "life.mixed_launched", "given.put(given.next, NO_SLOT)", "given.put(before, NO_SLOT)"), "a_step_in_a_mixed_batch_leaves_the_lazy_slots_as_they_were"),
    (Mutant("a mixed step stays with the slot it gave back", "life.mixed_launched", "replace(given.put(given.next, NO_SLOT), next=before)", "given.put(given.next, NO_SLOT)"), "a_step_in_a_mixed_batch_leaves_the_lazy_slots_as_they_were"),
    (Mutant("a plan is never lazy", "life.verify_planned", "if not is_lazy(c):", "if True:"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a plan is on the raw interval", "life.verify_planned", "design.grid(\"verify\", c)", "design.grid(\"flush\", c)"), "a_plan_far_from_a_boundary_changes_nothing"),
    (Mutant("a plan where no boundary is", "life.verify_planned", "taken.where(possible, slots)", "taken"), "a_plan_far_from_a_boundary_changes_nothing"),
    (Mutant("a failed plan keeps its label", "life.verify_planned", "if design.failure_forgets_the_label else slots", "if not design.failure_forgets_the_label else slots"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a failed plan takes a slot", "life.verify_planned", "failed.where(allocation_fails, slots.put(second, UNWRITTEN))", "slots.put(second, UNWRITTEN)"), "a_plan_for_which_no_slot_can_be_had_writes_in_place"),
    (Mutant("a plan writes the next entry", "life.verify_planned", "choose(free, second, slots.next)", "slots.next"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a plan writes an entry without a slot", "life.verify_planned", "both(possible, planned.state(second) != NO_SLOT)", "possible"), "a_plan_for_which_no_slot_can_be_had_writes_in_place"),
    (Mutant("a plan takes the slot of a checkpoint", "life.verify_planned", ".where(alone, slots)", ""), "a_plan_that_has_a_second_slot_forgets_no_label"),
    (Mutant("a verify writes the next entry", "life.verify_launched", "slots.put(entry,", "slots.put(slots.next,"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a verify writes without a crossing", "life.verify_launched", ".where(checkpoint.saved, slots)", ""), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a verify writes its end", "life.verify_launched", "checkpoint.state)", "pre + accepted)"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("a verify is labelled on the raw interval", "checkpoints.verify_label", "design.grid(\"verify\", c)", "design.grid(\"flush\", c)"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("a verify's end counts the accepted", "checkpoints.verify_label", "pre + retained - start", "pre + accepted - start"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("a verify's label is its end", "checkpoints.verify_label", "point(grid, start, passed)", "start + passed"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("a verify's label is looked for from the start of the sequence", "checkpoints.verify_label", "crosses(grid, start, passed)", "crosses(grid, 0, start + passed)"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("an eager verify keeps the other entry", "life.verify_completed", "kept=slots.next, next", "kept=slots.kept, next"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("an eager verify does not swap", "life.verify_completed", "next=other(c, slots.next), previous", "next=slots.next, previous"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("an eager verify swaps without a crossing", "life.verify_completed", "return labelled.where(crossed, slots)", "return labelled"), "an_eager_verify_keeps_its_label_true"),
    (Mutant("an eager verify forgets the label before", "life.verify_completed", "slots.label if design.fallback_slot else NO_DEPTH", "NO_DEPTH"), "an_eager_verify_labels_what_it_passes_and_remembers_the_label_before"),
    (Mutant("a lazy verify frees its own slot", "life.verify_completed", "slots.put(slots.next, NO_SLOT)", "slots.put(entry, NO_SLOT)"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a lazy verify frees nothing", "life.verify_completed", "slots.put(slots.next, NO_SLOT)", "slots"), "a_lazy_verify_labels_what_it_passes_and_frees_the_other_slot"),
    (Mutant("a lazy verify does not move", "life.verify_completed", "NO_SLOT), next=entry)", "NO_SLOT), next=slots.next)"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a lazy verify keeps the old entry", "life.verify_completed", "replace(promoted, label=depth, kept=entry)", "replace(promoted, label=depth)"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a lazy verify promotes without a crossing", "life.verify_completed", "kept=entry).where(crossed, slots)", "kept=entry)"), "a_lazy_verify_keeps_its_label_true"),
    (Mutant("a finish donates the next entry", "life.finished", "slots.state(entry)", "slots.state(slots.next)"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("a finish donates what was forgotten", "life.finished", "both(slots.donates, depth != NO_DEPTH)", "depth != NO_DEPTH"), "a_stale_lazy_label_is_not_donated"),
    (Mutant("a finish donates without a label", "life.finished", "both(slots.donates, depth != NO_DEPTH)", "slots.donates"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("a finish never donates", "life.finished", "depth != NO_DEPTH)", "depth < NO_DEPTH)"), "a_finish_donates_the_label_that_its_key_reaches"),
    (Mutant("a finish takes the other entry for its label", "life.finished", "slots.kept, other(c, slots.kept))", "other(c, slots.kept), slots.kept)"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("a fallback donates the kept entry", "life.finished", "choose(slots.label <= key_length, slots.kept, other(c, slots.kept))", "slots.kept"), "a_finish_falls_back_on_the_label_before"),
    (Mutant("a fallback takes the label for the one before", "life.finished", "slots.previous if c.overlap", "slots.label if c.overlap"), "a_finish_falls_back_on_the_label_before"),
    (Mutant("a fallback without overlap", "life.finished", "slots.previous if c.overlap else NO_DEPTH", "slots.previous"), "a_finish_without_overlap_donates_the_state_of_its_label"),
    (Mutant("an old finish is cut to the key", "life.finished", "current(design.finish_depth)(key_length, slots.label, previous)", "choose(slots.label <= key_length, slots.label, key_length)"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("a finish compares its key with the label before", "life.finished", "slots.label <= key_length", "previous <= key_length"), "a_finish_donates_the_label_that_its_key_reaches"),
    (Mutant("a finish at its own key falls back", "life.finished", "slots.label <= key_length", "slots.label < key_length"), "an_eager_finish_donates_the_state_of_its_label"),
    (Mutant("the saved step is not kept above 0", "verify.saved_step", "largest(tracking_point(grid, pre, accepted) - pre - 1, 0)", "tracking_point(grid, pre, accepted) - pre - 1"), "the_saved_step_is_an_accepted_one_even_where_nothing_is_crossed"),
    (Mutant("the old label of a verify counts the retained", "slots.label_counts_the_accepted", "pre + retained - accepted", "pre"), "an_old_label_is_repeated_exactly_within_the_dropped_tokens_before_the_start"),
    (Mutant("a mask ahead of the step before", "decode.next_step_snapshots", "grid - 1", "1"), "the_mask_handed_on_is_the_mask_of_the_next_step"),
    (Mutant("a completed length forgets the steps ahead", "decode.completed_length", "committed - lookahead", "committed"), "a_result_labels_the_depth_of_its_own_snapshot"),
    (Mutant("a branching point counted from the start", "extend.keeps_branching_point", "point - prefix", "point"), "the_row_read_for_a_branching_point_is_its_own"),
    (Mutant("a follower is given its last token", "lookup.longest_given", "prompt - 1", "prompt"), "a_follower_is_given_a_node_exactly_if_its_prompt_goes_beyond_it"),
    (Mutant("a follower is told of the node it has", "lookup.is_told", "point > node", "point >= node"), "a_follower_is_told_of_no_depth_that_it_is_given"),
    (Mutant("a branching point one unit early", "lookup.branching_point", "hit // grid", "(hit - 1) // grid"), "the_last_depth_on_the_grid_within_the_hit_is_told"),
    (Mutant("a step forgets the entry before", "life.step_launched", "written_before=slots.written", "written_before=slots.next"), "a_result_keeps_the_entry_that_its_own_step_wrote"),
    (Mutant("a result takes a step ahead for its own", "life.step_completed", "choose(ahead, slots.written_before, slots.written)", "slots.written"), "a_result_keeps_the_entry_that_its_own_step_wrote"),
    (Mutant("a lazy verify keeps its donation", "life.verify_completed", "both(slots.donates, negation(lost))", "slots.donates"), "a_stale_lazy_label_is_not_donated_at_a_verify"),
    (Mutant("a lazy verify loses only its own slot", "life.verify_completed", "either(into_the_kept, both(_alone(c, slots), possible))", "into_the_kept"), "a_stale_lazy_label_is_not_donated_at_a_verify"),
    (Mutant("a lazy verify loses only the next one's", "life.verify_completed", "either(into_the_kept, both(_alone(c, slots), possible))", "both(_alone(c, slots), possible)"), "a_stale_lazy_label_is_not_donated_at_a_verify"),
    (Mutant("a finishing verify is promoted", "life.verify_completed", "last.where(finishes, promoted)", "promoted"), "a_lazy_verify_that_finishes_beside_a_second_slot_donates_the_label_before"),
    (Mutant("a lazy verify loses whatever it has alone", "life.verify_completed", "both(_alone(c, slots), possible)", "_alone(c, slots)"), "a_lazy_verify_that_finishes_far_from_a_boundary_donates_its_label"),
    (Mutant("a donation overwrites the state there is", "tree.kept", "choose(held != NO_STATE, held, state)", "state"), "a_node_that_has_a_state_keeps_it"),
    (Mutant("a donation is lost", "tree.kept", "choose(held != NO_STATE, held, state)", "held"), "a_donation_keeps_a_node_with_the_state_of_its_depth"),
    (Mutant("a donation goes where there is a state", "tree.kept", "choose(held != NO_STATE, held, state)", "choose(held != NO_STATE, state, held)"), "a_node_that_has_a_state_keeps_it"),
    (Mutant("a donation moves its node to its state", "tree.donated", "Node(node.depth,", "Node(state,"), "a_node_that_has_a_state_keeps_it"),
    (Mutant("a split moves the state to the upper part", "tree.split", "Node(depth, above(node.depth, node.state, depth))", "Node(depth, below(node.depth, node.state, depth))"), "a_split_leaves_the_state_on_the_node_of_its_depth"),
    (Mutant("a split leaves the state on both parts", "tree.left_above", "NO_STATE", "state"), "a_split_leaves_the_state_on_the_node_of_its_depth"),
    (Mutant("a split makes up a state", "tree.left_above", "NO_STATE", "at"), "a_split_leaves_the_state_on_the_node_of_its_depth"),
    (Mutant("a split loses the state", "tree.left_below", "return state", "return NO_STATE"), "a_split_leaves_the_state_on_the_node_of_its_depth"),
    (Mutant("a split counts the lower part from its start", "tree.split", "Node(node.depth, below", "Node(node.depth - depth, below"), "a_split_leaves_the_state_on_the_node_of_its_depth"),
    (Mutant("the upper part of a split ends where the node did", "tree.split", "Node(depth, above", "Node(node.depth, above"), "a_split_leaves_the_state_on_the_node_of_its_depth"),
    (Mutant("an eviction leaves the state", "tree.left_evicted", "NO_STATE", "state"), "an_eviction_moves_no_state"),
    (Mutant("an eviction moves the state to the root", "tree.evicted", "Node(node.depth, leaves(node.state))", "Node(0, node.state)"), "an_eviction_moves_no_state"),
    (Mutant("a match goes on to a node without a state", "tree.visited", "choose(node.has_state, node.depth, best.depth)", "node.depth"), "a_match_is_given_the_deepest_state_of_its_path"),
    (Mutant("a match stays where it was", "tree.visited", "choose(node.has_state, node.depth, best.depth)", "best.depth"), "a_match_is_given_the_deepest_state_of_its_path"),
    (Mutant("a match takes the state of the node before", "tree.visited", "choose(node.has_state, node.state, best.state)", "best.state"), "a_match_is_given_the_deepest_state_of_its_path"),
    (Mutant("a match takes a state that is none", "tree.visited", "choose(node.has_state, node.state, best.state)", "node.state"), "a_match_is_given_the_deepest_state_of_its_path"),
    (Mutant("a match goes from the deepest node on", "tree.given", "path, ROOT", "reversed(list(path)), ROOT"), "a_match_is_given_the_state_of_its_depth_short_of_its_prompt"),
    (Mutant("a match gives the last node", "tree.given", "reduce(visited, path, ROOT)", "list(path)[-1]"), "a_match_is_given_the_state_of_its_depth_short_of_its_prompt"),
    (Mutant("a match gives the root", "tree.given", "reduce(visited, path, ROOT)", "ROOT"), "a_match_is_given_the_state_of_its_depth_short_of_its_prompt"),
    (Mutant("every node has a state", "tree.Node.has_state", "!= NO_STATE", ">= NO_STATE"), "a_match_is_given_the_state_of_its_depth_short_of_its_prompt"),
    (Mutant("no node has a state", "tree.Node.has_state", "!= NO_STATE", "< NO_STATE"), "a_match_is_given_the_state_of_its_depth_short_of_its_prompt"),
    (Mutant("the last label is kept in the other entry", "life.keeping", "next=1, kept=0", "next=0, kept=1"), "a_finish_donates_no_state_beyond_its_key"),
)
EQUIVALENT: tuple[tuple[Mutant, Theorem], ...] = (
    (Mutant("the old assertion asks for the prefix", "extend.depth_is_on_the_chunk", "divides(chunk, depth)", "divides(chunk, prefix)"), the_old_assertion_is_one_on_the_prefix),
    (Mutant("the new assertion always passes", "extend.offset_is_on_the_chunk", "divides(chunk, depth - prefix)", "depth >= 0"), the_new_assertion_holds_wherever_an_extend_donates),
    (Mutant("a flushed snapshot is labelled with the flush", "checkpoints.flushed_checkpoint", "step.recorded, flushed", "flushed, flushed"), a_snapshot_is_taken_of_the_length_that_is_flushed),
    (Mutant("a prompt's previous label stays", "life.prompt_completed", "label=NO_DEPTH, previous=NO_DEPTH", "label=NO_DEPTH"), without_a_label_there_is_no_falling_back),
    (Mutant("a finish is hung under what it records", "life.finished", "slots.state(entry), key_length)", "slots.state(entry))"), a_finish_picks_no_depth_beyond_its_key),
    (Mutant("a lazy result does not move back", "life.step_completed", "replace(labelled, next=entry)", "labelled"), a_lazy_boundary_was_written_to_the_next_entry),
)
# fmt: on


def named(table):
    return [pytest.param(*entry, id=entry[0].name) for entry in table]


def reaching(mutant: Mutant, monkeypatch) -> list[Theorem]:
    """The theorems of the library that run the function."""
    reach = []
    with monkeypatch.context() as patch:
        patch.setattr(mutant.function, "__code__", _never.__code__)
        for theorem in LIBRARY:
            try:
                theorem.parameters()
            except NotImplementedError:
                reach.append(theorem)
    return reach


def refuted(theorem: Theorem, mutant: Mutant, monkeypatch) -> points.Values | None:
    """Integers on which the theorem fails with the mutant in place, and holds without it."""
    parameters, code, start = theorem.parameters(), mutant.code(), time.process_time()
    with monkeypatch.context() as patch, numpy.errstate(divide="raise", invalid="raise"):
        patch.setattr(mutant.function, "__code__", code)
        found = points.counterexample(theorem, {**parameters, **theorem.parameters()})
    assert time.process_time() - start < SECONDS
    if found is not None:
        assert not points.fails_at(theorem, found), "it fails without the mutant as well"
    return found


@pytest.fixture(autouse=True)
def fewer_candidates(monkeypatch):
    """A seventh of the candidates: every kill in the table is found among them."""
    monkeypatch.setattr(points, "_MOST_POINTS", points._FEWER_POINTS)


@pytest.mark.parametrize(("mutant", "theorem"), named(KILLED))
def test_a_mutant_is_refuted(monkeypatch, mutant, theorem):
    assert refuted(LIBRARY[theorem], mutant, monkeypatch) is not None


@pytest.mark.parametrize(("mutant", "equivalence"), named(EQUIVALENT))
def test_a_mutant_is_equivalent(monkeypatch, mutant, equivalence):
    assert shown(equivalence)
    assert reaching(mutant, monkeypatch)
    for theorem in reaching(mutant, monkeypatch):
        assert refuted(theorem, mutant, monkeypatch) is None, theorem.id


def test_every_mutant_is_named_once_and_changes_its_function():
    mutants = [entry[0] for entry in (*KILLED, *EQUIVALENT)]
    assert len({m.name for m in mutants}) == len(mutants)
    assert len({(m.where, m.old, m.new) for m in mutants}) == len(mutants)
    assert all(m.code().co_code for m in mutants)


def test_every_rule_has_a_mutant():
    mutated = {entry[0].where for entry in (*KILLED, *EQUIVALENT)}
    for module in (decode, extend, flush, grids, insert, lookup, slots, tree, verify):
        short = module.__name__.rpartition(".")[2]
        own = {
            n
            for n, f in vars(module).items()
            if inspect.isfunction(f) and f.__module__ == module.__name__
        }
        assert {f"{short}.{n}" for n in own} <= mutated
