"""The modelled releases of SGLang: the oldest in full, each later one by what it changes against the one before it.

A new release is one entry at the end of `CHANGES`; `docs/adding-a-release.md` lists what else it touches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from spec.engine import Guard, UnknownDesign
from spec.sglang.guards import GUARDS, LAZY_IS_NOT_DFLASH, PREFILL_COVERS_A_CACHE_CHUNK
from spec.sglang.proposals import PLACE_PROPOSALS, PROPOSALS
from spec.sglang.rules import decode, extend, flush, grids, insert, lookup, slots, tree, verify


@dataclass(frozen=True)
class ExtendRule:
    """How an extend picks the depth it donates (tokens), and when it donates at all."""

    name: str
    depth: Callable[..., Any]
    donates: Callable[..., Any]


RELATIVE = ExtendRule("relative", extend.relative_depth, extend.relative_donates)
ABSOLUTE = ExtendRule("absolute", extend.absolute_depth, extend.absolute_donates)


def current(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The function that now bears this rule's name in its module, so that a rule replaced at run time is used."""
    module = sys.modules.get(rule.__module__)
    return getattr(module, rule.__name__, rule)


@dataclass(frozen=True)
class Design:
    """Which rule each producer of checkpoints uses: a function of `rules/` in the field of its purpose.

    The grid rules take a configuration and give tokens.  `algorithms_without_checkpoints`: speculative algorithms whose
    verify saves no state.  `swap` to `undoes_mixed_allocations` are rules of the ping-pong slots, see `slot_buffer.py`.
    `place_repairs`: names of `proposals.PLACE_REPAIRS`, for the search over many places.
    """

    name: str
    release: str
    extend_grid: Callable[..., Any]
    extend_rule: ExtendRule
    extend_rule_under_dcp: ExtendRule
    extend_row_stride: Callable[..., Any]
    extend_assertion: Callable[..., Any]
    extend_state: Callable[..., Any]
    branching_point: Callable[..., Any]
    branching_kept: Callable[..., Any]
    decode_grid: Callable[..., Any]
    decode_snapshots: Callable[..., Any]
    decode_state: Callable[..., Any]
    verify_grid: Callable[..., Any]
    verify_crosses: Callable[..., Any]
    verify_point: Callable[..., Any]
    verify_saved_step: Callable[..., Any]
    verify_plans: Callable[..., Any]
    flush_grid: Callable[..., Any]
    flush_state: Callable[..., Any]
    window_grid: Callable[..., Any]
    insert_guard: Callable[..., Any]
    node_depth: Callable[..., Any]
    node_keeps: Callable[..., Any]
    split_above: Callable[..., Any]
    split_below: Callable[..., Any]
    eviction_leaves: Callable[..., Any]
    longest_given: Callable[..., Any]
    swap: Callable[..., Any]
    label: Callable[..., Any]
    verify_label_start: Callable[..., Any]
    finish_depth: Callable[..., Any]
    key_ends_at_the_stop: bool
    stores_the_kept_entry: bool
    failure_forgets_the_label: bool
    fallback_slot: bool
    skips_rows_of_the_finished: bool
    writes_mixed_prompts: bool
    undoes_mixed_allocations: bool
    tree_core: str
    tree_cores: tuple[str, ...]
    algorithms_without_checkpoints: frozenset[str]
    guards: tuple[Guard, ...]
    place_repairs: frozenset[str] = frozenset()

    engine = "sglang"

    def grid(self, producer: str, c: Any) -> Any:
        """The grid (tokens) that `producer` (extend, decode, verify, flush or window) uses in configuration `c`."""
        return current(getattr(self, f"{producer}_grid"))(c)

    def summary(self) -> dict[str, str]:
        """Which rules the design consists of, by their names."""
        plain, dcp = self.extend_rule.name, self.extend_rule_under_dcp.name
        forgets = "forgets" if self.failure_forgets_the_label else "keeps"
        return {
            "extend_depth": plain if plain == dcp else f"{dcp} under DCP, else {plain}",
            "extend_grid": self.extend_grid.__name__,
            "extend_row_stride": self.extend_row_stride.__name__,
            "extend_assertion": self.extend_assertion.__name__,
            "decode_grid": self.decode_grid.__name__,
            "verify_grid": self.verify_grid.__name__,
            "verify_saves_nothing": ", ".join(sorted(self.algorithms_without_checkpoints)) or "-",
            "flush_grid": self.flush_grid.__name__,
            "window_grid": self.window_grid.__name__,
            "insert_guard": self.insert_guard.__name__,
            "slot_swap": self.swap.__name__,
            "slot_label": self.label.__name__,
            "verify_label": self.verify_label_start.__name__,
            "slot_kept": "stored" if self.stores_the_kept_entry else "derived from the next one",
            "failed_allocation": f"{forgets} the label",
            "fallback_slot": "yes" if self.fallback_slot else "no",
            "verify_after_the_end": "skipped" if self.skips_rows_of_the_finished else "written",
            "prompt_in_a_mixed_batch": "written" if self.writes_mixed_prompts else "not written",
            "lazy_slot_in_a_mixed_batch": "given back" if self.undoes_mixed_allocations else "held",
            "tree_core": self.tree_core,
            "tree_cores": ", ".join(self.tree_cores),
        }


