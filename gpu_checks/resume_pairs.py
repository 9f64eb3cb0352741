"""Warm runs from many states at once: what a resume does depends on two depths alone, the node's and the state's.

One cold run keeps the states at every depth that is needed.  A resume that must be the cold run bit by bit makes its
very calls, on tensors of the same shapes; all others, which a tolerance judges, are run many at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gpu_checks import equal_or_diverges
from gpu_checks.cold_run import ColdRun
from gpu_checks.phases import PHASES, Phase
from gpu_checks.recurrences import Recurrence, State

WINDOW = 64  # tokens after the resume that are compared
MOST_AT_ONCE = 128  # pairs in a batch: it bounds the memory, and more are slower on a CPU


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
        return equal_or_diverges.predicted(self.pair.node, self.pair.state)

    @property
    def observed(self) -> str:
        """What the numbers show."""
        return equal_or_diverges.observed(
            self.state_error, self.output_error, self.tolerance, self.same_operations
        )

    @property
    def as_predicted(self) -> bool:
        """Whether the numbers show what the model predicts."""
        return self.observed == self.predicted


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


def depths_needed(pairs: Iterable[Pair]) -> set[int]:
    """Depths (tokens) whose cold states a replay of these pairs reads."""
    return {depth for pair in pairs for depth in (pair.node, pair.state, pair.node + WINDOW)}


def same_operations(phase: Phase, pair: Pair, device: torch.device) -> bool:
    """Whether a resume, run alone, repeats calls of the cold run on the same numbers; asked for on a CPU only.

    It does from the node's own state, where the node is on the grid on which the phase takes its tokens.
    """
    return device.type == "cpu" and pair.node == pair.state and pair.node % phase.grid == 0


class Replayer:
    """Replays on one recurrence: one stream, one cold run a phase (decode and verify share theirs)."""

    def __init__(
        self,
        recurrence: Recurrence,
        pairs: Iterable[Pair],
        dtype: torch.dtype = torch.float64,
        device: str = "cpu",
        at_least: int = 0,
    ):
        """`pairs`: all that will be replayed; node depths at least 1, state depths at least 0 (tokens).

        `at_least`: tokens that the stream has at least, for whoever else runs on it.
        """
        self._depths = depths_needed(pairs)
        self._cold: dict[object, ColdRun] = {}
        self.recurrence = recurrence
        length = max(*self._depths, at_least)
        self.stream = recurrence.stream(length, dtype=dtype, device=device)

    def cold(self, phase: str) -> ColdRun:
        """The uninterrupted run that a phase is held against."""
        run = PHASES[phase].cold
        if run not in self._cold:
            tokens = self.stream.span(0, max(self._depths))
            self._cold[run] = run(self.recurrence, tokens, self._depths)
        return self._cold[run]

    def own_states(self, pairs: Sequence[Pair], phase: str) -> list[Replayed]:
        """Resume each pair from the state that the phase's own cold run had at its depth."""
        cold = self.cold(phase)
        found: dict[Pair, Replayed] = {}
        for batch, repeats in self._batches(pairs, phase):
            held = cold.states_at([pair.state for pair in batch])
            found.update(zip(batch, self._resumed(batch, held, phase, repeats), strict=True))
        return [found[pair] for pair in pairs]

    def _batches(self, pairs: Sequence[Pair], phase: str) -> Iterator[tuple[Sequence[Pair], bool]]:
        """What is resumed at once, and whether it repeats the cold run: such a pair is alone, as the cold run was."""
        device, others = self.stream.query.device, []
        for pair in pairs:
            if same_operations(PHASES[phase], pair, device):
                yield [pair], True
            else:
                others.append(pair)
        for start in range(0, len(others), MOST_AT_ONCE):
            yield others[start : start + MOST_AT_ONCE], False

    def given_states(self, pairs: Sequence[Pair], held: State, phase: str) -> list[Replayed]:
        """Resume each pair from a state that came by another way; `held` has one for each pair, [n, ...] a part."""
        return self._resumed(pairs, held, phase, repeats=False)

    def _resumed(
        self, pairs: Sequence[Pair], held: State, phase: str, repeats: bool
    ) -> list[Replayed]:
        cold, device = self.cold(phase), self.stream.query.device
        starts = torch.tensor([pair.node for pair in pairs], device=device)
        windows = self.stream.windows(starts, WINDOW)
        after, outputs = PHASES[phase].run(self.recurrence, held, windows)
        states = torch.maximum(
            state_errors(held, cold.states_at([pair.node for pair in pairs])),
            state_errors(after, cold.states_at([pair.node + WINDOW for pair in pairs])),
        )
        found = output_errors(outputs, cold.windows(starts, WINDOW))
        return [
            Replayed(
                pair,
                phase,
                state,
                output,
                equal_or_diverges.tolerance(self.stream.query.dtype, pair.node + WINDOW),
                repeats,
            )
            for pair, state, output in zip(pairs, states.tolist(), found.tolist(), strict=True)
        ]


def replay(
    recurrence: Recurrence,
    pairs: Iterable[Pair],
    phases: Sequence[str] = tuple(PHASES),
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> list[Replayed]:
    """Every different pair once in each phase; see `Replayer`."""
    distinct = sorted(set(pairs))
    replayer = Replayer(recurrence, distinct, dtype, device)
    return [one for phase in phases for one in replayer.own_states(distinct, phase)]
