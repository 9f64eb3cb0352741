"""The ping-pong slots of decode checkpoints: which depth a result labels, when it swaps, what a finish donates.

`seq_len` is the length (tokens) that a decode step brings its request to; `lookahead` is how many later steps of
the request had been launched when the result of that step was processed: 0 or 1.
Source: SGLang 0.5.17 to 0.5.23, `managers/scheduler_components/batch_result_processor.py`
(`_handle_finish_state_updated_req`, `_mamba_prefix_cache_update`), `managers/schedule_batch.py`
(`mamba_lazy_prealloc_at_boundary`), `mem_cache/unified_cache/components/mamba.py` (`_select_finished_checkpoint`).
"""

from spec.numbers import Number, Truth, both, choose, divides, implies, smallest
from spec.sglang.rules.verify import crosses

NO_DEPTH = 0  # what a label reads that names no checkpoint


def swap_follows_the_lookahead(grid: Number, seq_len: Number, lookahead: Number) -> Truth:
    """Swap on the mask of the completed step where nothing was launched ahead, else on the next step's."""
    return both(
        implies(lookahead == 0, divides(grid, seq_len)),
        implies(lookahead != 0, divides(grid, seq_len + 1)),
    )


def swap_follows_the_completed_step(grid: Number, seq_len: Number, lookahead: Number) -> Truth:
    """Proposed: swap when a step at a boundary completes, whatever was launched ahead."""
    return divides(grid, seq_len)


def label_of_the_completed_step(grid: Number, seq_len: Number, lookahead: Number) -> Number:
    """Depth (tokens) that a result labels, none off a boundary: that of the completed step (from 0.5.18)."""
    return choose(divides(grid, seq_len), seq_len, NO_DEPTH)


def label_of_the_launched_length(grid: Number, seq_len: Number, lookahead: Number) -> Number:
    """Depth (tokens) that a result labels, none off a boundary: the length launched so far (0.5.17)."""
    launched = seq_len + lookahead
    return choose(divides(grid, launched), launched, NO_DEPTH)


def label_cut_to_the_key(key_length: Number, label: Number, previous: Number = NO_DEPTH) -> Number:
    """Depth (tokens) donated at a finish: the label, or the key where that is shorter (up to 0.5.21)."""
    return smallest(key_length, label)


def label_within_the_key(key_length: Number, label: Number, previous: Number) -> Number:
    """Depth (tokens) donated at a finish: the label if the key reaches it, else the one before (from 0.5.22)."""
    fallback = choose(previous <= key_length, previous, NO_DEPTH)
    return choose(label <= key_length, label, fallback)


def a_verify_may_cross(grid: Number, committed: Number, draft_tokens: Number) -> Truth:
    """Whether a lazy request plans a second slot: a boundary lies within two verifies of what is committed (tokens)."""
    return crosses(grid, committed, 2 * draft_tokens)


def label_counts_the_retained(pre: Number, accepted: Number, retained: Number) -> Number:
    """Where the label of a verify's result starts to look for a boundary: at the verify's start (from 0.5.22)."""
    return pre


def label_counts_the_accepted(pre: Number, accepted: Number, retained: Number) -> Number:
    """Where the label starts to look: all accepted tokens before the end, though a grammar kept fewer (up to 0.5.21)."""
    return pre + retained - accepted
