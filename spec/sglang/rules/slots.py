"""When the result of a decode step makes the other ping-pong slot the next one to be written.

`lookahead` is how many later steps of the request had been launched when the result was processed: 0 or 1.
Source: SGLang 0.5.23, `managers/scheduler_components/batch_result_processor.py`
(`_handle_finish_state_updated_req`, `_mamba_prefix_cache_update`).
"""

from spec.numbers import Number, Truth, both, divides, implies


def swap_follows_the_lookahead(grid: Number, seq_len: Number, lookahead: Number) -> Truth:
    """Swap on the mask of the completed step where nothing was launched ahead, else on the next step's (from 0.5.18)."""
    return both(
        implies(lookahead == 0, divides(grid, seq_len)),
        implies(lookahead != 0, divides(grid, seq_len + 1)),
    )


def swap_follows_the_completed_step(grid: Number, seq_len: Number, lookahead: Number) -> Truth:
    """Proposed: swap when a step at a boundary completes, whatever was launched ahead."""
    return divides(grid, seq_len)
