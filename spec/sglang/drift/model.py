"""Requests and the radix tree by *drift*: the tokens that a state has consumed, less those it is stored under.

A second method beside the inductive invariant of a request's slots.  No depth, length, slot or label occurs here, only
the drift of each state, and nobody writes an invariant down: `spec.smt.spacer` finds one.  How much drift each producer
of checkpoints adds (`gap`) is proved from its rules, for all configurations, by the first method.  All numbers are
tokens; the tree page is symbolic.
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


class Gap(IntEnum):
    """The worst gap between a producer's checkpoint and its node, if the request started from a correct state."""

    NONE = 0
    NONE_FROM_A_TREE_PAGE = 1  # where the extend starts on a whole tree page
    WITHIN_A_PAGE = 2  # 0 to less than a tree page of tokens are replayed
    ANY = 3


@dataclass(frozen=True)
class Producer:
    """What writes checkpoints: its checkpoint for the lengths (tokens) that it is run on."""

    name: str
    lengths: dict[str, int]
    checkpoint: Callable[..., Checkpoint]
    start: str | None = None  # the length it starts at, where a cut of the prompt decides it


PRODUCERS = (
    Producer(
        "extend",
        {"prefix": 0, "tokens": 1},
        lambda design, c, prefix, tokens: extend_checkpoint(design, c, prefix, prefix + tokens),
        start="prefix",
    ),
    Producer("decode", {"seq_len": 1}, decode_checkpoint),
    Producer("verify", {"pre": 0, "accepted": 1}, verify_checkpoint),
)


def claim(design: Design, producer: Producer, gap: Gap, dcp: bool) -> Theorem:
    """That a producer's checkpoints have no worse gap, with or without DCP, under the start-up guards."""

    def state(design: Design, c: Any, **lengths: Number) -> Statement:
        c = c if dcp else having(c, dcp_size=1)
        checkpoint, page = producer.checkpoint(design, c, **lengths), grids.tree_page(c)
        node = node_of(design, c, checkpoint)
        hypotheses: dict[str, Truth] = {guard.name: guard.accepts(c) for guard in design.guards}
        hypotheses["dcp_is_on_or_off"] = (c.dcp_size > 1) == dcp
        hypotheses["the_model_chunk_is_above_one_token"] = c.mamba_chunk_size > 1
        hypotheses["it_is_inserted"] = both(checkpoint.saved, node > 0)
        if producer.start is not None:
            whole = page if gap is Gap.NONE_FROM_A_TREE_PAGE else c.page_size
            hypotheses["it_starts_on_a_page"] = divides(whole, lengths[producer.start])
        if gap is Gap.WITHIN_A_PAGE:
            return Statement(
                hypotheses, both(node <= checkpoint.state, checkpoint.state < node + page)
            )
        return Statement(hypotheses, checkpoint.state == node)

    where = "under DCP" if dcp else "without DCP"
    name = f"{producer.name} of {design.name} {where}: gap {gap.name.lower().replace('_', ' ')}"
    setting = replace(LIBRARY.setting, right=design)
    return Theorem(name, "drift", name, state, setting, producer.lengths)


def gap(design: Design, producer: Producer) -> Gap:
    """The smallest worst gap that is proved from the producer's rules for all configurations."""
    gaps = [one for one in Gap if one is not Gap.ANY]
    if producer.start is None:
        gaps.remove(Gap.NONE_FROM_A_TREE_PAGE)
    for one in gaps:
        if all(shown(claim(design, producer, one, dcp)) for dcp in (True, False)):
            return one
    return Gap.ANY


@dataclass(frozen=True)
class State:
    """Any one request and any one node: `live`, `kept` and `node` are drifts (tokens).

    `page`: tokens of a tree page; `live`: drift of the request's own state; `offset`: the length that its next extend
    starts at, beyond a whole tree page; `keeps`: whether (1 or 0) it has a checkpoint to donate, `kept`: the drift that
    this will have on a node; `known`: whether (1 or 0) the node has a state, `node`: its drift.
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
    """A request arrives that matches nothing in the tree: it starts from an empty state."""
    return True, replace(state, live=0, offset=0, keeps=0, kept=0)


def match(state: State) -> tuple[Truth, State]:
    """A request arrives, matches the node and copies its state; it counts from the node's depth, a whole tree page."""
    return state.known == 1, replace(state, live=state.node, offset=0, keeps=0, kept=0)


def cut(state: State, offset: Number) -> tuple[Truth, State]:
    """A chunk of the prompt is computed; the next chunk starts anywhere in a tree page."""
    return both(0 <= offset, offset < state.page), replace(state, offset=offset)


def donate(state: State) -> tuple[Truth, State]:
    """A result or a finish inserts the checkpoint at its node; the request may go on."""
    return state.keeps == 1, replace(state, known=1, node=state.kept, keeps=0, kept=0)


def lose(state: State) -> tuple[Truth, State]:
    """A checkpoint is dropped: no slot could be allocated, or no node is as short."""
    return True, replace(state, keeps=0, kept=0)


def evict(state: State) -> tuple[Truth, State]:
    """The node loses its state; so does the upper part of a node that is split, which never had one."""
    return True, replace(state, known=0, node=0)


def overwrite(state: State, tokens: Number) -> tuple[Truth, State]:
    """A later step writes the slot of a kept checkpoint, whose label stays."""
    return both(state.keeps == 1, tokens >= 1), replace(state, kept=state.kept + tokens)


def checkpoint(worst: Gap) -> Event:
    """A producer saves the request's state: on its node it has the request's drift and what the producer adds."""

    def save(state: State, replayed: Number) -> tuple[Truth, State]:
        after = replace(state, keeps=1, kept=state.live + replayed)
        if worst is Gap.NONE:
            return replayed == 0, after
        if worst is Gap.ANY:
            return True, after
        within = both(0 <= replayed, replayed < state.page)
        if worst is Gap.WITHIN_A_PAGE:
            return within, after
        return implies(state.offset == 0, replayed == 0), after

    return save


def system(design: Design, slots_hold: bool = True) -> System:
    """What can happen to requests and nodes under a design; `slots_hold`: no slot is overwritten before it is donated."""
    events: dict[str, Event] = {
        "admit": admit,
        "match": match,
        "cut": cut,
        "donate": donate,
        "lose": lose,
        "evict": evict,
    }
    events |= {p.name: checkpoint(gap(design, p)) for p in PRODUCERS}
    if not slots_hold:
        events["overwrite"] = overwrite
    return System(State, starts, events, a_node_has_the_state_of_another_depth)
