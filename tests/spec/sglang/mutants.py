"""Wrong rules: each mutant is a function whose source has one text put in place of another.

`OF_RULES` are mutants of what the theorems run, `OF_ORDERS` of the order of events (`scheduler.py`, `trace_runner.py`); what
refutes each of them stands in `spec/sglang/theorems/refuted.json`.  `EQUIVALENT` names the statement, proved by the
solver, by which a mutant changes nothing that is looked at.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType

from spec.numbers import choose, divides
from spec.sglang import checkpoints, scheduler, slot_buffer, trace_runner
from spec.sglang.rules import (
    cuts,
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
from spec.sglang.theorems import LIBRARY
from spec.sglang.theorems import slot_invariants as forms
from spec.sglang.theorems.library import having
from spec.theorem import Library, Statement, Theorem

RULES = (
    checkpoints,
    slot_buffer,
    cuts,
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
ORDERS = (scheduler, trace_runner)
MODULES = {module.__name__.rpartition(".")[2]: module for module in (*RULES, *ORDERS)}


@dataclass(frozen=True)
class Mutant:
    """A function, by module and name, and a text of its source that stands there once, with what replaces it.

    Its code is put into the function itself, so that whoever holds the function under whatever name runs the mutant.
    """

    name: str
    where: str
    old: str
    new: str

    @property
    def function(self) -> FunctionType:
        """The function itself; of a property or a static method, the function behind it."""
        module, *path = self.where.split(".")
        held = MODULES[module]
        for name in path:
            held = inspect.getattr_static(held, name)
        return behind(held)

    def code(self) -> CodeType:
        """The code of the mutant."""
        source = textwrap.dedent(inspect.getsource(self.function))
        assert source.count(self.old) == 1, f"{self.where} has {self.old!r} not just once"
        text = f"from __future__ import annotations\n{source.replace(self.old, self.new)}"
        scope = dict(self.function.__globals__)
        exec(compile(text, f"<{self.name}>", "exec"), scope)
        return behind(scope[self.function.__name__]).__code__

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Whoever calls the function runs the mutant."""
        function, right = self.function, self.function.__code__
        function.__code__ = self.code()
        try:
            yield
        finally:
            function.__code__ = right


def behind(held) -> FunctionType:
    """The function behind a property or a static method; whatever else is held itself."""
    return getattr(held, "fget", None) or getattr(held, "__func__", held)


def statement(state) -> Theorem:
    """A theorem outside the library."""
    return Library(LIBRARY.setting).theorem("equivalence", least=forms.LEAST)(state)


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
    design, c, next_entry, second, label, kept, new, written, written_before, completed, ahead
):
    """Where a result labels, the entry it moves to is the next one already."""
    c = having(c, **forms.LAZY)
    grid, end = design.grid("decode", c), completed + 1
    before = forms.lazy(next_entry, second, label, kept, new, written, written_before)
    after = slot_buffer.step_completed(design, c, before, end, ahead)
    boundary = choose(divides(grid, end), end, slots.NO_DEPTH)
    return Statement(
        {
            "the_grid_is_above_one_token": grid > 1,
            "the_invariant_held": forms.lazy_invariant(before, completed, boundary),
        },
        after.next == before.next,
    )


@statement
def a_snapshot_that_is_wanted_is_saved(design, c, seq_len):
    """A decode step has no assertion that could keep it from writing."""
    checkpoint = checkpoints.decode_checkpoint(design, c, seq_len)
    return Statement({}, checkpoint.wanted == checkpoint.saved)


@statement
def a_state_that_a_verify_wants_is_saved(design, c, pre, accepted):
    """A verify has no assertion that could keep it from writing."""
    checkpoint = checkpoints.verify_checkpoint(design, c, pre, accepted)
    return Statement({}, checkpoint.wanted == checkpoint.saved)


@statement
def a_finish_picks_no_depth_beyond_its_key(design, c, label, previous, key):
    """The depth that a finish donates lies within its key already."""
    return Statement({}, slots.label_within_the_key(key, label, previous) <= key)


