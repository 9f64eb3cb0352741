"""What a judged launch gives reason to note: one function a code, the message or None."""

from __future__ import annotations

from generators.check.findings import Judgement
from generators.launch.launch import Launch
from spec.sglang.guards import interval_is_whole_configured_pages
from spec.sglang.releases import Design
from spec.sglang.rules import grids

_JUDGED = ("safe", "unsafe", "inert")


def interval_rounded_up(design: Design, launch: Launch, judgement: Judgement) -> str | None:
    """Decode checkpoints are further apart than the interval."""
    asked, grid = launch.configuration.mamba_track_interval, judgement.geometry["decode_grid"]
    if judgement.smallest_cached is None or grid <= asked:
        return None
    return f"decode checkpoints are {grid} tokens apart, not the {asked} of --mamba-track-interval"


def refused_though_valid(design: Design, launch: Launch, judgement: Judgement) -> str | None:
    """Only guards that are stricter than necessary refuse the launch."""
    from generators.sglang import codes
    from generators.sglang.check.judged import grid_cases
    from generators.sglang.check.not_modelled import refused_by

    if judgement.verdict != "rejected":
        return None
    code, c = codes.REFUSED_THOUGH_VALID, launch.configuration
    refusing = {guard.name for guard in refused_by(design, c)}
    if (
        not refusing
        or not refusing <= set(code.guards)
        or c.strategy == "no_buffer"
        or grid_cases(design, c)
    ):
        return None
    return code.means


def prefill_below_grid(design: Design, launch: Launch, judgement: Judgement) -> str | None:
    """A prefill chunk is smaller than the checkpoint grid."""
    size, grid = launch.configuration.chunked_prefill_size, judgement.geometry["checkpoint_grid"]
    if judgement.verdict not in _JUDGED or size is None or not 0 < size < grid:
        return None
    return (
        f"--chunked-prefill-size {size} is smaller than the checkpoint grid ({grid} tokens): a prefill chunk may not "
        "produce any checkpoint"
    )


def windows_on_another_grid(design: Design, launch: Launch, judgement: Judgement) -> str | None:
    """The draft's windows lie on another grid than its states."""
    c = launch.configuration
    if judgement.verdict not in _JUDGED or not (launch.facts.model.convolves and c.speculates):
        return None
    windows, states = design.grid("window", c), design.grid("verify", c)
    if windows == states:
        return None
    return (
        f"the draft model's convolution windows are kept every {windows} tokens and its states every "
        f"{states} tokens"
    )


def guard_of_one_rank(design: Design, launch: Launch, judgement: Judgement) -> str | None:
    """The guard passes beside a checkpoint on the wrong grid."""
    from generators.sglang import codes

    c = launch.configuration
    on_a_grid = (codes.DECODE_GRID, codes.VERIFY_GRID)
    is_wrong = any(finding.code in on_a_grid for finding in judgement.findings)
    if judgement.verdict not in _JUDGED or not is_wrong or not c.page_size_given:
        return None
    if not interval_is_whole_configured_pages(c):
        return None
    return (
        f"the start-up guard compares the interval of {c.mamba_track_interval} tokens with the page of {c.page_size} "
        f"and passes; the tree's page is {grids.tree_page(c)} tokens"
    )


def guard_not_evaluated(design: Design, launch: Launch, judgement: Judgement) -> str | None:
    """The guard is skipped where --page-size is left out."""
    c = launch.configuration
    if judgement.verdict not in _JUDGED or c.page_size_given or "log" in launch.sources.values():
        return None
    if interval_is_whole_configured_pages(c):
        return None
    return (
        f"the interval of {c.mamba_track_interval} tokens is no multiple of the page of {c.page_size} tokens; the "
        "start-up guard did not check it, as --page-size is left out"
    )
