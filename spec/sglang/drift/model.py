"""Requests and the radix tree by differences: tokens that a state has consumed less those it is booked under.

A second method beside the inductive invariant of a request's slots: no depth, length, slot or label occurs here,
only how far each state is from the depth that stands beside it, and nobody writes an invariant down
(`spec.smt.spacer` finds one).  What a reader of the grids does to a difference (`hanging`) is shown of its rules, for all
configurations, by the first method.  All numbers are tokens; the tree page is symbolic.
Source: the rules in `rules/`; SGLang 0.5.23, `mem_cache/unified_radix_cache.py` (insert, match, split, evict).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from spec.numbers import Number, Truth, both, divides, implies
from spec.prove import shown
from spec.sglang.checkpoints import (
    Checkpoint,
    decode_checkpoint,
    extend_checkpoint,
    node_of,
    verify_checkpoint,
)
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.sglang.theorems.library import LIBRARY, having
from spec.theorem import Statement, Theorem
from spec.transition_system import Event, System


class Hanging(IntEnum):
    """How far a reader's checkpoint may be from the depth of its node, the request's own state being true."""

    ON_ITS_NODE = 0
    ON_ITS_NODE_FROM_A_PAGE = 1  # where the extend starts on a whole tree page
    WITHIN_A_PAGE = 2  # 0 to less than a tree page of tokens are replayed
    ANYWHERE = 3


@dataclass(frozen=True)
class Reader:
    """A reader of the grids: its checkpoint for the lengths (tokens) that it is run on."""

    name: str
    lengths: dict[str, int]
    checkpoint: Callable[..., Checkpoint]
    start: str | None = None  # the length it starts at, where a cut of the prompt decides it


READERS = (
    Reader(
        "extend",
        {"prefix": 0, "tokens": 1},
        lambda design, c, prefix, tokens: extend_checkpoint(design, c, prefix, prefix + tokens),
        start="prefix",
    ),
    Reader("decode", {"seq_len": 1}, decode_checkpoint),
    Reader("verify", {"pre": 0, "accepted": 1}, verify_checkpoint),
)


def claim(design: Design, reader: Reader, hanging: Hanging, dcp: bool) -> Theorem:
    """That the reader's checkpoints hang so, with or without DCP, under the start-up guards and from a whole page."""

    def state(design: Design, c: Any, **lengths: Number) -> Statement:
        c = c if dcp else having(c, dcp_size=1)
        checkpoint, page = reader.checkpoint(design, c, **lengths), grids.tree_page(c)
        node = node_of(design, c, checkpoint)
        hypotheses: dict[str, Truth] = {guard.name: guard.accepts(c) for guard in design.guards}
        hypotheses["dcp_is_on_or_off"] = (c.dcp_size > 1) == dcp
        hypotheses["the_model_chunk_is_above_one_token"] = c.mamba_chunk_size > 1
        hypotheses["it_is_hung"] = both(checkpoint.saved, node > 0)
        if reader.start is not None:
            whole = page if hanging is Hanging.ON_ITS_NODE_FROM_A_PAGE else c.page_size
            hypotheses["it_starts_on_a_page"] = divides(whole, lengths[reader.start])
        if hanging is Hanging.WITHIN_A_PAGE:
            return Statement(
                hypotheses, both(node <= checkpoint.state, checkpoint.state < node + page)
            )
        return Statement(hypotheses, checkpoint.state == node)

    where = "under DCP" if dcp else "without DCP"
    way = hanging.name.lower().replace("_", " ")
    name = f"{reader.name} of {design.name} {where}: {way}"
    setting = replace(LIBRARY.setting, right=design)
    return Theorem(name, "differences", name, state, setting, reader.lengths)


