"""The start-up guards of SGLang: conditions under which the engine refuses to start."""

from __future__ import annotations

from spec.engine import Guard
from spec.numbers import Truth, divides, either
from spec.sglang.rules.grids import cache_chunk_size


def _buffered(c) -> bool:
    return c.strategy != "no_buffer"


def chunk_and_page_fit(c) -> Truth:
    """One of the model's chunk and the page (tokens) divides the other."""
    return either(
        divides(c.mamba_chunk_size, c.page_size), divides(c.page_size, c.mamba_chunk_size)
    )


def interval_is_whole_configured_pages(c) -> Truth:
    """The interval is a multiple of the configured page (tokens), which DCP does not widen."""
    return divides(c.page_size, c.mamba_track_interval)


def interval_is_whole_pages(c) -> Truth:
    """As above, but only where `--page-size` was given and slots are buffered, as the engine evaluates it."""
    if not _buffered(c) or not c.page_size_given:
        return True
    return interval_is_whole_configured_pages(c)


def interval_covers_draft_tokens(c) -> Truth:
    """The interval is no shorter than a verify step (tokens), where slots are buffered."""
    return c.mamba_track_interval >= c.speculative_num_draft_tokens if _buffered(c) else True


def interval_covers_a_mamba2_chunk(c) -> Truth:
    """Mamba2 backends demand an interval of at least the model's chunk (tokens), where slots are buffered."""
    if not _buffered(c) or c.recurrence != "mamba2":
        return True
    return c.mamba_track_interval >= c.mamba_chunk_size


def prefill_chunks_are_whole_pages(c) -> Truth:
    """Where the size of a prefill chunk (tokens) is given, it is whole configured pages, which DCP does not widen."""
    size = c.chunked_prefill_size
    return True if size is None or size < 0 else divides(c.page_size, size)


def prefill_chunks_cover_a_cache_chunk(c) -> Truth:
    """Under DCP a prefill chunk (tokens) is no shorter than the cache chunk that prompts are cut on, where slots are buffered.

    From 0.5.23 on; each rank of attention data parallelism has its own share of the chunk, which is not looked at.
    """
    size = c.chunked_prefill_size
    if not _buffered(c) or size is None or size < 0:
        return True
    return either(c.dcp_size == 1, size >= cache_chunk_size(c))


def lazy_has_overlap(c) -> Truth:
    """Lazy slots need the overlap scheduler; checked when the pool is sized, after the weights are loaded."""
    return c.strategy != "extra_buffer_lazy" or c.overlap


def ranks_divide_evenly(c) -> Truth:
    """Tensor-parallel ranks are a multiple of the decode-context-parallel ones, where the former are known."""
    tp_size = getattr(c, "tp_size", None)
    return True if tp_size is None else divides(c.dcp_size, tp_size)


def no_buffer_has_page_one(c) -> Truth:
    """`no_buffer` needs a tree page of one token."""
    return True if _buffered(c) else c.page_size * c.dcp_size == 1


def no_buffer_has_no_overlap(c) -> Truth:
    """`no_buffer` needs the overlap scheduler off."""
    return _buffered(c) or not c.overlap


def lazy_is_not_dflash(c) -> Truth:
    """0.5.17 has no lazy slots for DFLASH."""
    return not (c.strategy == "extra_buffer_lazy" and c.speculative_algorithm == "DFLASH")


GUARDS = (
    Guard(
        "chunk_and_page_fit",
        "one of mamba_chunk_size and page_size must divide the other",
        "arg_groups/overrides.py",
        chunk_and_page_fit,
    ),
    Guard(
        "interval_is_whole_pages",
        "--mamba-track-interval must be a multiple of the given --page-size",
        "arg_groups/mamba_hook.py",
        interval_is_whole_pages,
    ),
    Guard(
        "interval_covers_draft_tokens",
        "--mamba-track-interval must be at least the draft tokens of a verify step",
        "arg_groups/mamba_hook.py",
        interval_covers_draft_tokens,
    ),
    Guard(
        "interval_covers_a_mamba2_chunk",
        "--mamba-track-interval must be at least mamba_chunk_size for a Mamba2 model",
        "layers/attention/hybrid_linear_attn_backend.py",
        interval_covers_a_mamba2_chunk,
    ),
    Guard(
        "prefill_chunks_are_whole_pages",
        "--chunked-prefill-size must be a multiple of the page",
        "arg_groups/validation_hook.py",
        prefill_chunks_are_whole_pages,
    ),
    Guard(
        "ranks_divide_evenly",
        "--tp-size must be a multiple of --dcp-size",
        "distributed/parallel_state.py",
        ranks_divide_evenly,
    ),
    Guard(
        "lazy_has_overlap",
        "extra_buffer_lazy needs the overlap scheduler on",
        "mem_cache/kv_cache_configurator.py",
        lazy_has_overlap,
    ),
    Guard(
        "no_buffer_has_page_one",
        "no_buffer needs --page-size 1 and --dcp-size 1",
        "arg_groups/mamba_hook.py",
        no_buffer_has_page_one,
    ),
    Guard(
        "no_buffer_has_no_overlap",
        "no_buffer needs --disable-overlap-schedule",
        "arg_groups/mamba_hook.py",
        no_buffer_has_no_overlap,
    ),
)
LAZY_IS_NOT_DFLASH = Guard(
    "lazy_is_not_dflash",
    "extra_buffer_lazy does not work with DFLASH before 0.5.18",
    "server_args.py",
    lazy_is_not_dflash,
)
PREFILL_COVERS_A_CACHE_CHUNK = Guard(
    "prefill_chunks_cover_a_cache_chunk",
    "under DCP --chunked-prefill-size must be at least the cache chunk, the larger of mamba_chunk_size and page_size",
    "managers/scheduler.py (check_truncation_align_fits_chunk)",
    prefill_chunks_cover_a_cache_chunk,
)
