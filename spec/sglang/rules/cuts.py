"""Where the scheduler cuts a prompt into pieces.

Source: SGLang 0.5.17 to 0.5.23, `managers/schedule_policy.py` (`PrefillAdder.add_one_req`, `add_chunked_req`).
Lengths are tokens.
"""

from __future__ import annotations

from typing import Any

from spec.numbers import Number

WHOLE_PROMPTS = -1  # `--chunked-prefill-size` that cuts none
# Algorithms whose requests may share a batch with a prompt, and the releases where none may.
_MIXING_ALGORITHMS = ("EAGLE", "EAGLE3", "NEXTN", "DFLASH", "DSPARK")
_NO_SPECULATION_MIXES = ("0.5.17", "0.5.18")


def first_cut(page: Number, budget: Number, prefix: Number) -> Number:
    """Where the first piece of a prompt ends that is longer than the budget: on the page."""
    return (prefix + budget // page * page) // page * page


def next_cut(budget: Number, prefix: Number) -> Number:
    """Where a further piece ends that does not finish the prompt: at the end of the budget, whatever the page."""
    return prefix + budget


def mixing_is_possible(release: str, c: Any) -> bool:
    """Whether running requests share batches with pieces of prompts where `--enable-mixed-chunk` is given.

    An algorithm that is not said may be any.

    Source: SGLang 0.5.17 to 0.5.23, `arg_groups/speculative_hook.py`.
    """
    if c.chunked_prefill_size == WHOLE_PROMPTS:
        return False
    if not c.speculative_num_draft_tokens:
        return True
    mixes = c.speculative_algorithm in (None, *_MIXING_ALGORITHMS)
    return mixes and release not in _NO_SPECULATION_MIXES
