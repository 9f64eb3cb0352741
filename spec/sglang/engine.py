"""SGLang as an engine: its fields, releases, designs and theorems."""

from __future__ import annotations

from typing import Any

from spec.engine import Engine, Field, SecondMethod
from spec.recurrences import RECURRENCES
from spec.sglang.configuration import STRATEGIES, Configuration
from spec.sglang.proposals import PROPOSALS
from spec.sglang.releases import RELEASES, Design, design_named
from spec.sglang.rules import grids
from spec.theorem import Library

_D = Configuration()
FIELDS = (
    Field(
        "page_size",
        int,
        _D.page_size,
        "page after defaults and what a backend forces",
        "tokens",
        1,
        symbolic=True,
        short="page",
    ),
    Field(
        "dcp_size",
        int,
        _D.dcp_size,
        "ranks of decode context parallelism",
        "ranks",
        1,
        symbolic=True,
        short="dcp",
    ),
    Field(
        "mamba_track_interval",
        int,
        _D.mamba_track_interval,
        "distance between decode checkpoints as configured",
        "tokens",
        1,
        symbolic=True,
        short="interval",
    ),
    Field(
        "speculative_num_draft_tokens",
        int,
        _D.speculative_num_draft_tokens,
        "draft tokens of a verify; 0 means no speculation",
        "tokens",
        0,
        symbolic=True,
    ),
    Field(
        "speculative_algorithm",
        str,
        _D.speculative_algorithm,
        "EAGLE, NEXTN, DSPARK, DFLASH, ...",
        may_be_none=True,
        example="EAGLE or DSPARK",
    ),
    Field(
        "chunked_prefill_size",
        int,
        _D.chunked_prefill_size,
        "longest chunk of a prefill; -1 turns chunking off, left out means any cut",
        "tokens",
        -1,
        may_be_none=True,
    ),
    Field(
        "strategy",
        str,
        _D.strategy,
        "extra_buffer, extra_buffer_lazy, no_buffer",
        choices=STRATEGIES,
    ),
    Field("overlap", bool, _D.overlap, "overlap scheduler: on, off"),
    Field(
        "mamba_chunk_size",
        int,
        _D.mamba_chunk_size,
        "chunk of the model's kernels in tokens",
        "tokens",
        1,
        symbolic=True,
        short="chunk",
    ),
    Field(
        "recurrence",
        str,
        _D.recurrence,
        "family of the recurrent layers, left out means any",
        choices=RECURRENCES,
        may_be_none=True,
    ),
    Field(
        "page_size_given",
        bool,
        _D.page_size_given,
        "whether the launch gives --page-size",
    ),
)
PLACE_FIELDS = (
    Field("enable_hierarchical_cache", bool, False, "a tier of the cache in host memory"),
    Field(
        "hicache_write_policy",
        str,
        None,
        "when the host tier is written: write_back, write_through",
        choices=("write_back", "write_through"),
        may_be_none=True,
    ),
    Field("hicache_storage_backend", bool, False, "a storage behind the host tier"),
    Field("enable_streaming_session", bool, False, "turns of streaming sessions"),
    Field("sessions", bool, False, "requests of sessions that do not stream"),
)


def geometry(design: Design, c: Any) -> dict[str, int]:
    """The grids of a configuration under a design, in tokens."""
    return {
        "tree_page": grids.tree_page(c),
        "cache_chunk_size": grids.cache_chunk_size(c),
        "checkpoint_grid": grids.checkpoint_grid(c),
        "track_grid": grids.track_grid(c),
        "decode_grid": design.grid("decode", c),
    }


def _library() -> Library:
    from spec.sglang.theorems import LIBRARY

    return LIBRARY


def _second_method() -> SecondMethod:
    from spec.sglang.drift.verdict import METHOD

    return METHOD


ENGINE = Engine(
    name="sglang",
    releases=RELEASES,
    fields=FIELDS,
    configuration=Configuration,
    design=design_named,
    proposals=PROPOSALS,
    geometry=geometry,
    library=_library,
    second_method=_second_method,
    place_fields=PLACE_FIELDS,
    examples={
        "launch": "sglang serve --model-path moonshotai/Kimi-K3 --tp-size 8 --dcp-size 8",
        "domain": "--page-size 64 --dcp-size 8",
        "setting": "page_size=64",
        "code": "GP101",
    },
)


FIELD_NAMES = ENGINE.field_names
