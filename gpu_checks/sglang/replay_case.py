"""Cases replayed from what their traces leave: each trace served, then all warm runs of a phase in one batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch

from gpu_checks import equal_or_diverges
from gpu_checks.phases import PHASES
from gpu_checks.recurrences import Recurrence, State
from gpu_checks.resume_pairs import WINDOW, Pair, Replayed, Replayer, controls, state_errors
from gpu_checks.sglang.buffer import NotComputed
from gpu_checks.sglang.request import Donation, EngineFault, Life, serve
from spec.sglang.radix_tree import Tree

ALIGNED, ONE_OFF = "aligned-control", "one-token-off-control"


@dataclass(frozen=True)
class CaseToReplay:
    """A case to replay: its name, its request's life, the depths (tokens) that this is predicted to end with."""

    name: str
    life: Life
    pair: Pair


class NotLeft(Exception):
    """A trace does not leave what its case says on the node; says what it leaves."""


def tree_of(life: Life, donated: Iterable[Donation]) -> Tree[Donation]:
    """The tree after these donations of a request; all requests run the same tokens as far as they go."""
    tree = Tree[Donation](life.design, life.c)
    for donation in donated:
        tree.insert(range(donation.node), donation.node, donation.depth, donation)
    return tree


def left_on_the_node(replayer: Replayer, case: CaseToReplay) -> State:
    """The state that a case attaches to its node, as the next request finds it there.

    The donation that the case is about comes to a node without a state.  `NotLeft` where there is none of its depths,
    or where what it holds is not the cold run's state of that depth.
    """
    pair = case.pair
    donated = serve(case.life, replayer.recurrence, replayer.stream)
    tree = tree_of(case.life, (d for d in donated if (d.node, d.depth) == pair))
    given = tree.match(range(pair.node + WINDOW)).payload
    if given is None:
        left = ", ".join(f"state {d.depth} on node {d.node}" for d in donated) or "nothing"
        raise NotLeft(f"its trace leaves {left}, not state {pair.state} on node {pair.node}")
    cold = replayer.cold("decode").states_at([pair.state])
    dtype = replayer.stream.query.dtype
    if not state_errors(given.state, cold).item() <= equal_or_diverges.tolerance(dtype, pair.state):
        raise NotLeft(f"what its trace leaves is not the state of {pair.state} tokens")
    return given.state


@dataclass(frozen=True)
class Outcome:
    """What the cases of one recurrence did: replays by the name of their case, and traces that ended otherwise."""

    replays: list[tuple[str, Replayed]]
    contradicted: dict[str, str]


def replay_cases(
    recurrence: Recurrence,
    cases: Sequence[CaseToReplay],
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> Outcome:
    """Every case in each phase, the controls of the shallowest node beside them."""
    beside = controls(min(case.pair.node for case in cases))
    pairs = [*(case.pair for case in cases), *beside]
    longest = max(case.life.longest for case in cases)
    replayer = Replayer(recurrence, pairs, dtype, device, at_least=longest)
    held: dict[str, tuple[Pair, State]] = {}
    contradicted = {}
    for case in cases:
        try:
            held[case.name] = case.pair, left_on_the_node(replayer, case)
        except (NotLeft, NotComputed, EngineFault) as why:
            contradicted[case.name] = str(why)
    replays = []
    for phase in PHASES:
        if held:
            resumed, states = zip(*held.values(), strict=True)
            together = {part: torch.cat([state[part] for state in states]) for part in states[0]}
            found = replayer.given_states(resumed, together, phase)
            replays += list(zip(held, found, strict=True))
        alone = replayer.own_states(beside, phase)
        replays += list(zip((ALIGNED, ONE_OFF), alone, strict=True))
    return Outcome(replays, contradicted)
