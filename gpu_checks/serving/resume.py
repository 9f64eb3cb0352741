"""Cases replayed from what their traces leave: each trace served, then all warm runs of a phase in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gpu_checks import verdicts
from gpu_checks.names import PHASES
from gpu_checks.pairs import WINDOW, Pair, Replayed, Replayer, controls, state_errors
from gpu_checks.recurrences import Recurrence, State
from gpu_checks.recurrences.tokens import Shape
from gpu_checks.serving.buffer import NotComputed
from gpu_checks.serving.request import Donation, EngineFault
from gpu_checks.serving.trace import BadTrace, Event, going_on, serve
from gpu_checks.serving.tree import Tree
from spec.sglang.designs import Design

ALIGNED, ONE_OFF = "aligned-control", "one-token-off-control"
MORE_VERIFIES = 2


@dataclass(frozen=True)
class Told:
    """A case to replay: its name, a design and a configuration, the events, the depths they are said to end with.

    `pending`: decode inputs wait for a flush, so that a snapshot may miss some.
    """

    name: str
    design: Design
    c: Any
    events: Sequence[Event]
    pair: Pair
    pending: bool = False


class NotLeft(Exception):
    """A trace does not leave what its case says on the node; says what it leaves."""


def _donated(replayer: Replayer, told: Told, events: Sequence[Event]) -> list[Donation]:
    return serve(
        told.design,
        told.c,
        replayer.recurrence,
        replayer.stream,
        events,
        pending=told.pending,
    )


def left_on_the_node(replayer: Replayer, told: Told, events: Sequence[Event]) -> State:
    """The state that these events hang on the node of a case, as a follower finds it there.

    The donation that the case is about comes to a node without a state.  `NotLeft` where there is none of its depths,
    or where what it holds is not the cold run's state of that depth.
    """
    pair, donated = told.pair, _donated(replayer, told, events)
    tree = Tree(told.c)
    for donation in donated:
        if (donation.node, donation.depth) == pair:
            tree.insert(donation)
    node, state = tree.match(pair.node + WINDOW)
    if node != pair.node or state is None:
        left = ", ".join(f"state {d.depth} on node {d.node}" for d in donated) or "nothing"
        raise NotLeft(f"its trace leaves {left}, not state {pair.state} on node {pair.node}")
    cold = replayer.cold("decode").states_at([pair.state])
    dtype = replayer.stream.query.dtype
    if not state_errors(state, cold).item() <= verdicts.tolerance(dtype, pair.state):
        raise NotLeft(f"what its trace leaves is not the state of {pair.state} tokens")
    return state


def _verifies_to_the_end(events: Sequence[Event]) -> bool:
    return [event.event for event in events[-2:]] == ["verify", "finish"]


def _left(replayer: Replayer, told: Told) -> tuple[State, bool]:
    """What a case leaves, and whether its request had to go on for that.

    A case that the grids alone decide does not know that a lazy request which ends with the very verify that saved a
    state gives it up; two verifies later the state is donated.
    """
    try:
        return left_on_the_node(replayer, told, told.events), False
    except NotLeft as at_its_end:
        if not _verifies_to_the_end(told.events):
            raise
        try:
            return left_on_the_node(replayer, told, going_on(told.events, MORE_VERIFIES)), True
        except NotLeft:
            raise at_its_end from None


@dataclass(frozen=True)
class Outcome:
    """What the cases of one recurrence did: replays by the name of their case, and traces that ended otherwise.

    `went_on`: cases whose request had to go on for `MORE_VERIFIES` before it donated what they say.
    """

    replays: list[tuple[str, Replayed]]
    contradicted: dict[str, str]
    went_on: tuple[str, ...] = ()


def replay_cases(
    recurrence: Recurrence,
    cases: Sequence[Told],
    shape: Shape = Shape(),
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> Outcome:
    """Every case in each phase, the controls of the shallowest node beside them."""
    beside = controls(min(told.pair.node for told in cases))
    pairs = [*(told.pair for told in cases), *beside]
    # One more than a trace has, for the step in flight when the request ends.
    longest = max(event.seq_len for told in cases for event in told.events)
    tokens = longest + MORE_VERIFIES + 1
    replayer = Replayer(recurrence, pairs, shape, dtype, device, at_least=tokens)
    held: dict[str, tuple[Pair, State]] = {}
    contradicted, went_on = {}, []
    for told in cases:
        try:
            state, later = _left(replayer, told)
            held[told.name] = told.pair, state
            went_on += [told.name] if later else []
        except (NotLeft, NotComputed, BadTrace, EngineFault) as why:
            contradicted[told.name] = str(why)
    replays = []
    for phase in PHASES:
        if held:
            resumed, states = zip(*held.values(), strict=True)
            together = {part: torch.cat([state[part] for state in states]) for part in states[0]}
            found = replayer.given_states(resumed, together, phase)
            replays += list(zip(held, found, strict=True))
        alone = replayer.own_states(beside, phase)
        replays += list(zip((ALIGNED, ONE_OFF), alone, strict=True))
    return Outcome(replays, contradicted, tuple(went_on))
