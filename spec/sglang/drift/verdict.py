"""The second method's verdict on a design: does every node with a state have that state's depth, for ever?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

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
    """`proved` where Spacer found an invariant under every seed, `refuted` where integers follow it to harm.

    `slots_hold`: whether a slot was taken to keep its state until it is donated; `seconds`: Spacer's, of all seeds.
    """

    design: str
    slots_hold: bool
    verdict: Literal["proved", "refuted", "unknown"]
    seconds: float
    trace: tuple[Step, ...] = ()


def judge(
    design: Design,
    slots_hold: bool = True,
    limits: Limits = Limits(),
    seeds: Iterable[int] = (0,),
) -> SecondVerdict:
    """Ask for every seed; harm that no short trace of integers leads to counts as unknown."""
    life = system(design, slots_hold)
    answers = [spacer.decide(life, replace(limits, seed=seed)) for seed in seeds]
    said, seconds = {a.result for a in answers}, sum(a.seconds for a in answers)
    if said == {"unsat"}:
        return SecondVerdict(design.name, slots_hold, "proved", seconds)
    trace = _harm(life) if said == {"sat"} else None
    if trace is None:
        return SecondVerdict(design.name, slots_hold, "unknown", seconds)
    return SecondVerdict(design.name, slots_hold, "refuted", seconds, tuple(trace))


def _harm(life: System) -> list[Step] | None:
    return shortest_trace(life, State(page=_PAGE), _VALUES, _MOST_EVENTS)
