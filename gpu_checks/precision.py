"""What a dtype costs: a state stored in it once, or a whole run calculated in it, against float64."""

from __future__ import annotations

import torch

from gpu_checks.cold_run import by_steps
from gpu_checks.recurrences import Recurrence, State
from gpu_checks.resume_pairs import state_errors

STORED_IN = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Relative error allowed to a state that is stored once: docs/replay.md.
STORED_TOLERANCE = {"float32": 2.0**-22, "bfloat16": 2.0**-7}


def _error(found: State, wanted: State) -> float:
    exact = {part: value.double() for part, value in wanted.items()}
    return state_errors({part: value.double() for part, value in found.items()}, exact).item()


def stored(recurrence: Recurrence, depth: int, device: str) -> dict[str, float]:
    """For each dtype the relative error of the state of `depth` tokens that is stored in it once."""
    stream = recurrence.stream(depth, device=device)
    state = by_steps(recurrence, stream, {depth}).states[depth]
    return {
        name: _error({part: value.to(dtype) for part, value in state.items()}, state)
        for name, dtype in STORED_IN.items()
    }


def calculated(recurrence: Recurrence, depth: int, device: str) -> dict[str, float]:
    """For each dtype the relative error of that state where all steps are calculated in it."""
    states = {
        dtype: by_steps(
            recurrence, recurrence.stream(depth, dtype=dtype, device=device), {depth}
        ).states[depth]
        for dtype in (torch.float64, *STORED_IN.values())
    }
    exact = states[torch.float64]
    return {name: _error(states[dtype], exact) for name, dtype in STORED_IN.items()}
