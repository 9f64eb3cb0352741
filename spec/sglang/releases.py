"""Every modelled release of SGLang as one named design: which rule each reader uses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from spec.engine import Guard, UnknownDesign
from spec.sglang.configuration import GUARDS, LAZY_IS_NOT_DFLASH
from spec.sglang.rules import decode, extend, flush, grids, insert, lookup, slots, tree, verify

RELEASES = ("0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
NEWEST = RELEASES[-1]


def model_chunk(c):
    """Tokens between the rows of intermediate states as the kernels write them."""
    return c.mamba_chunk_size


@dataclass(frozen=True)
class ExtendRule:
    """How an extend picks the depth it donates (tokens), and when it donates at all."""

    name: str
    depth: Callable[..., Any]
    donates: Callable[..., Any]


RELATIVE = ExtendRule("relative", extend.relative_depth, extend.relative_donates)
ABSOLUTE = ExtendRule("absolute", extend.absolute_depth, extend.absolute_donates)


def current(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The function that stands under this rule's name now, so that one replaced at run time is the one used."""
    module = sys.modules.get(rule.__module__)
    return getattr(module, rule.__name__, rule)


@dataclass(frozen=True)
class Design:
    """Which rule each reader uses: a function that stands under the field's name in `rules/`, with its arguments.

    The grid rules take a configuration and give tokens.  `blind_verifiers`: speculative algorithms whose worker never
    sees a crossing, so that verify saves nothing.  `swap` to `undoes_mixed_allocations` are rules of the ping-pong
    slots, see `life.py`.
    """

    name: str
    release: str
    extend_grid: Callable[..., Any] = grids.checkpoint_grid
    extend_rule: ExtendRule = RELATIVE
    extend_rule_under_dcp: ExtendRule = ABSOLUTE
    extend_row_stride: Callable[..., Any] = model_chunk
    extend_assertion: Callable[..., Any] = extend.offset_is_on_the_chunk
    extend_state: Callable[..., Any] = extend.state_depth
    branching_point: Callable[..., Any] = lookup.branching_point
    branching_kept: Callable[..., Any] = extend.keeps_branching_point
    decode_grid: Callable[..., Any] = grids.track_grid
    decode_snapshots: Callable[..., Any] = decode.snapshot_step
    decode_state: Callable[..., Any] = decode.snapshot_depth
    verify_grid: Callable[..., Any] = grids.track_grid
    verify_crosses: Callable[..., Any] = verify.crosses
    verify_point: Callable[..., Any] = verify.tracking_point
    verify_saved_step: Callable[..., Any] = verify.saved_step
    verify_plans: Callable[..., Any] = slots.a_verify_may_cross
    flush_grid: Callable[..., Any] = grids.track_interval
    flush_state: Callable[..., Any] = flush.flushed_depth
    window_grid: Callable[..., Any] = grids.track_interval
    insert_guard: Callable[..., Any] = insert.accepts_any_depth
    node_depth: Callable[..., Any] = insert.node_depth
    node_keeps: Callable[..., Any] = tree.kept
    split_above: Callable[..., Any] = tree.left_above
    split_below: Callable[..., Any] = tree.left_below
    eviction_leaves: Callable[..., Any] = tree.left_evicted
    longest_given: Callable[..., Any] = lookup.longest_given
    swap: Callable[..., Any] = slots.swap_follows_the_lookahead
    label: Callable[..., Any] = slots.label_of_the_completed_step
    verify_label_start: Callable[..., Any] = slots.label_counts_the_retained
    finish_depth: Callable[..., Any] = slots.label_within_the_key
    key_ends_at_the_stop: bool = True
    stores_the_kept_entry: bool = True
    failure_forgets_the_label: bool = True
    fallback_slot: bool = True
    skips_rows_of_the_finished: bool = True
    writes_mixed_prompts: bool = True
    undoes_mixed_allocations: bool = True
    tree_core: str = "rust"
    tree_cores: tuple[str, ...] = ("python", "rust")
    blind_verifiers: frozenset[str] = frozenset()
    guards: tuple[Guard, ...] = GUARDS

    engine = "sglang"

    def grid(self, reader: str, c: Any) -> Any:
        """The grid (tokens) that `reader` (extend, decode, verify, flush or window) uses in configuration `c`."""
        return current(getattr(self, f"{reader}_grid"))(c)

    def summary(self) -> dict[str, str]:
        """What each reader uses, by the names of the rules."""
        plain, dcp = self.extend_rule.name, self.extend_rule_under_dcp.name
        forgets = "forgets" if self.failure_forgets_the_label else "keeps"
        return {
            "extend_depth": plain if plain == dcp else f"{dcp} under DCP, else {plain}",
            "extend_grid": self.extend_grid.__name__,
            "extend_row_stride": self.extend_row_stride.__name__,
            "extend_assertion": self.extend_assertion.__name__,
            "decode_grid": self.decode_grid.__name__,
            "verify_grid": self.verify_grid.__name__,
            "verify_saves_nothing": ", ".join(sorted(self.blind_verifiers)) or "-",
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


def _releases() -> dict[str, Design]:
    newest = Design(name=f"sglang-{NEWEST}", release=NEWEST)

    def earlier(release: str, than: Design, **changes: Any) -> Design:
        return replace(than, name=f"sglang-{release}", release=release, **changes)

    v22 = earlier("0.5.22", newest, writes_mixed_prompts=False, undoes_mixed_allocations=False)
    v21 = earlier(
        "0.5.21",
        v22,
        verify_label_start=slots.label_counts_the_accepted,
        key_ends_at_the_stop=False,
        finish_depth=slots.label_cut_to_the_key,
        failure_forgets_the_label=False,
        fallback_slot=False,
        skips_rows_of_the_finished=False,
    )
    v20 = earlier("0.5.20", v21, extend_rule_under_dcp=RELATIVE, tree_core="python")
    # DFLASH compared a length with itself until PR 37818.
    v19 = earlier("0.5.19", v20, blind_verifiers=frozenset({"DFLASH"}))
    v18 = earlier(
        "0.5.18",
        v19,
        tree_cores=("python",),
        decode_grid=grids.track_interval,
        verify_grid=grids.track_interval,
        extend_row_stride=grids.cache_chunk_size,
        extend_assertion=extend.depth_is_on_the_chunk,
    )
    v17 = earlier(
        "0.5.17",
        v18,
        extend_grid=grids.cache_chunk_size,
        label=slots.label_of_the_launched_length,
        stores_the_kept_entry=False,
        guards=(*GUARDS, LAZY_IS_NOT_DFLASH),
    )
    return {d.name: d for d in (v17, v18, v19, v20, v21, v22, newest)}


def with_insert_guard(design: Design) -> Design:
    """The insert-time guard as a proposal: a state whose recorded depth no node can name is dropped."""
    return replace(design, name=f"{design.name}+insert-guard", insert_guard=insert.depth_has_a_node)


def with_completed_swap(design: Design) -> Design:
    """A proposal: the ping-pong slots are swapped when a boundary step completes, whatever was launched ahead."""
    return replace(
        design, name=f"{design.name}+completed-swap", swap=slots.swap_follows_the_completed_step
    )


PROPOSALS: dict[str, Callable[[Design], Design]] = {
    "insert-guard": with_insert_guard,
    "completed-swap": with_completed_swap,
}
DESIGNS: dict[str, Design] = _releases()
CURRENT = DESIGNS[f"sglang-{NEWEST}"]


def design_named(name: str) -> Design:
    """The design of a release (`sglang-0.5.18`), or of a release with proposals (`sglang-0.5.18+insert-guard`)."""
    base, *proposals = name.split("+")
    if base not in DESIGNS:
        raise UnknownDesign(f"unknown design {base!r}: the modelled ones are {', '.join(DESIGNS)}")
    design = DESIGNS[base]
    for proposal in proposals:
        if proposal not in PROPOSALS:
            raise UnknownDesign(
                f"unknown proposal {proposal!r} in {name!r}: known are {', '.join(PROPOSALS)}"
            )
        design = PROPOSALS[proposal](design)
    return design


def design_of_engine(requirement: str) -> Design:
    """The design of an engine requirement: `sglang==0.5.18`, or `sglang` for the newest modelled release."""
    engine, separator, release = requirement.partition("==")
    if engine.strip() != "sglang":
        raise UnknownDesign(
            f"unknown engine {requirement!r}: accepted are 'sglang' and 'sglang==RELEASE'"
        )
    release = release.strip() if separator else NEWEST
    if release not in RELEASES:
        raise UnknownDesign(
            f"unknown release {release!r} of sglang: the modelled ones are {', '.join(RELEASES)}"
        )
    return DESIGNS[f"sglang-{release}"]