# fmt: off
OF_RULES: tuple[Mutant, ...] = (
    Mutant("rows are whole chunks alone", "extend.rows_written", "(tokens - 1) // stride + 1", "tokens // stride"),
    Mutant("one row more is written", "extend.rows_written", "(tokens - 1) // stride + 1", "tokens // stride + 1"),
    Mutant("a row is written for each token", "extend.rows_written", "// stride + 1", "+ 1"),
    Mutant("a row ignores the request before", "extend.row_in_batch", "rows_written(stride, before) + ", ""),
    Mutant("a row counts the tokens before", "extend.row_in_batch", "rows_written(stride, before)", "before"),
    Mutant("a row in a batch is counted from 0", "extend.row_in_batch", "(tracked - prefix) // stride", "tracked // stride"),
    Mutant("a window ends where it is tracked", "extend.window_depth", "prefix + (tracked - prefix) // chunk * chunk", "tracked"),
    Mutant("a window is counted from 0", "extend.window_depth", "prefix + (tracked - prefix) //", "tracked //"),
    Mutant("a window forgets its prefix", "extend.window_depth", "prefix + (tracked", "(tracked"),
    Mutant("a prompt is first cut off the page", "cuts.first_cut", "// page * page) // page * page", ")"),
    Mutant("a prompt is first cut a token late", "cuts.first_cut", "// page * page) // page * page", "// page * page) // page * page + 1"),
    Mutant("a further piece takes a token less", "cuts.next_cut", "prefix + budget", "prefix + budget - 1"),
    Mutant("a further piece is counted from the start", "cuts.next_cut", "prefix + budget", "budget - prefix // 2"),
    Mutant("the tree page forgets dcp", "grids.tree_page", "c.page_size * c.dcp_size", "c.page_size"),
    Mutant("the tree page adds the ranks", "grids.tree_page", "c.page_size * c.dcp_size", "c.page_size + c.dcp_size - 1"),
    Mutant("the tree page is one rank too wide", "grids.tree_page", "c.page_size * c.dcp_size", "c.page_size * (c.dcp_size + 1)"),
    Mutant("the tree page is the larger of page and ranks", "grids.tree_page", "c.page_size * c.dcp_size", "largest(c.page_size, c.dcp_size)"),
    Mutant("rows of states are written every page", "grids.model_chunk", "c.mamba_chunk_size", "c.page_size"),
    Mutant("rows of states are written every second chunk", "grids.model_chunk", "c.mamba_chunk_size", "2 * c.mamba_chunk_size"),
    Mutant("the cache chunk forgets the page", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "c.mamba_chunk_size"),
    Mutant("the cache chunk forgets the model", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "c.page_size"),
    Mutant("the cache chunk is the product", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "c.mamba_chunk_size * c.page_size"),
    Mutant("the cache chunk is the lcm", "grids.cache_chunk_size", "largest(", "lcm("),
    Mutant("the cache chunk is the gcd", "grids.cache_chunk_size", "largest(", "gcd("),
    Mutant("the cache chunk is the tree page", "grids.cache_chunk_size", "largest(c.mamba_chunk_size, c.page_size)", "largest(c.mamba_chunk_size, tree_page(c))"),
    Mutant("the checkpoint grid is the larger one", "grids.checkpoint_grid", "lcm(", "largest("),
    Mutant("the checkpoint grid is the product", "grids.checkpoint_grid", "lcm(cache_chunk_size(c), tree_page(c))", "cache_chunk_size(c) * tree_page(c)"),
    Mutant("the checkpoint grid forgets the chunk", "grids.checkpoint_grid", "lcm(cache_chunk_size(c), tree_page(c))", "tree_page(c)"),
    Mutant("the checkpoint grid forgets the tree page", "grids.checkpoint_grid", "lcm(cache_chunk_size(c), tree_page(c))", "cache_chunk_size(c)"),
    Mutant("the checkpoint grid forgets dcp", "grids.checkpoint_grid", "tree_page(c)", "c.page_size"),
    Mutant("the checkpoint grid is on the model chunk", "grids.checkpoint_grid", "cache_chunk_size(c)", "c.mamba_chunk_size"),
    Mutant("the track grid is the larger one", "grids.track_grid", "lcm(", "largest("),
    Mutant("the track grid is the product", "grids.track_grid", "lcm(checkpoint_grid(c), c.mamba_track_interval)", "checkpoint_grid(c) * c.mamba_track_interval"),
    Mutant("the track grid forgets the interval", "grids.track_grid", "lcm(checkpoint_grid(c), c.mamba_track_interval)", "checkpoint_grid(c)"),
    Mutant("the track grid forgets the checkpoint grid", "grids.track_grid", "lcm(checkpoint_grid(c), c.mamba_track_interval)", "c.mamba_track_interval"),
    Mutant("the track grid forgets the chunk", "grids.track_grid", "checkpoint_grid(c)", "tree_page(c)"),
    Mutant("the track grid forgets the tree page", "grids.track_grid", "checkpoint_grid(c)", "cache_chunk_size(c)"),
    Mutant("the raw interval is doubled", "grids.track_interval", "return c.mamba_track_interval", "return 2 * c.mamba_track_interval"),
    Mutant("the raw interval is no shorter than a page", "grids.track_interval", "return c.mamba_track_interval", "return largest(c.mamba_track_interval, c.page_size)"),
    Mutant("the raw interval is whole pages", "grids.track_interval", "return c.mamba_track_interval", "return lcm(c.mamba_track_interval, c.page_size)"),
    Mutant("the period forgets the grid", "grids.period", "tree_page(c) // gcd(grid, tree_page(c))", "tree_page(c)"),
    Mutant("the period counts in the grid", "grids.period", "return tree_page(c)", "return grid"),
    Mutant("the period forgets dcp", "grids.period", "gcd(grid, tree_page(c))", "gcd(grid, c.page_size)"),
    Mutant("the period is one short", "grids.period", "tree_page(c) // gcd(grid, tree_page(c))", "largest(tree_page(c) // gcd(grid, tree_page(c)) - 1, 1)"),
    Mutant("a snapshot is one step late", "decode.snapshot_step", "divides(grid, seq_len)", "divides(grid, seq_len - 1)"),
    Mutant("a snapshot is one step early", "decode.snapshot_step", "divides(grid, seq_len)", "divides(grid, seq_len + 1)"),
    Mutant("a snapshot is taken off the grid", "decode.snapshot_step", "divides(grid, seq_len)", "seq_len % grid != 0"),
    Mutant("divisor and length are exchanged", "decode.snapshot_step", "divides(grid, seq_len)", "divides(seq_len, grid)"),
    Mutant("a snapshot is taken from the grid on", "decode.snapshot_step", "divides(grid, seq_len)", "seq_len >= grid"),
    Mutant("a snapshot every second grid", "decode.snapshot_step", "divides(grid, seq_len)", "divides(2 * grid, seq_len)"),
    Mutant("a snapshot lacks the last token", "decode.snapshot_depth", "return seq_len", "return seq_len - 1"),
    Mutant("a relative depth forgets its prefix", "extend.relative_depth", "prefix + (end - prefix)", "(end - prefix)"),
    Mutant("a relative depth is rounded up", "extend.relative_depth", "(end - prefix) // grid", "(end - prefix + grid - 1) // grid"),
    Mutant("a relative depth is one grid early", "extend.relative_depth", "(end - prefix) // grid", "((end - prefix) // grid - 1)"),
    Mutant("a relative depth ends at the first grid", "extend.relative_depth", "(end - prefix) // grid * grid", "grid"),
    Mutant("a relative depth counts the end from 0", "extend.relative_depth", "(end - prefix) // grid", "end // grid"),
    Mutant("a relative extend of exactly one grid donates nothing", "extend.relative_donates", ">= grid", "> grid"),
    Mutant("a relative extend donates below one grid", "extend.relative_donates", ">= grid", ">= chunk"),
    Mutant("a relative extend donates always", "extend.relative_donates", "end - prefix >= grid", "end >= prefix"),
    Mutant("a relative extend counts its prefix", "extend.relative_donates", "end - prefix >= grid", "end >= grid"),
    Mutant("a relative extend never donates", "extend.relative_donates", "end - prefix >= grid", "end < prefix"),
    Mutant("an absolute depth is rounded up", "extend.absolute_depth", "end // grid * grid", "(end + grid - 1) // grid * grid"),
    Mutant("an absolute depth excludes its end", "extend.absolute_depth", "end // grid", "(end - 1) // grid"),
    Mutant("an absolute depth is one grid early", "extend.absolute_depth", "end // grid * grid", "(end // grid - 1) * grid"),
    Mutant("an absolute depth is the prefix's next grid", "extend.absolute_depth", "end // grid * grid", "(prefix // grid + 1) * grid"),
    Mutant("an absolute depth is its end", "extend.absolute_depth", "end // grid * grid", "end"),
    Mutant("an absolute extend donates its prefix", "extend.absolute_donates", "depth > prefix", "depth >= prefix"),
    Mutant("an absolute extend forgets the prefix", "extend.absolute_donates", "depth > prefix", "depth > 0"),
    Mutant("an absolute extend forgets the whole chunks", "extend.absolute_donates", "both(depth > prefix, divides(chunk, depth - prefix))", "depth > prefix"),
    Mutant("an absolute extend asks for a whole depth", "extend.absolute_donates", "divides(chunk, depth - prefix)", "divides(chunk, depth)"),
    Mutant("an absolute extend asks for whole chunks of tokens", "extend.absolute_donates", "divides(chunk, depth - prefix)", "divides(chunk, end - prefix)"),
    Mutant("an absolute extend asks for whole grids", "extend.absolute_donates", "divides(chunk, depth - prefix)", "divides(grid, depth - prefix)"),
    Mutant("an absolute extend never donates", "extend.absolute_donates", "depth > prefix", "depth < prefix"),
    Mutant("a row is forced where none is needed", "extend.forces_intermediate", "!= depth", "== depth"),
    Mutant("a row is never forced", "extend.forces_intermediate", "!= depth", "< depth"),
    Mutant("a row is forced from 0", "extend.forces_intermediate", "prefix + (end - prefix) // stride * stride", "end // stride * stride"),
    Mutant("a row is forced before the end", "extend.forces_intermediate", "prefix + (end - prefix) // stride * stride", "end"),
    Mutant("the tracked length is the depth", "extend.tracked_length", "depth + 1", "depth"),
    Mutant("the tracked length is one more", "extend.tracked_length", "depth + 1", "depth + 2"),
    Mutant("the tracked length is one stride more", "extend.tracked_length", "depth + 1", "depth + stride"),
    Mutant("the tracked length is one past the end", "extend.tracked_length", "depth + 1, end)", "depth + 1, end + 1)"),
    Mutant("the tracked length never forces", "extend.tracked_length", "depth + 1, end)", "end, end)"),
    Mutant("the old assertion asks for the offset", "extend.depth_is_on_the_chunk", "divides(chunk, depth)", "divides(chunk, depth - prefix)"),
    Mutant("the old assertion always passes", "extend.depth_is_on_the_chunk", "divides(chunk, depth)", "depth >= 0"),
    Mutant("the new assertion asks for the depth", "extend.offset_is_on_the_chunk", "depth - prefix", "depth"),
    Mutant("the new assertion is off by one", "extend.offset_is_on_the_chunk", "depth - prefix", "depth - prefix + 1"),
    Mutant("the assertion guards every read", "extend.assertion_holds", "implies(forced, assertion(chunk, prefix, depth))", "assertion(chunk, prefix, depth)"),
    Mutant("the assertion guards the last row", "extend.assertion_holds", "implies(forced,", "implies(forced == False,"),
    Mutant("the assertion is handed the end", "extend.assertion_holds", "assertion(chunk, prefix, depth)", "assertion(chunk, prefix, end)"),
    Mutant("the assertion takes the stride for the chunk", "extend.assertion_holds", "assertion(chunk,", "assertion(stride,"),
    Mutant("the assertion is dropped", "extend.assertion_holds", "implies(forced, assertion(chunk, prefix, depth))", "end >= prefix"),
    Mutant("the row is counted from 0", "extend.state_depth", "(tracked - prefix) // stride", "tracked // stride"),
    Mutant("the row is the one before", "extend.state_depth", "(tracked - prefix) // stride", "(tracked - prefix) // stride - 1"),
    Mutant("the row is the one behind", "extend.state_depth", "(tracked - prefix) // stride", "(tracked - prefix) // stride + 1"),
    Mutant("the row is a stride wide", "extend.state_depth", "row * mamba_chunk_size", "row * stride"),
    Mutant("the state forgets its prefix", "extend.state_depth", "prefix + row *", "row *"),
    Mutant("the last state is never read", "extend.state_depth", "divides(stride, tracked - prefix), end", "divides(stride, tracked - prefix), prefix"),
    Mutant("the last state is read on whole depths", "extend.state_depth", "divides(stride, tracked - prefix)", "divides(stride, tracked)"),
    Mutant("a flush is one step late", "flush.flush_step", "divides(interval, seq_len)", "divides(interval, seq_len - 1)"),
    Mutant("a flush is one step early", "flush.flush_step", "divides(interval, seq_len)", "divides(interval, seq_len + 1)"),
    Mutant("a flush every second interval", "flush.flush_step", "divides(interval, seq_len)", "divides(2 * interval, seq_len)"),
    Mutant("a flush at every step", "flush.flush_step", "divides(interval, seq_len)", "seq_len >= 1"),
    Mutant("the flushed depth excludes its end", "flush.flushed_depth", "seq_len // interval", "(seq_len - 1) // interval"),
    Mutant("the flushed depth is rounded up", "flush.flushed_depth", "seq_len // interval", "(seq_len + interval - 1) // interval"),
    Mutant("the flushed depth is the length", "flush.flushed_depth", "seq_len // interval * interval", "seq_len"),
    Mutant("a node is rounded up", "insert.node_depth", "smallest(key_length, donated) //", "(smallest(key_length, donated) + tree_page - 1) //"),
    Mutant("a node is one page deeper", "insert.node_depth", "// tree_page * tree_page", "// tree_page * tree_page + tree_page"),
    Mutant("a node excludes its end", "insert.node_depth", "smallest(key_length, donated) //", "(smallest(key_length, donated) - 1) //"),
    Mutant("a node is not cut to pages", "insert.node_depth", "smallest(key_length, donated) // tree_page * tree_page", "smallest(key_length, donated)"),
    Mutant("a node forgets its key", "insert.node_depth", "smallest(key_length, donated)", "donated"),
    Mutant("a node forgets the donation", "insert.node_depth", "smallest(key_length, donated)", "key_length"),
    Mutant("a node is the deeper of key and donation", "insert.node_depth", "smallest(key_length, donated)", "(key_length + donated - smallest(key_length, donated))"),
    Mutant("no depth is accepted", "insert.accepts_any_depth", "depth >= 0", "depth < 0"),
    Mutant("only pages above one are accepted", "insert.accepts_any_depth", "depth >= 0", "tree_page > 1"),
    Mutant("the insert guard accepts any depth from a page on", "insert.depth_has_a_node", "divides(tree_page, depth)", "depth >= tree_page"),
    Mutant("the insert guard asks for two pages", "insert.depth_has_a_node", "divides(tree_page, depth)", "divides(2 * tree_page, depth)"),
    Mutant("the insert guard is one late", "insert.depth_has_a_node", "divides(tree_page, depth)", "divides(tree_page, depth - 1)"),
    Mutant("the insert guard refuses everything", "insert.depth_has_a_node", "divides(tree_page, depth)", "depth < 0"),
    Mutant("a crossing needs a whole grid", "verify.crosses", "pre // grid != (pre + accepted) // grid", "accepted >= grid"),
    Mutant("a crossing ends on the grid", "verify.crosses", "pre // grid != (pre + accepted) // grid", "(pre + accepted) % grid == 0"),
    Mutant("a crossing where none is", "verify.crosses", "!= (pre", "== (pre"),
    Mutant("a crossing excludes its end", "verify.crosses", "(pre + accepted) // grid", "(pre + accepted - 1) // grid"),
    Mutant("a crossing counts its start", "verify.crosses", "pre // grid !=", "(pre - 1) // grid !="),
    Mutant("a crossing counts one token more", "verify.crosses", "(pre + accepted) // grid", "(pre + accepted + 1) // grid"),
    Mutant("a crossing looks at the accepted only", "verify.crosses", "(pre + accepted) // grid", "accepted // grid"),
    Mutant("the tracking point is the first multiple passed", "verify.tracking_point", "(pre + accepted) // grid * grid", "(pre // grid + 1) * grid"),
    Mutant("the tracking point forgets the start", "verify.tracking_point", "(pre + accepted) //", "accepted //"),
    Mutant("the tracking point is rounded up", "verify.tracking_point", "(pre + accepted) // grid", "(pre + accepted + grid - 1) // grid"),
    Mutant("the tracking point excludes its end", "verify.tracking_point", "(pre + accepted) // grid", "(pre + accepted - 1) // grid"),
    Mutant("the tracking point is before the verify", "verify.tracking_point", "(pre + accepted) //", "pre //"),
    Mutant("the saved step is one late", "verify.saved_step", "- pre - 1, 0)", "- pre, 0)"),
    Mutant("the saved step is one early", "verify.saved_step", "- pre - 1, 0)", "- pre - 2, 0)"),
    Mutant("the saved step is the first", "verify.saved_step", "largest(tracking_point(grid, pre, accepted) - pre - 1, 0)", "0"),
    Mutant("the saved step is the last", "verify.saved_step", "largest(tracking_point(grid, pre, accepted) - pre - 1, 0)", "accepted - 1"),
    Mutant("the saved step is at least 1", "verify.saved_step", "- 1, 0)", "- 1, 1)"),
    Mutant("a step's state lacks its own token", "verify.state_depth", "pre + step + 1", "pre + step"),
    Mutant("a step's state has one token more", "verify.state_depth", "pre + step + 1", "pre + step + 2"),
    Mutant("a step's state forgets the start", "verify.state_depth", "pre + step + 1", "step + 1"),
    Mutant("the window ends one later", "verify.window_end", "saved_step(grid, pre, accepted)", "saved_step(grid, pre, accepted) + 1"),
    Mutant("the window ends with the verify", "verify.window_end", "saved_step(grid, pre, accepted)", "accepted"),
    Mutant("the released swap follows the next step", "slots.swap_follows_the_lookahead", "divides(grid, seq_len)),", "divides(grid, seq_len + 1)),"),
    Mutant("the released swap follows the completed step", "slots.swap_follows_the_lookahead", "seq_len + 1", "seq_len"),
    Mutant("the released swap looks two ahead", "slots.swap_follows_the_lookahead", "seq_len + 1", "seq_len + 2"),
    Mutant("the released swap exchanges its masks", "slots.swap_follows_the_lookahead", "implies(lookahead == 0, divides(grid, seq_len))", "implies(lookahead != 0, divides(grid, seq_len))"),
    Mutant("the released swap drops the second mask", "slots.swap_follows_the_lookahead", "implies(lookahead != 0, divides(grid, seq_len + 1)),", "lookahead >= 0,"),
    Mutant("the proposed swap follows the next step", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len + 1)"),
    Mutant("the proposed swap follows the launched length", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len + lookahead)"),
    Mutant("the proposed swap is one late", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len - 1)"),
    Mutant("the proposed swap never happens", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "seq_len < 0"),
    Mutant("the proposed swap always happens", "slots.swap_follows_the_completed_step", "divides(grid, seq_len)", "seq_len >= 0"),
    Mutant("the label is of the launched length", "slots.label_of_the_completed_step", "divides(grid, seq_len), seq_len,", "divides(grid, seq_len + lookahead), seq_len + lookahead,"),
    Mutant("the label counts the steps ahead", "slots.label_of_the_completed_step", "seq_len), seq_len,", "seq_len), seq_len + lookahead,"),
    Mutant("the label looks at the launched length", "slots.label_of_the_completed_step", "divides(grid, seq_len)", "divides(grid, seq_len + lookahead)"),
    Mutant("the label is one short", "slots.label_of_the_completed_step", "seq_len), seq_len,", "seq_len), seq_len - 1,"),
    Mutant("the label is set at every step", "slots.label_of_the_completed_step", "divides(grid, seq_len)", "seq_len >= 0"),
    Mutant("the label is never set", "slots.label_of_the_completed_step", "divides(grid, seq_len)", "seq_len < 0"),
    Mutant("the old label is of the completed step", "slots.label_of_the_launched_length", "seq_len + lookahead", "seq_len"),
    Mutant("the old label is one further", "slots.label_of_the_launched_length", "seq_len + lookahead", "seq_len + lookahead + 1"),
    Mutant("the old key is the longer", "slots.label_cut_to_the_key", "smallest(key_length, label)", "key_length"),
    Mutant("the old key is forgotten", "slots.label_cut_to_the_key", "smallest(key_length, label)", "label"),
    Mutant("a finish forgets its key", "slots.label_within_the_key", "choose(label <= key_length, label, fallback)", "label"),
    Mutant("a finish always falls back", "slots.label_within_the_key", "choose(label <= key_length, label, fallback)", "fallback"),
    Mutant("a finish donates a label beyond its key", "slots.label_within_the_key", "choose(label <= key_length, label", "choose(label >= key_length, label"),
    Mutant("a finish never falls back", "slots.label_within_the_key", "choose(previous <= key_length, previous, NO_DEPTH)", "NO_DEPTH"),
    Mutant("a fallback forgets its key", "slots.label_within_the_key", "choose(previous <= key_length, previous, NO_DEPTH)", "previous"),
    Mutant("a finish on its own key donates nothing", "slots.label_within_the_key", "choose(label <= key_length, label", "choose(label < key_length, label"),
    Mutant("a finish is cut to its key", "slots.label_within_the_key", "choose(label <= key_length, label, fallback)", "smallest(key_length, label)"),
    Mutant("a plan looks one verify ahead", "slots.a_verify_may_cross", "2 * draft_tokens", "draft_tokens"),
    Mutant("a plan looks one token less ahead", "slots.a_verify_may_cross", "2 * draft_tokens", "2 * draft_tokens - 1"),
    Mutant("a plan always sees a boundary", "slots.a_verify_may_cross", "crosses(grid, committed, 2 * draft_tokens)", "committed >= 0"),
    Mutant("the label of a verify counts the accepted", "slots.label_counts_the_retained", "return pre", "return pre + retained - accepted"),
    Mutant("the label of a verify starts at its end", "slots.label_counts_the_retained", "return pre", "return pre + retained"),
    Mutant("a saved checkpoint may fail its assertion", "checkpoints.Checkpoint.saved", "both(self.wanted, self.passes)", "self.wanted"),
    Mutant("an unwanted checkpoint is saved", "checkpoints.Checkpoint.saved", "both(self.wanted, self.passes)", "self.passes"),
    Mutant("a fault needs no wish", "checkpoints.Checkpoint.fault", "both(self.wanted, negation(self.passes))", "negation(self.passes)"),
    Mutant("a fault is a pass", "checkpoints.Checkpoint.fault", "negation(self.passes)", "self.passes"),
    Mutant("an extend donates on the interval", "checkpoints._extend_rule", "design.grid(\"extend\", c)", "design.grid(\"flush\", c)"),
    Mutant("an extend donates on the cache chunk", "checkpoints._extend_rule", "design.grid(\"extend\", c)", "grids.cache_chunk_size(c)"),
    Mutant("an extend donates on the track grid", "checkpoints._extend_rule", "design.grid(\"extend\", c)", "design.grid(\"decode\", c)"),
    Mutant("an extend's donation asks for model chunks", "checkpoints._extend_rule", "grids.cache_chunk_size(c)", "c.mamba_chunk_size"),
    Mutant("an extend under dcp is relative", "checkpoints.extend_checkpoint", "design.extend_rule_under_dcp, c", "design.extend_rule, c"),
    Mutant("dcp is on with one rank", "checkpoints.extend_checkpoint", "c.dcp_size > 1", "c.dcp_size >= 1"),
    Mutant("dcp is off with two ranks", "checkpoints.extend_checkpoint", "c.dcp_size > 1", "c.dcp_size > 2"),
    Mutant("the rules under dcp are exchanged", "checkpoints.extend_checkpoint", "choose(dcp, depth_dcp, depth)", "choose(dcp, depth, depth_dcp)"),
    Mutant("the donation under dcp is exchanged", "checkpoints.extend_checkpoint", "both(implies(dcp, donates_dcp), implies(negation(dcp), donates))", "both(implies(dcp, donates), implies(negation(dcp), donates_dcp))"),
    Mutant("the donation under dcp is the relative one", "checkpoints.extend_checkpoint", "both(implies(dcp, donates_dcp), implies(negation(dcp), donates))", "donates"),
    Mutant("rows are counted in cache chunks", "checkpoints.extend_checkpoint", "current(design.extend_row_stride)(c), grids", "grids.cache_chunk_size(c), grids"),
    Mutant("the assertion is on model chunks", "checkpoints.extend_checkpoint", "(c), grids.cache_chunk_size(c)", "(c), c.mamba_chunk_size"),
    Mutant("the assertion is on the tree page", "checkpoints.extend_checkpoint", "(c), grids.cache_chunk_size(c)", "(c), grids.tree_page(c)"),
    Mutant("an extend records its end", "checkpoints.extend_checkpoint", "recorded=depth", "recorded=end"),
    Mutant("an extend records its tracked length", "checkpoints.extend_checkpoint", "recorded=depth", "recorded=tracked"),
    Mutant("rows are as wide as the cache chunk", "checkpoints.extend_checkpoint", "extend_state)(stride, c.mamba_chunk_size,", "extend_state)(stride, chunk,"),
    Mutant("the state is read at the depth", "checkpoints.extend_checkpoint", "prefix, end, tracked),", "prefix, end, depth),"),
    Mutant("decode is on the raw interval", "checkpoints.decode_checkpoint", "design.grid(\"decode\", c)", "design.grid(\"flush\", c)"),
    Mutant("decode is on the checkpoint grid", "checkpoints.decode_checkpoint", "design.grid(\"decode\", c)", "design.grid(\"extend\", c)"),
    Mutant("decode records the length before", "checkpoints.decode_checkpoint", "recorded=seq_len", "recorded=seq_len - 1"),
    Mutant("decode reads the state before", "checkpoints.decode_checkpoint", "state=state", "state=state - 1"),
    Mutant("a flush is on the track grid", "checkpoints.flushed_checkpoint", "design.grid(\"flush\", c)", "design.grid(\"decode\", c)"),
    Mutant("a flush is on the checkpoint grid", "checkpoints.flushed_checkpoint", "design.grid(\"flush\", c)", "design.grid(\"extend\", c)"),
    Mutant("a flushed snapshot ignores the flush", "checkpoints.flushed_checkpoint", "step.recorded, flushed", "step.recorded, step.state"),
    Mutant("verify is on the raw interval", "checkpoints.verify_checkpoint", "design.grid(\"verify\", c)", "design.grid(\"flush\", c)"),
    Mutant("verify is on the checkpoint grid", "checkpoints.verify_checkpoint", "design.grid(\"verify\", c)", "design.grid(\"extend\", c)"),
    Mutant("no algorithm saves a checkpoint", "checkpoints.verify_checkpoint", "not in design", "in design"),
    Mutant("verify saves without a crossing", "checkpoints.verify_checkpoint", "both(sees, current(design.verify_crosses)(grid, pre, accepted))", "sees"),
    Mutant("verify records its end", "checkpoints.verify_checkpoint", "recorded=current(design.verify_point)(grid, pre, accepted)", "recorded=pre + accepted"),
    Mutant("verify reads the last state", "checkpoints.verify_checkpoint", "current(design.verify_saved_step)(grid, pre, accepted)", "accepted - 1"),
    Mutant("a node is looked up under the state", "checkpoints.node_of", "(page, key, checkpoint.recorded)", "(page, checkpoint.state, checkpoint.state)"),
    Mutant("a node forgets dcp", "checkpoints.node_of", "grids.tree_page(c)", "c.page_size"),
    Mutant("the guard is asked about the state", "checkpoints.node_of", "(page, checkpoint.recorded), node", "(page, checkpoint.state), node"),
    Mutant("the guard is exchanged", "checkpoints.node_of", "node, 0)", "0, node)"),
    Mutant("the guard is not asked", "checkpoints.node_of", "choose(current(design.insert_guard)(page, checkpoint.recorded), node, 0)", "node"),
    Mutant("the node is compared with the record", "checkpoints.misplaced", "node != checkpoint.state", "node != checkpoint.recorded"),
    Mutant("nothing is misplaced", "checkpoints.misplaced", "node != checkpoint.state", "node < checkpoint.state"),
    Mutant("the root is misplaced", "checkpoints.misplaced", "both(checkpoint.saved, node > 0, node != checkpoint.state)", "both(checkpoint.saved, node != checkpoint.state)"),
    Mutant("an unsaved checkpoint is misplaced", "checkpoints.misplaced", "both(checkpoint.saved, node > 0,", "both(node > 0,"),
    Mutant("a state is read from the other entry", "slot_buffer.Slots.state", "self.first, self.second", "self.second, self.first"),
    Mutant("a state is always the first", "slot_buffer.Slots.state", "self.first, self.second", "self.first, self.first"),
    Mutant("a state is put into the other entry", "slot_buffer.Slots.put", "first=choose(entry == 0, state, self.first)", "first=choose(entry != 0, state, self.first)"),
    Mutant("a put writes both entries", "slot_buffer.Slots.put", "second=choose(entry == 0, self.second, state)", "second=state"),
    Mutant("a put forgets the second entry", "slot_buffer.Slots.put", "second=choose(entry == 0, self.second, state)", "second=self.second"),
    Mutant("lazy is any buffer", "slot_buffer.is_lazy", "== \"extra_buffer_lazy\"", "!= \"no_buffer\""),
    Mutant("lazy is never", "slot_buffer.is_lazy", "== \"extra_buffer_lazy\"", "== \"lazy\""),
    Mutant("the other entry is the same", "slot_buffer.other", "1 - entry if", "entry if"),
    Mutant("there is always another entry", "slot_buffer.other", "1 - entry if c.overlap else entry", "1 - entry"),
    Mutant("the kept entry is not stored", "slot_buffer._keep", "kept=entry", "kept=slots.kept"),
    Mutant("the kept entry is derived always", "slot_buffer._keep", "not design.stores_the_kept_entry", "True"),
    Mutant("the kept entry is the next one", "slot_buffer._keep", "kept=entry", "kept=slots.next"),
    Mutant("the kept entry is derived the wrong way", "slot_buffer._keep", "slots.next if is_lazy(c) else other(c, slots.next)", "slots.next"),
    Mutant("the next entry is asked for a slot", "slot_buffer._alone", "other(c, slots.next)", "slots.next"),
    Mutant("an unwritten slot is none", "slot_buffer._alone", "NO_SLOT", "UNWRITTEN"),
    Mutant("a new lazy request has two slots", "slot_buffer.admitted", "Slots(UNWRITTEN, NO_SLOT, next=0, kept=0)", "Slots(UNWRITTEN, UNWRITTEN, next=0, kept=0)"),
    Mutant("a new lazy request keeps the second entry", "slot_buffer.admitted", "NO_SLOT, next=0, kept=0", "NO_SLOT, next=0, kept=1"),
    Mutant("a new request keeps its next entry", "slot_buffer.admitted", "kept=other(c, 0)", "kept=0"),
    Mutant("a new request starts at the second entry", "slot_buffer.admitted", "UNWRITTEN, UNWRITTEN, next=0", "UNWRITTEN, UNWRITTEN, next=1"),
    Mutant("a prompt writes the kept entry", "slot_buffer.prompt_launched", "entry = slots.next", "entry = slots.kept"),
    Mutant("a prompt swaps lazily", "slot_buffer.prompt_launched", "entry if is_lazy(c) else other(c, entry)", "other(c, entry)"),
    Mutant("a prompt never swaps", "slot_buffer.prompt_launched", "entry if is_lazy(c) else other(c, entry)", "entry"),
    Mutant("a prompt leaves no label", "slot_buffer.prompt_launched", "label=checkpoint.recorded", "label=slots.label"),
    Mutant("a prompt labels its state", "slot_buffer.prompt_launched", "label=checkpoint.recorded", "label=checkpoint.state"),
    Mutant("a prompt labels one more", "slot_buffer.prompt_launched", "label=checkpoint.recorded", "label=checkpoint.recorded + 1"),
    Mutant("a prompt keeps the following entry", "slot_buffer.prompt_launched", "written, entry)", "written, following)"),
    Mutant("a prompt needs no checkpoint", "slot_buffer.prompt_launched", "checkpoint.saved", "True"),
    Mutant("a prompt writes what it records", "slot_buffer.prompt_launched", "slots.put(entry, checkpoint.state)", "slots.put(entry, checkpoint.recorded)"),
    Mutant("a prompt donates the next entry", "slot_buffer.prompt_completed", "slots.state(slots.kept)", "slots.state(slots.next)"),
    Mutant("a prompt donates without a label", "slot_buffer.prompt_completed", "Checkpoint(labelled, True,", "Checkpoint(True, True,"),
    Mutant("a prompt never donates", "slot_buffer.prompt_completed", "slots.label != NO_DEPTH", "slots.label < NO_DEPTH"),
    Mutant("a prompt replaces the next entry", "slot_buffer.prompt_completed", "slots.put(slots.kept, UNWRITTEN)", "slots.put(slots.next, UNWRITTEN)"),
    Mutant("a prompt replaces nothing", "slot_buffer.prompt_completed", "slots.put(slots.kept, UNWRITTEN)", "slots"),
    Mutant("a prompt's label stays", "slot_buffer.prompt_completed", "label=NO_DEPTH, previous=NO_DEPTH", "previous=NO_DEPTH"),
    Mutant("a step moves where it holds two slots", "slot_buffer._with_a_second_slot", "where(_alone(c, slots), slots)", "where(negation(_alone(c, slots)), slots)"),
    Mutant("a step does not move", "slot_buffer._with_a_second_slot", "next=second)", "next=slots.next)"),
    Mutant("a step keeps the new entry", "slot_buffer._with_a_second_slot", "moved.kept)", "moved.next)"),
    Mutant("a step without a slot moves", "slot_buffer._with_a_second_slot", "allocation_fails, moved", "negation(allocation_fails), moved"),
    Mutant("a step without a slot keeps its label", "slot_buffer._with_a_second_slot", "if design.failure_forgets_the_label else slots", "if not design.failure_forgets_the_label else slots"),
    Mutant("a step writes the kept entry", "slot_buffer.step_launched", "written.put(written.next,", "written.put(written.kept,"),
    Mutant("a step writes the length before", "slot_buffer.step_launched", "snapshot.state", "snapshot.state - 1"),
    Mutant("a step writes off the boundary", "slot_buffer.step_launched", "snapshot.saved", "True"),
    Mutant("a step writes one late", "slot_buffer.step_launched", "decode_checkpoint(design, c, seq_len)", "decode_checkpoint(design, c, seq_len - 1)"),
    Mutant("a step off the boundary moves", "slot_buffer.step_launched", ", before)", ", slots)"),
    Mutant("a step does not note its entry", "slot_buffer.step_launched", "written=slots.next, written_before", "written=slots.written, written_before"),
    Mutant("a step notes the kept entry", "slot_buffer.step_launched", "written=slots.next", "written=slots.kept"),
    Mutant("a result is on the raw interval", "slot_buffer.step_completed", "grid = design.grid(\"decode\", c)", "grid = design.grid(\"flush\", c)"),
    Mutant("a result labels at every step", "slot_buffer.step_completed", "depth != NO_DEPTH", "depth >= NO_DEPTH"),
    Mutant("a result labels never", "slot_buffer.step_completed", "labels = depth != NO_DEPTH", "labels = depth < NO_DEPTH"),
    Mutant("a result labels what was launched", "slot_buffer.step_completed", "label=depth", "label=depth + lookahead"),
    Mutant("a result keeps the old label", "slot_buffer.step_completed", "replace(slots, label=depth,", "replace(slots,"),
    Mutant("a result keeps the entry written before", "slot_buffer.step_completed", "choose(written_ahead, slots.written_before, slots.written)", "slots.written_before"),
    Mutant("a result exchanges its entries", "slot_buffer.step_completed", "choose(written_ahead, slots.written_before, slots.written)", "choose(written_ahead, slots.written, slots.written_before)"),
    Mutant("a result sees no step ahead", "slot_buffer.step_completed", "both(lookahead != 0, current(design.decode_snapshots)(grid, seq_len + 1))", "both(lookahead == 0, current(design.decode_snapshots)(grid, seq_len + 1))"),
    Mutant("a result looks two ahead", "slot_buffer.step_completed", "seq_len + 1", "seq_len + 2"),
    Mutant("a result sees every step ahead", "slot_buffer.step_completed", "both(lookahead != 0, current(design.decode_snapshots)(grid, seq_len + 1))", "lookahead != 0"),
    Mutant("a result forgets the lookahead", "slot_buffer.step_completed", "both(lookahead != 0, current(design.decode_snapshots)(grid, seq_len + 1))", "current(design.decode_snapshots)(grid, seq_len + 1)"),
    Mutant("a lazy result frees its own entry", "slot_buffer.step_completed", "put(other(c, entry), NO_SLOT)", "put(entry, NO_SLOT)"),
    Mutant("a lazy result frees nothing", "slot_buffer.step_completed", ".put(other(c, entry), NO_SLOT)", ""),
    Mutant("a lazy result moves to the other", "slot_buffer.step_completed", "replace(labelled, next=entry)", "replace(labelled, next=other(c, entry))"),
    Mutant("a lazy result frees at every step", "slot_buffer.step_completed", "after = labelled.where(labels, slots)", "after = labelled"),
    Mutant("a finishing lazy step always donates", "slot_buffer.step_completed", "negation(lost))", "True)"),
    Mutant("a finishing lazy step never donates", "slot_buffer.step_completed", "negation(lost))", "negation(finishes))"),
    Mutant("a lazy step is lost though it labels", "slot_buffer.step_completed", "both(negation(labels), taken, slots.next == slots.kept)", "both(taken, slots.next == slots.kept)"),
    Mutant("a lazy step is lost though nothing is ahead", "slot_buffer.step_completed", "both(negation(labels), taken, slots.next == slots.kept)", "both(negation(labels), slots.next == slots.kept)"),
    Mutant("a lazy step is lost though it wrote elsewhere", "slot_buffer.step_completed", "both(negation(labels), taken, slots.next == slots.kept)", "both(negation(labels), taken)"),
    Mutant("a result takes a mixed step ahead for a written one", "slot_buffer.step_completed", "both(ahead, negation(mixed_ahead))", "ahead"),
    Mutant("a label is lost to a mixed step ahead", "slot_buffer.step_completed", "written_ahead if design.undoes_mixed_allocations else ahead", "ahead"),
    Mutant("a lazy step that goes on is lost", "slot_buffer.step_completed", "both(finishes, overwritten)", "overwritten"),
    Mutant("a result forgets the label before", "slot_buffer.step_completed", "slots.label if design.fallback_slot else NO_DEPTH", "NO_DEPTH"),
    Mutant("a result takes its own label for the one before", "slot_buffer.step_completed", "slots.label if design.fallback_slot else NO_DEPTH", "depth"),
    Mutant("a result swaps never", "slot_buffer.step_completed", "choose(swaps, other(c, slots.next), slots.next)", "slots.next"),
    Mutant("a result swaps always", "slot_buffer.step_completed", "choose(swaps, other(c, slots.next), slots.next)", "other(c, slots.next)"),
    Mutant("a result swaps the wrong way", "slot_buffer.step_completed", "choose(swaps, other(c, slots.next), slots.next)", "choose(swaps, slots.next, other(c, slots.next))"),
    Mutant("a result swaps on the lookahead", "slot_buffer.step_completed", "current(design.swap)(grid, seq_len, lookahead)", "ahead"),
    Mutant("a result keeps the next entry", "slot_buffer.step_completed", "after, after.kept)", "after, after.next)"),
    Mutant("a mixed step keeps its second slot", "slot_buffer.mixed_launched", "given = given.where(_alone(c, given), back)", "pass"),
    Mutant("a mixed step keeps the slot and moves away", "slot_buffer.mixed_launched", "replace(given.put(given.next, NO_SLOT), next=before)", "replace(given, next=before)"),
    Mutant("a mixed step gives back the slot of its checkpoint", "slot_buffer.mixed_launched", "given.put(given.next, NO_SLOT)", "given.put(before, NO_SLOT)"),
    Mutant("a mixed step stays with the slot it gave back", "slot_buffer.mixed_launched", "replace(given.put(given.next, NO_SLOT), next=before)", "given.put(given.next, NO_SLOT)"),
    Mutant("a mixed step off a boundary moves", "slot_buffer.mixed_launched", "current(design.decode_snapshots)(design.grid(\"decode\", c), seq_len), slots)", "seq_len >= 0, slots)"),
    Mutant("a mixed step is given no slot", "slot_buffer.mixed_launched", "_with_a_second_slot(design, c, slots, allocation_fails)", "slots"),
    Mutant("a plan is never lazy", "slot_buffer.verify_planned", "if not is_lazy(c):", "if True:"),
    Mutant("a plan is on the raw interval", "slot_buffer.verify_planned", "design.grid(\"verify\", c)", "design.grid(\"flush\", c)"),
    Mutant("a plan where no boundary is", "slot_buffer.verify_planned", "taken.where(possible, slots)", "taken"),
    Mutant("a failed plan keeps its label", "slot_buffer.verify_planned", "if design.failure_forgets_the_label else slots", "if not design.failure_forgets_the_label else slots"),
    Mutant("a failed plan takes a slot", "slot_buffer.verify_planned", "failed.where(allocation_fails, slots.put(second, UNWRITTEN))", "slots.put(second, UNWRITTEN)"),
    Mutant("a plan writes the next entry", "slot_buffer.verify_planned", "choose(free, second, slots.next)", "slots.next"),
    Mutant("a plan writes an entry without a slot", "slot_buffer.verify_planned", "both(possible, planned.state(second) != NO_SLOT)", "possible"),
    Mutant("a plan takes the slot of a checkpoint", "slot_buffer.verify_planned", ".where(alone, slots)", ""),
    Mutant("a verify writes the next entry", "slot_buffer.verify_launched", "slots.put(entry,", "slots.put(slots.next,"),
    Mutant("a verify writes without a crossing", "slot_buffer.verify_launched", ".where(checkpoint.saved, slots)", ""),
    Mutant("a verify writes its end", "slot_buffer.verify_launched", "checkpoint.state)", "pre + accepted)"),
    Mutant("a verify is labelled on the raw interval", "checkpoints.verify_label", "design.grid(\"verify\", c)", "design.grid(\"flush\", c)"),
    Mutant("a verify's end counts the accepted", "checkpoints.verify_label", "pre + retained - start", "pre + accepted - start"),
    Mutant("a verify's label is its end", "checkpoints.verify_label", "point(grid, start, passed)", "start + passed"),
    Mutant("a verify's label is looked for from the start of the sequence", "checkpoints.verify_label", "crosses(grid, start, passed)", "crosses(grid, 0, start + passed)"),
    Mutant("an eager verify keeps the other entry", "slot_buffer.verify_completed", "kept=slots.next, next", "kept=slots.kept, next"),
    Mutant("an eager verify does not swap", "slot_buffer.verify_completed", "next=other(c, slots.next), previous", "next=slots.next, previous"),
    Mutant("an eager verify swaps without a crossing", "slot_buffer.verify_completed", "return labelled.where(crossed, slots)", "return labelled"),
    Mutant("an eager verify forgets the label before", "slot_buffer.verify_completed", "slots.label if design.fallback_slot else NO_DEPTH", "NO_DEPTH"),
    Mutant("a lazy verify frees its own slot", "slot_buffer.verify_completed", "slots.put(slots.next, NO_SLOT)", "slots.put(entry, NO_SLOT)"),
    Mutant("a lazy verify frees nothing", "slot_buffer.verify_completed", "slots.put(slots.next, NO_SLOT)", "slots"),
    Mutant("a lazy verify does not move", "slot_buffer.verify_completed", "NO_SLOT), next=entry)", "NO_SLOT), next=slots.next)"),
    Mutant("a lazy verify keeps the old entry", "slot_buffer.verify_completed", "replace(promoted, label=depth, kept=entry)", "replace(promoted, label=depth)"),
    Mutant("a lazy verify promotes without a crossing", "slot_buffer.verify_completed", "kept=entry).where(crossed, slots)", "kept=entry)"),
    Mutant("a finish donates the next entry", "slot_buffer.finished", "slots.state(entry)", "slots.state(slots.next)"),
    Mutant("a finish donates what was forgotten", "slot_buffer.finished", "both(slots.donates, depth != NO_DEPTH)", "depth != NO_DEPTH"),
    Mutant("a finish donates without a label", "slot_buffer.finished", "both(slots.donates, depth != NO_DEPTH)", "slots.donates"),
    Mutant("a finish never donates", "slot_buffer.finished", "depth != NO_DEPTH)", "depth < NO_DEPTH)"),
    Mutant("a finish takes the other entry for its label", "slot_buffer.finished", "slots.kept, other(c, slots.kept))", "other(c, slots.kept), slots.kept)"),
    Mutant("a fallback donates the kept entry", "slot_buffer.finished", "choose(slots.label <= key_length, slots.kept, other(c, slots.kept))", "slots.kept"),
    Mutant("a fallback takes the label for the one before", "slot_buffer.finished", "slots.previous if c.overlap", "slots.label if c.overlap"),
    Mutant("a fallback without overlap", "slot_buffer.finished", "slots.previous if c.overlap else NO_DEPTH", "slots.previous"),
    Mutant("an old finish is cut to the key", "slot_buffer.finished", "current(design.finish_depth)(key_length, slots.label, previous)", "choose(slots.label <= key_length, slots.label, key_length)"),
    Mutant("a finish compares its key with the label before", "slot_buffer.finished", "slots.label <= key_length", "previous <= key_length"),
    Mutant("a finish at its own key falls back", "slot_buffer.finished", "slots.label <= key_length", "slots.label < key_length"),
    Mutant("the saved step is not kept above 0", "verify.saved_step", "largest(tracking_point(grid, pre, accepted) - pre - 1, 0)", "tracking_point(grid, pre, accepted) - pre - 1"),
    Mutant("the old label of a verify counts the retained", "slots.label_counts_the_accepted", "pre + retained - accepted", "pre"),
    Mutant("a mask ahead of the step before", "decode.next_step_snapshots", "grid - 1", "1"),
    Mutant("a completed length forgets the steps ahead", "decode.completed_length", "committed - lookahead", "committed"),
    Mutant("a branching point counted from the start", "extend.keeps_branching_point", "point - prefix", "point"),
    Mutant("a match includes the last token of its prompt", "lookup.longest_given", "prompt - 1", "prompt"),
    Mutant("a branching point may be the node matched", "lookup.is_branching_point", "point > node", "point >= node"),
    Mutant("a branching point one unit early", "lookup.branching_point", "hit // grid", "(hit - 1) // grid"),
    Mutant("a step forgets the entry before", "slot_buffer.step_launched", "written_before=slots.written", "written_before=slots.next"),
    Mutant("a result takes a step ahead for its own", "slot_buffer.step_completed", "choose(written_ahead, slots.written_before, slots.written)", "slots.written"),
    Mutant("a lazy verify keeps its donation", "slot_buffer.verify_completed", "both(slots.donates, negation(lost))", "slots.donates"),
    Mutant("a lazy verify loses only its own slot", "slot_buffer.verify_completed", "either(into_the_kept, both(_alone(c, slots), possible))", "into_the_kept"),
    Mutant("a lazy verify loses only the next one's", "slot_buffer.verify_completed", "either(into_the_kept, both(_alone(c, slots), possible))", "both(_alone(c, slots), possible)"),
    Mutant("a finishing verify is promoted", "slot_buffer.verify_completed", "last.where(finishes, promoted)", "promoted"),
    Mutant("a lazy verify loses whatever it has alone", "slot_buffer.verify_completed", "both(_alone(c, slots), possible)", "_alone(c, slots)"),
    Mutant("a donation overwrites the state there is", "tree.kept", "choose(held != NO_STATE, held, state)", "state"),
    Mutant("a donation is lost", "tree.kept", "choose(held != NO_STATE, held, state)", "held"),
    Mutant("a donation goes where there is a state", "tree.kept", "choose(held != NO_STATE, held, state)", "choose(held != NO_STATE, state, held)"),
    Mutant("a donation moves its node to its state", "tree.donated", "Node(node.depth,", "Node(state,"),
    Mutant("a split moves the state to the upper part", "tree.split", "Node(depth, above(node.depth, node.state, depth))", "Node(depth, below(node.depth, node.state, depth))"),
    Mutant("a split leaves the state on both parts", "tree.left_above", "NO_STATE", "state"),
    Mutant("a split makes up a state", "tree.left_above", "NO_STATE", "at"),
    Mutant("a split loses the state", "tree.left_below", "return state", "return NO_STATE"),
    Mutant("a split counts the lower part from its start", "tree.split", "Node(node.depth, below", "Node(node.depth - depth, below"),
    Mutant("the upper part of a split ends where the node did", "tree.split", "Node(depth, above", "Node(node.depth, above"),
    Mutant("an eviction leaves the state", "tree.left_evicted", "NO_STATE", "state"),
    Mutant("an eviction moves the state to the root", "tree.evicted", "Node(node.depth, leaves(node.state))", "Node(0, node.state)"),
    Mutant("a match goes on to a node without a state", "tree.visited", "choose(node.has_state, node.depth, best.depth)", "node.depth"),
    Mutant("a match stays where it was", "tree.visited", "choose(node.has_state, node.depth, best.depth)", "best.depth"),
    Mutant("a match takes the state of the node before", "tree.visited", "choose(node.has_state, node.state, best.state)", "best.state"),
    Mutant("a match takes a state that is none", "tree.visited", "choose(node.has_state, node.state, best.state)", "node.state"),
    Mutant("a match goes from the deepest node on", "tree.given", "path, ROOT", "reversed(list(path)), ROOT"),
    Mutant("a match gives the last node", "tree.given", "reduce(visited, path, ROOT)", "list(path)[-1]"),
    Mutant("a match gives the root", "tree.given", "reduce(visited, path, ROOT)", "ROOT"),
    Mutant("every node has a state", "tree.Node.has_state", "!= NO_STATE", ">= NO_STATE"),
    Mutant("no node has a state", "tree.Node.has_state", "!= NO_STATE", "< NO_STATE"),
    Mutant("the last label is kept in the other entry", "slot_buffer.keeping", "next=1, kept=0", "next=0, kept=1"),
    Mutant("a prompt's previous label stays", "slot_buffer.prompt_completed", "label=NO_DEPTH, previous=NO_DEPTH", "label=NO_DEPTH"),
    Mutant("what is possible is counted from the start of a verify", "slot_buffer.verify_completed", "(grid, end, c.speculative", "(grid, pre, c.speculative"),
    Mutant("a prompt in a mixed batch is written by no release", "slot_buffer.prompt_launched", "if not design.writes_mixed_prompts", "if True"),
    Mutant("a prompt in a mixed batch is written by every release", "slot_buffer.prompt_launched", "if not design.writes_mixed_prompts", "if False"),
    Mutant("a prompt writes what it wants", "slot_buffer.prompt_launched", "checkpoint.saved", "checkpoint.wanted"),
    Mutant("a branching point is kept where nothing is saved", "checkpoints.branching_checkpoint", "ordinary.saved", "ordinary.wanted"),
    Mutant("a branching point is saved always", "checkpoints.branching_checkpoint", "both(ordinary.saved, kept)", "kept"),
    Mutant("a branching point is kept without being asked", "checkpoints.branching_checkpoint", "both(ordinary.saved, kept)", "ordinary.saved"),
    Mutant("a branching point is recorded as the ordinary depth", "checkpoints.branching_checkpoint", "recorded=point", "recorded=ordinary.recorded"),
    Mutant("a branching point is read one early", "checkpoints.branching_checkpoint", "point + 1)", "point)"),
    Mutant("a branching point is tracked by the ordinary end", "checkpoints.branching_checkpoint", "prefix, end, ordinary.recorded)", "prefix, end, end)"),
    Mutant("a branching point may be what is tracked", "extend.keeps_branching_point", "point < tracked", "point <= tracked"),
    Mutant("a branching point may be the prefix", "extend.keeps_branching_point", "point > prefix", "point >= prefix"),
    Mutant("a branching point may lie off the chunk", "extend.keeps_branching_point", "divides(chunk, point - prefix)", "True"),
    Mutant("a checkpoint that is stopped is misplaced", "checkpoints.misplaced", "checkpoint.saved", "checkpoint.wanted"),
    Mutant("slots are chosen the wrong way", "slot_buffer.Slots.where", "return self if condition else otherwise", "return otherwise if condition else self"),
)
EQUIVALENT: tuple[tuple[Mutant, Theorem], ...] = (
    (Mutant("the old assertion asks for the prefix", "extend.depth_is_on_the_chunk", "divides(chunk, depth)", "divides(chunk, prefix)"), the_old_assertion_is_one_on_the_prefix),
    (Mutant("the new assertion always passes", "extend.offset_is_on_the_chunk", "divides(chunk, depth - prefix)", "depth >= 0"), the_new_assertion_holds_wherever_an_extend_donates),
    (Mutant("a flushed snapshot is labelled with the flush", "checkpoints.flushed_checkpoint", "step.recorded, flushed", "flushed, flushed"), a_snapshot_is_taken_of_the_length_that_is_flushed),
    (Mutant("a finish is inserted under what it records", "slot_buffer.finished", "slots.state(entry), key_length)", "slots.state(entry))"), a_finish_picks_no_depth_beyond_its_key),
    (Mutant("a lazy result does not move back", "slot_buffer.step_completed", "replace(labelled, next=entry)", "labelled"), a_lazy_boundary_was_written_to_the_next_entry),
    (Mutant("a node has the key of the record always", "checkpoints.node_of", "checkpoint.recorded if checkpoint.key_length is None else checkpoint.key_length", "checkpoint.recorded"), a_finish_picks_no_depth_beyond_its_key),
    (Mutant("a step writes what it wants", "slot_buffer.step_launched", "snapshot.saved", "snapshot.wanted"), a_snapshot_that_is_wanted_is_saved),
    (Mutant("a verify writes what it wants", "slot_buffer.verify_launched", "checkpoint.saved", "checkpoint.wanted"), a_state_that_a_verify_wants_is_saved),
)
OF_ORDERS: tuple[Mutant, ...] = (
    Mutant("verifies are those of twice the interval", "scheduler.Scheduler._of_verifies", "(self.design, self.c, *arguments)", "(self.design, replace(self.c, mamba_track_interval=2 * self.c.mamba_track_interval), *arguments)"),
    Mutant("before a finish all is settled that is before a launch", "scheduler.Scheduler.settled", "self._last_results(r) if finishes else self._before_a_launch(r)", "self._before_a_launch(r)"),
    Mutant("before a launch only that is settled that is before a finish", "scheduler.Scheduler.settled", "self._last_results(r) if finishes else self._before_a_launch(r)", "self._last_results(r)"),
    Mutant("the fewest verifies are one too many", "scheduler.as_few_as_accept", "divmod(tokens, most)", "divmod(tokens - 1, most)"),
    Mutant("the fewest verifies leave out the rest", "scheduler.as_few_as_accept", "if rest:", "if not rest:"),
    Mutant("nothing is launched ahead", "scheduler.Scheduler.__init__", "int(bool(c.overlap))", "0"),
    Mutant("a pass is always launched ahead", "scheduler.Scheduler.__init__", "int(bool(c.overlap))", "1"),
    Mutant("the scheduler decodes on the raw interval", "scheduler.Scheduler.__init__", "design.grid(\"decode\", c)", "design.grid(\"flush\", c)"),
    Mutant("the scheduler verifies on the raw interval", "scheduler.Scheduler.__init__", "design.grid(\"verify\", c)", "design.grid(\"flush\", c)"),
    Mutant("a request is admitted without its prefix", "scheduler.Scheduler.admit", "prefix, prefix)", "0, 0)"),
    Mutant("a chunk is launched before the one before has donated", "scheduler.Scheduler.extend", "self._settled(r, 0)", "self._settled(r, 1)"),
    Mutant("an extend ignores its branching point", "scheduler.Scheduler.extend", "branching_checkpoint(self.design, self.c, r.length, end, branching)", "extend_checkpoint(self.design, self.c, r.length, end)"),
    Mutant("an assertion that fails stops nothing", "scheduler.Scheduler.extend", "if checkpoint.fault:", "if False:"),
    Mutant("a request that is stopped goes on", "scheduler.Scheduler.extend", "stopped=True", "stopped=False"),
    Mutant("a request that is stopped has no fault", "scheduler.Scheduler.extend", "replace(self._donating(r, checkpoint), length=end", "replace(r, length=end"),
    Mutant("a request that is stopped has not begun", "scheduler.Scheduler.extend", "length=end, stopped", "stopped"),
    Mutant("a prompt is noted in the kept entry", "scheduler.Scheduler.extend", "int(r.slots.next)", "int(r.slots.kept)"),
    Mutant("a mixed prompt is written", "scheduler.Scheduler.extend", "checkpoint, r.mixes)", "checkpoint)"),
    Mutant("a mixed prompt is noted", "scheduler.Scheduler.extend", "NOTHING if unwritten else checkpoint", "checkpoint"),
    Mutant("a mixed prompt is noted by no release", "scheduler.Scheduler.extend", "r.mixes and not self.design.writes_mixed_prompts", "r.mixes"),
    Mutant("what follows a mixed prompt is mixed", "scheduler.Scheduler.extend", "mixes=False", "mixes=r.mixes"),
    Mutant("steps that are passed over keep what waits", "scheduler.Scheduler._step", "waiting=(Pass(STEP, length - 2, length - 1),)", "waiting=r.waiting"),
    Mutant("an allocation failure of steps never ends", "scheduler.Scheduler._step", "r.allocation_fails and not checkpoint.saved", "r.allocation_fails"),
    Mutant("an allocation failure ends at the next step", "scheduler.Scheduler._step", "r.allocation_fails and not checkpoint.saved", "False"),
    Mutant("a step always gets its slot", "scheduler.Scheduler._step", "length, r.allocation_fails)", "length, False)"),
    Mutant("a step is noted in the kept entry", "scheduler.Scheduler._step", "int(slots.written)", "int(slots.kept)"),
    Mutant("the first step goes to the end", "scheduler.Scheduler.decode", "self._step(r, length)", "self._step(r, to)"),
    Mutant("a mixed step is written", "scheduler.Scheduler._step", "slot_buffer.mixed_launched if r.mixes else slot_buffer.step_launched", "slot_buffer.step_launched"),
    Mutant("a mixed step is noted", "scheduler.Scheduler._step", "NOTHING if launched.mixed else checkpoint", "checkpoint"),
    Mutant("every step behind a mixed one is mixed", "scheduler.Scheduler._step", "mixes=False", "mixes=r.mixes"),
    Mutant("a mixed step is launched as any other", "scheduler.Scheduler._step", "int(slots.written), r.mixes)", "int(slots.written))"),
    Mutant("a lazy plan is made from the launched length", "scheduler.Scheduler.verify", "r.slots, r.committed, r.allocation_fails", "r.slots, r.length, r.allocation_fails"),
    Mutant("a verify always gets its slot", "scheduler.Scheduler.verify", "r.slots, r.committed, r.allocation_fails", "r.slots, r.committed, False"),
    Mutant("an allocation failure of verifies never ends", "scheduler.Scheduler.verify", "allocation_fails=False", "allocation_fails=r.allocation_fails"),
    Mutant("a verify is noted in the next entry", "scheduler.Scheduler.verify", "int(entry)", "int(slots.next)"),
    Mutant("a verify starts one token late", "scheduler.Scheduler.verify", "slots, entry, r.length, accepted)", "slots, entry, r.length + 1, accepted)"),
    Mutant("verifies on their way start at the end", "scheduler.Scheduler.verify_on", "as_few_as_accept(to - r.length, most)", "as_few_as_accept(tokens, most)"),
    Mutant("idle verifies go beyond the boundary", "scheduler.Scheduler._past_idle_verifies", "(here + 1)", "(here + 2)"),
    Mutant("idle verifies are one too many", "scheduler.Scheduler._past_idle_verifies", "length = r.length + idle * most", "length = r.length + (idle + 1) * most"),
    Mutant("idle verifies pass over what waits", "scheduler.Scheduler._past_idle_verifies", "near or r.allocation_fails", "r.allocation_fails"),
    Mutant("idle verifies leave no slot planned", "scheduler.Scheduler._past_idle_verifies", "committed=last.start", "committed=r.committed"),
    Mutant("another batch changes nothing", "scheduler.Scheduler.other_batch", "alone=True", "alone=r.alone"),
    Mutant("a mixed batch is like any other", "scheduler.Scheduler.mixed_batch", "mixes=True", "mixes=False"),
    Mutant("an allocation failure does not happen", "scheduler.Scheduler.allocation_failure", "allocation_fails=True", "allocation_fails=False"),
    Mutant("a request ends with its newest pass", "scheduler.Scheduler.ends_with", "waiting[0]", "waiting[-1]"),
    Mutant("a request behind another batch ends with its oldest pass", "scheduler.Scheduler.ends_with", "self._last_results(r)", "r"),
    Mutant("a finish forgets the other batch", "scheduler.Scheduler.finish", "r = self._last_results(r)", "pass"),
    Mutant("a finish has nothing ahead", "scheduler.Scheduler.finish", "r.waiting[1:]", "()"),
    Mutant("a key has only what is completed", "scheduler.Scheduler.finish", "r.slots, r.length", "r.slots, last.end"),
    Mutant("a step does not know that it is the last", "scheduler.Scheduler.finish", "finishes=True", "finishes=False"),
    Mutant("a verify does not know that it is the last", "scheduler.Scheduler.finish", "counted, True", "counted, False"),
    Mutant("a verify that ends keeps all that was accepted", "scheduler.Scheduler.finish", "accepted if retained is None else retained", "accepted"),
    Mutant("a stop token counts what is kept", "scheduler.Scheduler.finish", "kept if grammar else accepted", "kept"),
    Mutant("a grammar counts what is accepted", "scheduler.Scheduler.finish", "kept if grammar else accepted", "accepted"),
    Mutant("a key lacks what is counted", "scheduler.Scheduler.finish", "last.start + counted", "last.start + accepted"),
    Mutant("a key is without the stop token", "scheduler.Scheduler.finish", "last.start + kept + 1", "last.start + kept"),
    Mutant("a key goes on behind the stop token", "scheduler.Scheduler.finish", "last.start + kept + 1", "last.start + kept + 2"),
    Mutant("a grammar has a stop token", "scheduler.Scheduler.finish", "not grammar and", "grammar and"),
    Mutant("every key ends at the stop", "scheduler.Scheduler.finish", "self.design.key_ends_at_the_stop", "True"),
    Mutant("no key ends at the stop", "scheduler.Scheduler.finish", "self.design.key_ends_at_the_stop", "False"),
    Mutant("a prompt that ends has all that was launched in its key", "scheduler.Scheduler.finish", "key = last.end", "key = r.length"),
    Mutant("a finish leaves its passes waiting", "scheduler.Scheduler.finish", "waiting=()", "waiting=r.waiting"),
    Mutant("a step in a mixed batch is completed", "scheduler.Scheduler._step_completed", "if step.mixed:", "if False:"),
    Mutant("a step ahead is never mixed", "scheduler.Scheduler._step_completed", "any(later.mixed for later in behind)", "False"),
    Mutant("a step has nothing ahead", "scheduler.Scheduler._step_completed", "len(behind)", "0"),
    Mutant("a step that ends goes on", "scheduler.Scheduler._step_completed", "finishes, mixed", "False, mixed"),
    Mutant("a donation replaces the one before", "scheduler.Scheduler._donating", "(*r.donated, Donation(checkpoint, r.writes))", "(Donation(checkpoint, r.writes),)"),
    Mutant("a donation forgets what was written", "scheduler.Scheduler._donating", "Donation(checkpoint, r.writes)", "Donation(checkpoint, ())"),
    Mutant("the last results are not processed", "scheduler.Scheduler._last_results", "if r.alone", "if not r.alone"),
    Mutant("every last result is processed", "scheduler.Scheduler._last_results", "self._settled(r, 1)", "self._settled(r, 0)"),
    Mutant("a pass commits what it launches", "scheduler.Scheduler._launched", "launched.end if launched.kind == PROMPT else r.committed", "launched.end"),
    Mutant("a prompt commits nothing", "scheduler.Scheduler._launched", "launched.end if launched.kind == PROMPT else r.committed", "r.committed"),
    Mutant("a pass that saves nothing is noted", "scheduler.Scheduler._launched", "if checkpoint.saved:", "if True:"),
    Mutant("a write notes its depth for its state", "scheduler.Scheduler._launched", "int(checkpoint.recorded), int(checkpoint.state)", "int(checkpoint.state), int(checkpoint.recorded) + 1"),
    Mutant("a launch leaves a request alone", "scheduler.Scheduler._launched", "alone=False", "alone=r.alone"),
    Mutant("a launch forgets what waits", "scheduler.Scheduler._launched", "(*r.waiting, launched)", "(launched,)"),
    Mutant("a launch behind another batch leaves a result", "scheduler.Scheduler._before_a_launch", "0 if r.alone else self.ahead", "self.ahead"),
    Mutant("a launch leaves no result", "scheduler.Scheduler._before_a_launch", "0 if r.alone else self.ahead", "0"),
    Mutant("one result too many is processed", "scheduler.Scheduler._settled", "> most", ">= most and r.waiting"),
    Mutant("the newest result comes first", "scheduler.Scheduler._result", "done, *behind = r.waiting", "*behind, done = r.waiting"),
    Mutant("a result has nothing ahead", "scheduler.Scheduler._result", "r.slots, done, behind", "r.slots, done, ()"),
    Mutant("a prompt's result donates nothing", "scheduler.Scheduler._result", "r = self._donating(r, donated)", "pass"),
    Mutant("a donated state stays a request's", "scheduler.Scheduler._result", "w.by.entry != kept", "w.by.entry >= 0"),
    Mutant("what a prompt wrote is gone without a donation", "scheduler.Scheduler._result", "if donated.saved else r.writes", "if True else r.writes"),
    Mutant("a verify's result commits nothing", "scheduler.Scheduler._result", "committed=done.end", "committed=r.committed"),
    Mutant("a verify's result keeps no token", "scheduler.Scheduler._result", "done.start, accepted, accepted", "done.start, accepted, 0"),
    Mutant("a step behind a boundary does not matter", "scheduler.Scheduler.steps_that_matter", "(0, 1)", "(0,)"),
    Mutant("a boundary does not matter", "scheduler.Scheduler.steps_that_matter", "(0, 1)", "(1,)"),
    Mutant("the first step does not matter", "scheduler.Scheduler.steps_that_matter", "{length + 1, *after, to}", "{*after, to}"),
    Mutant("the last step does not matter", "scheduler.Scheduler.steps_that_matter", "{length + 1, *after, to}", "{length + 1, *after}"),
    Mutant("steps that are past matter", "scheduler.Scheduler.steps_that_matter", "length < n <= to", "n <= to"),
    Mutant("steps to come matter", "scheduler.Scheduler.steps_that_matter", "length < n <= to", "length < n"),
    Mutant("a trace gives only the first pass of an event", "trace_runner.acted_out", "chain.from_iterable(after_each(scheduler, events, grammar))", "(after[0] for after in after_each(scheduler, events, grammar) if after)"),
    Mutant("a trace forgets its grammar", "trace_runner.acted_out", "events, grammar)", "events)"),
    Mutant("an event may stand behind a finish", "trace_runner.after_each", "finished or (", "("),
    Mutant("an event may stand behind a result", "trace_runner.after_each", "event.event != \"finish\"", "False"),
    Mutant("a result keeps its length", "trace_runner.after_each", "retained = event.tokens", "retained = event.seq_len"),
    Mutant("a trace goes on behind an assertion", "trace_runner.after_each", "if request.stopped:", "if False:"),
    Mutant("a trace goes on from the first pass of an event", "trace_runner.after_each", "after[-1] if after", "after[0] if after"),
    Mutant("every event is served", "trace_runner._check", "kind not in SERVED", "False"),
    Mutant("a match may come late", "trace_runner._check", "kind == \"match\" and r.length", "False"),
    Mutant("a decode may come before any extend", "trace_runner._check", "not r.waiting", "False"),
    Mutant("a verify needs no draft tokens", "trace_runner._check", "not scheduler.c.speculative_num_draft_tokens", "False"),
    Mutant("an event may have no tokens", "trace_runner._check", "event.tokens < 1 or", ""),
    Mutant("an event may lead anywhere", "trace_runner._check", "event.seq_len != r.length + event.tokens", "False"),
    Mutant("a match gives nothing", "trace_runner._passes", "scheduler.admit(event.seq_len)", "scheduler.admit()"),
    Mutant("a trace ignores other batches", "trace_runner._passes", "scheduler.other_batch(r)", "r"),
    Mutant("a trace ignores mixed batches", "trace_runner._passes", "scheduler.mixed_batch(r)", "r"),
    Mutant("a trace ignores failed allocations", "trace_runner._passes", "scheduler.allocation_failure(r)", "r"),
    Mutant("a decode goes to its end at once", "trace_runner._passes", "scheduler.steps_that_matter(r.length, event.seq_len)", "(event.seq_len,)"),
    Mutant("a verify is one of all its tokens", "trace_runner._passes", "as_few_as_accept(event.tokens, most)", "(event.tokens,)"),
    Mutant("a trace ignores branching points", "trace_runner._extended", "return scheduler.extend(r, event.seq_len, wrote)", "return after"),
    Mutant("a trace takes its usual depth for a branching point", "trace_runner._extended", "wrote in own or", ""),
    Mutant("a trace has a branching point that is not computed", "trace_runner._extended", "not r.length < wrote <= event.seq_len", "False"),
    Mutant("no step in flight is left out", "trace_runner._finish", "scheduler.ends_with(r).end < event.seq_len <= r.length", "False"),
    Mutant("a step in flight is always left out", "trace_runner._finish", "scheduler.ends_with(r).end < event.seq_len <= r.length", "True"),
    Mutant("a verify in flight is a step", "trace_runner._finish", "r.waiting[-1].kind == STEP", "True"),
    Mutant("a finish forgets what is kept", "trace_runner._finish", "scheduler.finish(r, retained, grammar)", "scheduler.finish(r, None, grammar)"),
    Mutant("a finish forgets its grammar", "trace_runner._finish", "scheduler.finish(r, retained, grammar)", "scheduler.finish(r, retained)"),
    Mutant("a finish may be at no result", "trace_runner._finish", "end != event.seq_len or", ""),
    Mutant("a finish may keep more than was accepted", "trace_runner._finish", "not last.start < end <= last.end", "False"),
)
# fmt: on
