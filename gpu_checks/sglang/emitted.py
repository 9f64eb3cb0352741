"""What the emitted replay tests call: a case as they spell it, replayed on its own design or followed on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpu_checks.recurrences import RECURRENCES
from gpu_checks.resume_pairs import Pair
from gpu_checks.sglang.replay_case import CaseToReplay, Outcome, replay_cases, tree_of
from gpu_checks.sglang.request import Life, serve
from spec.sglang.configuration import Configuration
from spec.sglang.releases import design_named


class Step(NamedTuple):
    """An event of a trace: `tokens` it adds, `seq_len` after it, both in tokens."""

    event: str
    tokens: int
    seq_len: int


@dataclass(frozen=True)
class Case:
    """A case: the design it breaks, its events, and the depths (tokens) it is predicted to end with (None for a fault).

    `grammar` and `pending`: see `Life`; `repaired`: whether a next request of the same events is predicted to be given a
    right state, or none, with the proposed repairs.
    """

    id: str
    design: str
    configuration: Configuration
    events: tuple[Step, ...]
    node: int | None
    state: int | None
    grammar: bool = False
    pending: bool = False
    repaired: bool = True

    def life(self, design: str) -> Life:
        """Its events on a design."""
        return Life(
            design_named(design), self.configuration, self.events, self.grammar, self.pending
        )


def runs(cases: list[Case]) -> list[tuple[Case, str]]:
    """Every case with each recurrence it is replayed on."""
    return [(case, name) for case in cases for name in case.configuration.stateful_layers]


def names(cases: list[Case]) -> list[str]:
    """The ids of these runs."""
    return [f"{case.id}-{name}" for case, name in runs(cases)]


def replayed(case: Case, recurrence: str, device: str) -> Outcome:
    """A case on its own design, and the controls beside it."""
    if case.node is None or case.state is None:
        raise ValueError(f"{case.id} ends with an assertion: nothing is left to resume")
    one = CaseToReplay(case.id, case.life(case.design), Pair(case.node, case.state))
    return replay_cases(RECURRENCES[recurrence], [one], device=device)


def followed(case: Case, recurrence: str, design: str, device: str) -> Outcome | None:
    """A next request of the same events on a design, from what its tree gives; None where it gives nothing.

    Raises `EngineFault` where an assertion of the design stops the request.
    """
    chosen, life = RECURRENCES[recurrence], case.life(design)
    donated = serve(life, chosen, chosen.stream(life.longest, device=device))
    given = tree_of(life, donated).match(range(life.longest)).payload
    if given is None:
        return None
    one = CaseToReplay(case.id, life, Pair(given.node, given.depth))
    return replay_cases(chosen, [one], device=device)


def surprises(outcome: Outcome) -> list[str]:
    """What was not as predicted, in words."""
    said = [f"{name}: {why}" for name, why in outcome.contradicted.items()]
    return said + [
        f"{name} in {one.phase}: predicted {one.predicted}, observed {one.observed} "
        f"(state {one.state_error:.1e}, outputs {one.output_error:.1e}, tolerance {one.tolerance:.1e})"
        for name, one in outcome.replays
        if not one.as_predicted
    ]


def verdicts(case: Case, outcome: Outcome) -> dict[str, str]:
    """What the case itself showed, by phase."""
    return {one.phase: one.observed for name, one in outcome.replays if name == case.id}
