"""Extends in one batch: each request's checkpoint is read from its own rows, and its window ends where its state does."""

from spec.numbers import both
from spec.sglang.checkpoints import extend_checkpoint
from spec.sglang.guards import chunk_and_page_fit
from spec.sglang.releases import current
from spec.sglang.rules import extend, grids
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("extend", refuted_by=("sglang-0.5.17", "sglang-0.5.18"), least={"prefix": 0})
def a_row_read_in_a_batch_is_the_requests_own(design, c, prefix, tokens, before):
    """Behind another request in its batch, an extend reads the row of its own depth, not one of the other request's
    rows."""
    checkpoint, end = extend_checkpoint(design, c, prefix, prefix + tokens), prefix + tokens
    stride, chunk = current(design.extend_row_stride)(c), c.mamba_chunk_size
    tracked = extend.tracked_length(stride, prefix, end, checkpoint.recorded)
    rows = extend.rows_written(chunk, before)
    own = extend.row_in_batch(stride, before, prefix, tracked) - rows
    return Statement(
        {
            "the_extend_donates": checkpoint.saved,
            "chunk_and_page_fit": chunk_and_page_fit(c),
            "the_model_chunk_is_above_one_token": chunk > 1,
        },
        both(
            prefix + own * chunk == checkpoint.recorded,
            (rows - 1) * chunk < before,
            before <= rows * chunk,
        ),
    )


@theorem("extend", least={"prefix": 0})
def the_window_kept_ends_where_the_state_does(design, c, prefix, tokens):
    """The convolution window copied beside a donated state ends at the depth recorded for it."""
    end, chunk = prefix + tokens, grids.cache_chunk_size(c)
    checkpoint = extend_checkpoint(design, c, prefix, end)
    tracked = extend.tracked_length(
        current(design.extend_row_stride)(c), prefix, end, checkpoint.recorded
    )
    return Statement(
        {
            "the_extend_donates": checkpoint.saved,
            "the_cache_chunk_is_above_one_token": chunk > 1,
        },
        extend.window_depth(chunk, prefix, tracked) == checkpoint.recorded,
    )