@dataclass(frozen=True)
class Change:
    """A change of behaviour: what is so from its release on, where that was read, the fields of `Design` it changes."""

    effect: str
    source: str
    fields: dict[str, Any]


def change(effect: str, source: str, **fields: Any) -> Change:
    """A change that gives these fields of a design other values."""
    return Change(effect, source, fields)


OLDEST = Design(
    name="sglang-0.5.17",
    release="0.5.17",
    extend_grid=grids.cache_chunk_size,
    extend_rule=RELATIVE,
    extend_rule_under_dcp=RELATIVE,
    extend_row_stride=grids.cache_chunk_size,
    extend_assertion=extend.depth_is_on_the_chunk,
    extend_state=extend.state_depth,
    branching_point=lookup.branching_point,
    branching_kept=extend.keeps_branching_point,
    decode_grid=grids.track_interval,
    decode_snapshots=decode.snapshot_step,
    decode_state=decode.snapshot_depth,
    verify_grid=grids.track_interval,
    verify_crosses=verify.crosses,
    verify_point=verify.tracking_point,
    verify_saved_step=verify.saved_step,
    verify_plans=slots.a_verify_may_cross,
    flush_grid=grids.track_interval,
    flush_state=flush.flushed_depth,
    window_grid=grids.track_interval,
    insert_guard=insert.accepts_any_depth,
    node_depth=insert.node_depth,
    node_keeps=tree.kept,
    split_above=tree.left_above,
    split_below=tree.left_below,
    eviction_leaves=tree.left_evicted,
    longest_given=lookup.longest_given,
    swap=slots.swap_follows_the_lookahead,
    label=slots.label_of_the_launched_length,
    verify_label_start=slots.label_counts_the_accepted,
    finish_depth=slots.label_cut_to_the_key,
    key_ends_at_the_stop=False,
    stores_the_kept_entry=False,
    failure_forgets_the_label=False,
    fallback_slot=False,
    skips_rows_of_the_finished=False,
    writes_mixed_prompts=False,
    undoes_mixed_allocations=False,
    tree_core="python",
    tree_cores=("python",),
    algorithms_without_checkpoints=frozenset({"DFLASH"}),
    guards=(*GUARDS, LAZY_IS_NOT_DFLASH),
)

