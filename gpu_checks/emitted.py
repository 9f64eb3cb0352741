"""What the emitted replay tests call: a case as they spell it, replayed on its own design or followed on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from gpu_checks.names import RECURRENCES as NAMES
from gpu_checks.pairs import Pair
from gpu_checks.recurrences import RECURRENCES
from gpu_checks.serving.request import Donation
from gpu_checks.serving.resume import Outcome, Told, replay_cases
from gpu_checks.serving.trace import serve
from gpu_checks.serving.tree import Tree
from spec.sglang.configuration import Configuration
from spec.sglang.designs import CURRENT, design_named

# The newest release with what gridproof proposes for it.
REPAIRED = f"{CURRENT.name}+insert-guard+completed-swap"


class Step(NamedTuple):
    """An event of a trace: `tokens` it adds, `seq_len` after it, both in tokens."""

    event: str
    tokens: int
    seq_len: int


@dataclass(frozen=True)
class Case:
    """A case: the design it breaks, its events, and the depths (tokens) it is said to end with (None for a fault)."""

    id: str
    design: str
    configuration: Configuration
    events: tuple[Step, ...]
    node: int | None
    state: int | None
    pending: bool = False

    @property
    def recurrences(self) -> tuple[str, ...]:
        """What it is replayed on: its own recurrence, or all."""
        own = self.configuration.recurrence
        return NAMES if own is None else (own,)


def runs(cases: list[Case]) -> list[tuple[Case, str]]:
    """Every case with each recurrence it is replayed on."""
    return [(case, name) for case in cases for name in case.recurrences]


def names(cases: list[Case]) -> list[str]:
    """The ids of these runs."""
    return [f"{case.id}-{name}" for case, name in runs(cases)]


def _donated(case: Case, recurrence: str, design: str, device: str) -> list[Donation]:
    chosen = RECURRENCES[recurrence]
    tokens = max(step.seq_len for step in case.events) + 1
    stream = chosen.stream(tokens, dtype=torch.float64, device=device)
    return serve(
        design_named(design), case.configuration, chosen, stream, case.events, pending=case.pending
    )


def _outcome(case: Case, recurrence: str, design: str, pair: Pair, device: str) -> Outcome:
    told = Told(case.id, design_named(design), case.configuration, case.events, pair, case.pending)
    return replay_cases(RECURRENCES[recurrence], [told], device=device)


def replayed(case: Case, recurrence: str, device: str) -> Outcome:
    """A case on its own design, and the controls beside it; raises `EngineFault` where an assertion stops it."""
    if case.node is None or case.state is None:
        _donated(case, recurrence, case.design, device)
        raise AssertionError(f"no assertion stopped {case.id}")
    return _outcome(case, recurrence, case.design, Pair(case.node, case.state), device)


def followed(case: Case, recurrence: str, design: str, device: str) -> Outcome | None:
    """A follower of the same events on another design, from what its tree gives; None where it gives nothing."""
    tree, depths = Tree(case.configuration), dict[int, int]()
    for donation in _donated(case, recurrence, design, device):
        tree.insert(donation)
        depths.setdefault(donation.node, donation.depth)
    node, state = tree.match(case.events[-1].seq_len + 1)
    if state is None:
        return None
    return _outcome(case, recurrence, design, Pair(node, depths[node]), device)


def surprises(outcome: Outcome) -> list[str]:
    """What was not as predicted, in words."""
    said = [f"{name}: {why}" for name, why in outcome.contradicted.items()]
    return said + [
        f"{name} in {one.phase}: predicted {one.predicted}, observed {one.observed} "
        f"(state {one.state_error:.1e}, outputs {one.output_error:.1e}, tolerance {one.tolerance:.1e})"
        for name, one in outcome.replays
        if one.observed != one.predicted
    ]


def verdicts(case: Case, outcome: Outcome) -> dict[str, str]:
    """What the case itself showed, by phase."""
    return {one.phase: one.observed for name, one in outcome.replays if name == case.id}
