"""When ReplaySSM's pending inputs are flushed into the state.

Source: SGLang 0.5.23, `layers/attention/hybrid_linear_attn_backend.py` (`_replayssm_track_flush_mask`).
"""

from spec.numbers import Number, Truth, divides


def flush_step(interval: Number, seq_len: Number) -> Truth:
    """Whether the step that brings a request to `seq_len` tokens flushes; `interval` in tokens."""
    return divides(interval, seq_len)


def flushed_depth(interval: Number, seq_len: Number) -> Number:
    """Tokens that the state of a request of `seq_len` tokens has consumed as of its last flush."""
    return seq_len // interval * interval
