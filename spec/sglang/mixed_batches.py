"""Which launches let running requests share a batch with a piece of a prompt (`--enable-mixed-chunk`)."""

from __future__ import annotations

from typing import Any

from spec.sglang.rules.cuts import WHOLE_PROMPTS

# Algorithms whose requests may share a batch with a prompt, and the releases where none may.
_MIXING_ALGORITHMS = ("EAGLE", "EAGLE3", "NEXTN", "DFLASH", "DSPARK")
_NO_SPECULATION_MIXES = ("0.5.17", "0.5.18")


def mixing_is_possible(release: str, c: Any) -> bool:
    """Whether running requests share batches with pieces of prompts where `--enable-mixed-chunk` is given.

    An algorithm that is not given may be any.

    Source: SGLang 0.5.17 to 0.5.23, `arg_groups/speculative_hook.py`.
    """
    if c.chunked_prefill_size == WHOLE_PROMPTS:
        return False
    if not c.speculative_num_draft_tokens:
        return True
    mixes = c.speculative_algorithm in (None, *_MIXING_ALGORITHMS)
    return mixes and release not in _NO_SPECULATION_MIXES
