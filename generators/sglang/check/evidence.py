"""The evidence for a safe verdict: the theorems behind each producer, or a proof for the one configuration."""

from __future__ import annotations

from generators.cases.domain import domain_of
from generators.common.errors import Inconclusive
from generators.search.configurations import search
from spec.sglang.configuration import Configuration
from spec.sglang.releases import ABSOLUTE, Design
from spec.sglang.rules import extend, grids
from spec.sglang.rules.grids import model_chunk

_ON_THE_TRACK_GRID = {
    "decode": "decode_checkpoint_lands_on_a_node",
    "verify": "verify_checkpoint_lands_on_a_node",
}
# Why prefixes are whole pages although prompts are cut.
CUT_ON_THE_PAGE = "a_prompt_is_cut_on_the_page_if_its_chunks_are_whole_pages"
_ON_THE_INTERVAL = "a_raw_interval_is_safe_if_the_tree_page_divides_it"


def _of_the_grid(design: Design, producer: str) -> list[str]:
    """The theorems on which decode or verify rests, by the grid that the release reads."""
    exact = ["the_saved_verify_step_has_consumed_exactly_the_recorded_depth"]
    steps = exact if producer == "verify" else []
    if getattr(design, f"{producer}_grid") is grids.track_grid:
        return [_ON_THE_TRACK_GRID[producer], *steps]
    return [_ON_THE_INTERVAL, *steps]


def _of_the_extend(design: Design, c: Configuration) -> list[str] | None:
    """The theorems on which the extend rests in a configuration; None where the library has none for it."""
    rule = design.extend_rule_under_dcp if c.dcp_size > 1 else design.extend_rule
    grid = grids.checkpoint_grid(c)
    if rule is ABSOLUTE:
        names = ["an_extend_under_dcp_lands_on_a_node"]
    elif design.grid("extend", c) == grid and (grids.tree_page(c) == 1 or _whole_prefixes(c)):
        names = ["a_relative_extend_lands_on_a_node_if_its_prefix_does"]
    else:
        return None
    chunk = grids.cache_chunk_size(c)
    if design.extend_assertion is extend.offset_is_on_the_chunk:
        names.append("the_extend_assertion_never_fires")
    elif grid == chunk:
        names.append("the_old_assertion_is_not_reached_where_the_grid_is_the_cache_chunk")
    elif _whole_prefixes(c) and grids.tree_page(c) % chunk == 0:
        names.append("the_old_assertion_holds_from_a_prefix_on_the_cache_chunk")
    else:
        return None
    if design.extend_row_stride is model_chunk and c.mamba_chunk_size > 1:
        names.append("the_row_read_is_the_row_of_the_recorded_depth")
    elif c.page_size <= c.mamba_chunk_size and c.mamba_chunk_size > 1:
        names.append("the_old_row_is_right_where_the_page_is_within_the_model_chunk")
    else:
        return None
    return names


def _whole_prefixes(c: Configuration) -> bool:
    """Without chunked prefill every prefix was matched in the tree."""
    return c.chunked_prefill_size == -1


def rests_on(design: Design, c: Configuration, verdicts: dict[str, str]) -> tuple[str, ...] | None:
    """The theorems behind the safe producers; None where an extend's safety needs a proof of its own."""
    names = []
    for producer in ("decode", "verify"):
        if verdicts.get(producer) == "safe":
            names += _of_the_grid(design, producer)
    if verdicts["extend"] == "safe":
        found = _of_the_extend(design, c)
        if found is None:
            return None
        names += found
    if verdicts["flush"] == "safe" and design.decode_grid is grids.track_grid:
        names.append("every_snapshot_step_is_a_flush_step")
    return tuple(dict.fromkeys(names))


def proved_alone(design: Design, c: Configuration) -> bool:
    """Whether the solver shows for this one configuration that no extend goes wrong."""
    try:
        return search(design, domain_of(c), close=True).complete
    except Inconclusive:
        return False
