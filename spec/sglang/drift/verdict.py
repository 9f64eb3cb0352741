"""The second method's verdict on a design: whether every node that has a state always has the state of its depth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from spec.engine import SecondMethod
from spec.sglang.drift.model import State, system
from spec.sglang.releases import Design
from spec.smt import spacer
from spec.smt.solver import Limits
from spec.transition_system import Step, System, shortest_trace

CLAIM = "Every node with a state has that state's depth, after any number of requests, matches and evictions."
# Enough for a request that starts where another one ended: its page, its parameters (tokens), its events.
_PAGE, _VALUES, _MOST_EVENTS = 2, range(-1, 3), 6


@dataclass(frozen=True)
class SecondVerdict:
    """`proved`: Spacer found an invariant under every seed; `refuted`: a trace of integers leads to a wrong node.

    `slots_hold`: whether it was assumed that a slot keeps its state until it is donated; `seconds`: Spacer's, of all
    seeds.
    """

    design: str
    slots_hold: bool
    verdict: Literal["proved", "refuted", "unknown"]
    seconds: float
    trace: tuple[Step, ...] = ()

    @property
    def assumes(self) -> str:
        """What was assumed of the slots, in words."""
        kept = "keeps its state until" if self.slots_hold else "may be overwritten before"
        return f"if a slot {kept} it is donated"

    @property
    def facts(self) -> dict[str, Any]:
        """The same for a JSON document."""
        return {"slots_hold": self.slots_hold}


def judge(
    design: Design,
    slots_hold: bool = True,
    limits: Limits = Limits(),
    seeds: Iterable[int] = (0,),
) -> SecondVerdict:
    """Ask Spacer under every seed; a refutation that no short trace of integers repeats counts as `unknown`."""
    model = system(design, slots_hold)
    answers = [spacer.decide(model, replace(limits, seed=seed)) for seed in seeds]
    results, seconds = {a.result for a in answers}, sum(a.seconds for a in answers)
    if results == {"unsat"}:
        return SecondVerdict(design.name, slots_hold, "proved", seconds)
    trace = _harm(model) if results == {"sat"} else None
    if trace is None:
        return SecondVerdict(design.name, slots_hold, "unknown", seconds)
    return SecondVerdict(design.name, slots_hold, "refuted", seconds, tuple(trace))


def _harm(model: System) -> list[Step] | None:
    return shortest_trace(model, State(page=_PAGE), _VALUES, _MOST_EVENTS)


METHOD = SecondMethod("Horn clauses (z3 Spacer)", CLAIM, "slots", judge)