def hanging(design: Design, reader: Reader) -> Hanging:
    """The nearest of the ways to hang that is shown of the reader's rules for all configurations."""
    ways = [way for way in Hanging if way is not Hanging.ANYWHERE]
    if reader.start is None:
        ways.remove(Hanging.ON_ITS_NODE_FROM_A_PAGE)
    for way in ways:
        if all(shown(claim(design, reader, way, dcp)) for dcp in (True, False)):
            return way
    return Hanging.ANYWHERE


@dataclass(frozen=True)
class State:
    """One request and one node, whichever: `live`, `kept` and `node` are differences (tokens).

    `page`: tokens of a tree page; `live`: of the request's own state; `offset`: the length that its next extend starts
    at, beyond a whole tree page; `keeps`: whether (1 or 0) it has a checkpoint to donate, `kept`: what the difference
    will be on a node; `known`: whether the node has a state, `node`: its difference.
    """

    page: Number
    live: Number = 0
    offset: Number = 0
    keeps: Number = 0
    kept: Number = 0
    known: Number = 0
    node: Number = 0


def starts(state: State) -> Truth:
    """A new request, and a node without a state."""
    nothing = (state.live, state.offset, state.keeps, state.kept, state.known, state.node)
    return both(state.page >= 1, *(number == 0 for number in nothing))


def a_node_has_the_state_of_another_depth(state: State) -> Truth:
    """What must not be reached."""
    return both(state.known == 1, state.node != 0)


def admit(state: State) -> tuple[Truth, State]:
    """A request comes that the tree knows nothing of: it starts afresh."""
    return True, replace(state, live=0, offset=0, keeps=0, kept=0)


def match(state: State) -> tuple[Truth, State]:
    """A request comes, is given the node and copies its state: booked is the node's depth, a whole tree page."""
    return state.known == 1, replace(state, live=state.node, offset=0, keeps=0, kept=0)


def cut(state: State, offset: Number) -> tuple[Truth, State]:
    """A part of the prompt is computed; the next one starts anywhere in a tree page."""
    return both(0 <= offset, offset < state.page), replace(state, offset=offset)


def donate(state: State) -> tuple[Truth, State]:
    """A result or a finish hangs the checkpoint on its node; the request may go on."""
    return state.keeps == 1, replace(state, known=1, node=state.kept, keeps=0, kept=0)


def lose(state: State) -> tuple[Truth, State]:
    """A checkpoint is forgotten: no slot could be allocated, or no node is as short."""
    return True, replace(state, keeps=0, kept=0)


def evict(state: State) -> tuple[Truth, State]:
    """The node loses its state; so does the upper part of a node that is split, which never had one."""
    return True, replace(state, known=0, node=0)


def overwrite(state: State, tokens: Number) -> tuple[Truth, State]:
    """The slot of a kept checkpoint is written by a later step, and its label stays."""
    return both(state.keeps == 1, tokens >= 1), replace(state, kept=state.kept + tokens)


def checkpoint(way: Hanging) -> Event:
    """A reader saves the request's state; on its node it will replay what the request replays and its own share."""

    def save(state: State, replayed: Number) -> tuple[Truth, State]:
        after = replace(state, keeps=1, kept=state.live + replayed)
        if way is Hanging.ON_ITS_NODE:
            return replayed == 0, after
        if way is Hanging.ANYWHERE:
            return True, after
        within = both(0 <= replayed, replayed < state.page)
        if way is Hanging.WITHIN_A_PAGE:
            return within, after
        return implies(state.offset == 0, replayed == 0), after

    return save


def system(design: Design, slots_hold: bool = True) -> System:
    """The life of requests and nodes under a design; `slots_hold`: no slot is overwritten before it is donated."""
    events: dict[str, Event] = {
        "admit": admit,
        "match": match,
        "cut": cut,
        "donate": donate,
        "lose": lose,
        "evict": evict,
    }
    events |= {reader.name: checkpoint(hanging(design, reader)) for reader in READERS}
    if not slots_hold:
        events["overwrite"] = overwrite
    return System(State, starts, events, a_node_has_the_state_of_another_depth)
