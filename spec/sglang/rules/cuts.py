"""Where the scheduler cuts a prompt into pieces.

Source: SGLang 0.5.17 to 0.5.23, `managers/schedule_policy.py` (`PrefillAdder.add_one_req`, `add_chunked_req`).
Lengths are tokens.
"""

from __future__ import annotations

from spec.numbers import Number

WHOLE_PROMPTS = -1  # `--chunked-prefill-size` that cuts none


def first_cut(page: Number, budget: Number, prefix: Number) -> Number:
    """Where the first piece of a prompt ends that is longer than the budget: on the page."""
    return (prefix + budget // page * page) // page * page


def next_cut(budget: Number, prefix: Number) -> Number:
    """Where a further piece ends that does not finish the prompt: at the end of the budget, whatever the page."""
    return prefix + budget
