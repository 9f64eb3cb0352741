"""Which draft step's state a speculative verify saves.

`pre` is the length before the verify (tokens), `accepted` the tokens it commits, the bonus token included.
Source: SGLang 0.5.23, `speculative/spec_utils.py` (`_verify_commit_step_indices`), dspark and dflash workers.
"""

from spec.numbers import Number, Truth, largest


def crosses(grid: Number, pre: Number, accepted: Number) -> Truth:
    """Whether the verify passes at least one multiple of `grid` (tokens)."""
    return pre // grid != (pre + accepted) // grid


def tracking_point(grid: Number, pre: Number, accepted: Number) -> Number:
    """Depth recorded for the state that is saved: the last multiple of `grid` that was passed."""
    return (pre + accepted) // grid * grid


def saved_step(grid: Number, pre: Number, accepted: Number) -> Number:
    """Draft step, counted from 0, whose state is saved."""
    return largest(tracking_point(grid, pre, accepted) - pre - 1, 0)


def state_depth(pre: Number, step: Number) -> Number:
    """Tokens consumed by the state after draft step `step`."""
    return pre + step + 1


def window_end(grid: Number, pre: Number, accepted: Number) -> Number:
    """Position (tokens, from 1) up to which the convolution window reaches that Inkling's draft extend writes.

    Source: SGLang 0.5.17 to 0.5.23, `models/inkling_common/sconv.py`: the rows start at the saved step itself.
    """
    return pre + saved_step(grid, pre, accepted)
