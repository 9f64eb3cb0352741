"""When a warm run counts as equal to a cold one, when it counts as diverging, and when as neither."""

from __future__ import annotations

import torch

from gpu_checks.recurrences.tokens import CHUNK

DIVERGES_BY = 100  # a misplaced state must exceed the tolerance by this factor

EQUAL, DIVERGES, BETWEEN = "equal", "diverges", "between"


def tolerance(dtype: torch.dtype, tokens: int) -> float:
    """Relative error that another order of the same operations may bring over so many tokens (docs/replay.md)."""
    return torch.finfo(dtype).eps * max(CHUNK, tokens / 2)


def predicted(node: int, state: int) -> str:
    """What the model predicts of a state that has consumed `state` tokens on the node of depth `node`."""
    return EQUAL if node == state else DIVERGES


def observed(
    state_error: float, output_error: float, tolerance: float, same_operations: bool
) -> str:
    """What two runs show: `equal` needs bitwise equality where both do the same operations on the same shapes.

    `diverges` needs states as well as outputs beyond the tolerance by the factor; all else is `between`.
    """
    largest = 0.0 if same_operations else tolerance
    if max(state_error, output_error) <= largest:
        return EQUAL
    if min(state_error, output_error) > DIVERGES_BY * tolerance:
        return DIVERGES
    return BETWEEN
