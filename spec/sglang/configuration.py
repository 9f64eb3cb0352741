"""A configuration of SGLang: what a launch decides and what its model brings."""

from __future__ import annotations

from dataclasses import dataclass

from spec.recurrences import STATEFUL_LAYERS

STRATEGIES = ("extra_buffer", "extra_buffer_lazy", "no_buffer")
NUMERIC_FIELDS = (
    "page_size",
    "dcp_size",
    "mamba_track_interval",
    "mamba_chunk_size",
    "speculative_num_draft_tokens",
)


@dataclass(frozen=True)
class Configuration:
    """What a launch decides and what the model brings; defaults are the engine's.

    `page_size` is the resolved page (tokens), `dcp_size` ranks, `mamba_track_interval` and
    `mamba_chunk_size` tokens, `speculative_num_draft_tokens` tokens a verify (0: no speculation),
    `chunked_prefill_size` tokens (-1: off; None: any cut the scheduler can make),
    `recurrence` one of `RECURRENCES` (None: any).  Source: SGLang 0.5.23, `arg_groups/fields/`.
    """

    page_size: int = 1
    dcp_size: int = 1
    mamba_track_interval: int = 256
    speculative_num_draft_tokens: int = 0
    speculative_algorithm: str | None = None
    chunked_prefill_size: int | None = None
    strategy: str = "extra_buffer"
    overlap: bool = True
    mamba_chunk_size: int = 64
    recurrence: str | None = None
    page_size_given: bool = True
    tp_size: int | None = None

    @property
    def speculates(self) -> bool:
        return self.speculative_num_draft_tokens > 0

    @property
    def stateful_layers(self) -> tuple[str, ...]:
        """The layers whose states it is about: of its own recurrence, or of all where it names none."""
        return STATEFUL_LAYERS if self.recurrence is None else (self.recurrence,)