CHANGES: dict[str, tuple[Change, ...]] = {
    "0.5.18": (
        change(
            "an extend donates only depths that a node of the widened tree page can have",
            "PR 34808; mem_cache/kv_cache_builder.py",
            extend_grid=grids.checkpoint_grid,
        ),
        change(
            "a result labels the boundary of its own step, not of the length launched so far",
            "PR 29792; managers/scheduler_components/batch_result_processor.py",
            label=slots.label_of_the_completed_step,
        ),
        change(
            "the entry to donate is stored, no longer derived from the next one",
            "PR 33477; managers/scheduler_components/batch_result_processor.py",
            stores_the_kept_entry=True,
        ),
        change(
            "lazy slots work with DFLASH",
            "server_args.py",
            guards=GUARDS,
        ),
    ),
    "0.5.19": (
        change(
            "decode and verify snapshot only at depths that a node of the widened tree page can have",
            "PR 35412; mem_cache/kv_cache_builder.py",
            decode_grid=grids.track_grid,
            verify_grid=grids.track_grid,
        ),
        change(
            "the row of an extend's state is counted in the model's chunks, as the kernels write them",
            "layers/attention/hybrid_linear_attn_backend.py",
            extend_row_stride=grids.model_chunk,
        ),
        change(
            "an extend's assertion asks for whole chunks behind its prefix, not for a depth on the chunk",
            "PR 36005",
            extend_assertion=extend.offset_is_on_the_chunk,
        ),
        change(
            "the radix tree has a second core, in Rust",
            "mem_cache/unified_radix_cache.py",
            tree_cores=("python", "rust"),
        ),
    ),
    "0.5.20": (
        change(
            "a verify of DFLASH sees that it crosses a boundary; before, it compared a length with itself",
            "PR 37818",
            algorithms_without_checkpoints=frozenset(),
        ),
    ),
    "0.5.21": (
        change(
            "under DCP an extend counts its grid from the first token, not from its prefix",
            "PR 39115",
            extend_rule_under_dcp=ABSOLUTE,
        ),
        change(
            "the tree's core is the one in Rust unless another is asked for",
            "environ.py (SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND)",
            tree_core="rust",
        ),
    ),
    "0.5.22": (
        change(
            "a verify that a grammar ends looks for a boundary among the tokens that are kept",
            "managers/scheduler_components/batch_result_processor.py",
            verify_label_start=slots.label_counts_the_retained,
        ),
        change(
            "the key of a finished request ends with its stop token",
            "mem_cache/unified_cache/components/mamba.py",
            key_ends_at_the_stop=True,
        ),
        change(
            "a label beyond the key is not cut to it: the checkpoint before it is donated, from the other slot",
            "mem_cache/unified_cache/components/mamba.py (_select_finished_checkpoint)",
            finish_depth=slots.label_within_the_key,
            fallback_slot=True,
        ),
        change(
            "where no second lazy slot can be had, the label of the state that is overwritten is forgotten",
            "managers/schedule_batch.py (mamba_lazy_prealloc_at_boundary)",
            failure_forgets_the_label=True,
        ),
        change(
            "a verify launched behind the end of its request writes no state",
            "managers/schedule_batch.py",
            skips_rows_of_the_finished=True,
        ),
    ),
    "0.5.23": (
        change(
            "a prompt in one batch with other requests' steps writes the checkpoint that it labels",
            "managers/schedule_batch.py (mix_with_running)",
            writes_mixed_prompts=True,
        ),
        change(
            "a lazy slot taken for a boundary step in a mixed batch is given back",
            "managers/schedule_batch.py (mamba_lazy_undo_prealloc_at_boundary)",
            undoes_mixed_allocations=True,
        ),
        change(
            "under DCP a prefill chunk is refused in which no prompt can be cut on the cache chunk",
            "managers/scheduler.py (check_truncation_align_fits_chunk)",
            guards=(*GUARDS, PREFILL_COVERS_A_CACHE_CHUNK),
        ),
    ),
}
RELEASES = (OLDEST.release, *CHANGES)
NEWEST = RELEASES[-1]


def _designs() -> Iterator[Design]:
    yield (design := OLDEST)
    for release, changes in CHANGES.items():
        fields = {name: value for one in changes for name, value in one.fields.items()}
        design = replace(design, name=f"sglang-{release}", release=release, **fields)
        yield design


DESIGNS: dict[str, Design] = {design.name: design for design in _designs()}
CURRENT = DESIGNS[f"sglang-{NEWEST}"]


def design_named(name: str) -> Design:
    """The design of a release (`sglang-0.5.18`), or of a release with proposals (`sglang-0.5.18+insert-guard`)."""
    base, *proposals = name.split("+")
    if base not in DESIGNS:
        raise UnknownDesign(f"unknown design {base!r}: the modelled ones are {', '.join(DESIGNS)}")
    design = DESIGNS[base]
    for proposal in proposals:
        known = PROPOSALS | PLACE_PROPOSALS
        if proposal not in known:
            raise UnknownDesign(
                f"unknown proposal {proposal!r} in {name!r}: known are {', '.join(known)}"
            )
        design = known[proposal](design)
    return design
