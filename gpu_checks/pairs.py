"""Warm runs from many states at once: what a resume does depends on two depths alone, the node's and the state's.

One cold run keeps the states at every depth that is needed; all warm runs are one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gpu_checks import verdicts
from gpu_checks.cold import COLD_RUNS, ColdRun
from gpu_checks.phases import PHASES, Phase
from gpu_checks.recurrences import Recurrence, State, Tokens
from gpu_checks.recurrences.tokens import Shape

WINDOW = 64  # tokens after the resume that are compared
MOST_AT_ONCE = 512  # pairs in a batch, which bounds the memory


class Pair(NamedTuple):
    """A state that has consumed `state` tokens on the node of depth `node`, both in tokens."""

    node: int
    state: int


@dataclass(frozen=True)
class Replayed:
    """What one warm run did against the cold one: relative errors, and how they are to be read.

    `state_error` is the largest over layers and parts of the state, at the resume and `WINDOW` tokens later.
    """

    pair: Pair
    phase: str
    state_error: float
    output_error: float
    tolerance: float
    same_operations: bool

    @property
    def predicted(self) -> str:
        """What the model predicts."""
        return verdicts.predicted(self.pair.node, self.pair.state)

    @property
    def observed(self) -> str:
        """What the numbers show."""
        return verdicts.observed(
            self.state_error, self.output_error, self.tolerance, self.same_operations
        )


def controls(node: int) -> tuple[Pair, Pair]:
    """What stands beside a family: the state of the node itself, and one that is a single token off."""
    return Pair(node, node), Pair(node, node + 1)


def state_errors(found: State, wanted: State) -> Tensor:
    """For each of a batch the largest relative error over layers and parts, heads taken together: [n]."""
    errors = [
        torch.linalg.vector_norm(found[part] - wanted[part], dim=(2, 3, 4))
        / torch.linalg.vector_norm(wanted[part], dim=(2, 3, 4))
        for part in wanted
    ]
    return _finite(torch.cat(errors, 1).amax(1))


def output_errors(found: Tensor, wanted: Tensor) -> Tensor:
    """For each of a batch the largest difference relative to the largest output wanted: [n]."""
    return _finite((found - wanted).abs().flatten(1).amax(1) / wanted.abs().flatten(1).amax(1))


def _finite(errors: Tensor) -> Tensor:
    """Errors without NaN, which counts as the largest number there is."""
    most = torch.finfo(errors.dtype).max
    return errors.nan_to_num(nan=most, posinf=most)


def _batches(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    for start in range(0, len(pairs), MOST_AT_ONCE):
        yield pairs[start : start + MOST_AT_ONCE]


def depths_needed(pairs: Iterable[Pair]) -> set[int]:
    """Depths (tokens) whose cold states a replay of these pairs reads."""
    return {depth for pair in pairs for depth in (pair.node, pair.state, pair.node + WINDOW)}


def same_operations(phase: Phase, pair: Pair, device: torch.device) -> bool:
    """Whether a resume of the node repeats the cold run's operations bit by bit; shown on a CPU only."""
    return device.type == "cpu" and pair.node % phase.grid == 0


def warm_runs(
    recurrence: Recurrence,
    phase: Phase,
    stream: Tokens,
    cold: ColdRun,
    pairs: Sequence[Pair],
) -> list[Replayed]:
    """Resume every pair in one batch and hold it against the cold run."""
    device = stream.query.device
    starts = torch.tensor([pair.node for pair in pairs], device=device)
    held = cold.states_at([pair.state for pair in pairs])
    after, outputs = phase.run(recurrence, held, stream.windows(starts, WINDOW))
    states = torch.maximum(
        state_errors(held, cold.states_at([pair.node for pair in pairs])),
        state_errors(after, cold.states_at([pair.node + WINDOW for pair in pairs])),
    )
    found = zip(
        pairs,
        states.tolist(),
        output_errors(outputs, cold.windows(starts, WINDOW)).tolist(),
        strict=True,
    )
    dtype = stream.query.dtype
    return [
        Replayed(
            pair,
            phase.name,
            state,
            output,
            verdicts.tolerance(dtype, pair.node + WINDOW),
            same_operations(phase, pair, device),
        )
        for pair, state, output in found
    ]


def replay(
    recurrence: Recurrence,
    pairs: Iterable[Pair],
    phases: Sequence[str] = tuple(PHASES),
    shape: Shape = Shape(),
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> list[Replayed]:
    """Every different pair once in each phase; node depths at least 1, state depths at least 0 (tokens)."""
    distinct = sorted(set(pairs))
    depths = depths_needed(distinct)
    stream = recurrence.stream(max(depths, default=0), shape, dtype=dtype, device=device)
    found: list[Replayed] = []
    runs: dict[object, ColdRun] = {}  # decode and verify share theirs
    for name in phases if distinct else ():
        cold_run = COLD_RUNS[name]
        if cold_run not in runs:
            runs[cold_run] = cold_run(recurrence, stream, depths)
        for batch in _batches(distinct):
            found += warm_runs(recurrence, PHASES[name], stream, runs[cold_run], batch)
    return found
