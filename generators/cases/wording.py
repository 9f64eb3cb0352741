"""How events, depths and outcomes are worded, for every engine; lengths and depths are tokens.

`tokens(count)`: a number of tokens.
`step(event)`: an event in a few words; `trace(events)`: the events of a case in one line.
`clause(event, begin)`: an event as a clause with a subject and a verb, for a walk through a case.
`written(slot, depth)`, `inserted(slot, label, state)`: what happens to a slot, as a clause.
`mismatch(state, node)`: a state under the prefix of another length, and what the next request that hits it does.
`outcome(case)`: what a case ends with, as a clause; `consequence(case)`: the same in a few words, for a table.

An event that is not known here is worded by its own name, so that an engine may bring further ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generators.cases.file_format import Case, Event

_STEPS = {
    "extend": "prefill",
    "other_batch": "another request's batch runs in between",
    "mixed_batch": "decode steps and prompt tokens share the next batch",
    "result": "process the verify's result,",
    "match": "cache hit",
    "split": "split a node",
    "evict": "evict a state",
    "allocation_failure": "no second slot can be allocated",
}
# Events whose `tokens` say nothing that their node does not.
_ON_A_NODE = ("finish", "match", "split", "evict")


def tokens(count: int | None) -> str:
    """A number of tokens in words; a dash where there is none."""
    if count is None:
        return "-"
    return f"{count} token{'' if abs(count) == 1 else 's'}"


def _are(count: int) -> str:
    return f"{tokens(count)} {'is' if count == 1 else 'are'}"


def _name(event: Event) -> str:
    return event.event.replace("_", " ")


def step(event: Event) -> str:
    """An event in a few words, such as `decode 513 tokens (length 1024, snapshot taken)`."""
    text = _STEPS.get(event.event, _name(event))
    notes = []
    if event.tokens and event.event not in _ON_A_NODE:
        text += f" {tokens(event.tokens)}"
        notes += [f"length {event.seq_len}"] if event.seq_len != event.tokens else []
    if event.snapshot_depth is not None:
        at_the_end = event.snapshot_depth == event.seq_len
        notes.append("snapshot taken" if at_the_end else f"snapshot at {event.snapshot_depth}")
    text += f" ({', '.join(notes)})" if notes else ""
    if event.node_depth is not None:
        verb = "inserted at" if event.event == "finish" else "at"
        text += f": {verb} node {event.node_depth}"
    return text


def trace(events: Iterable[Event]) -> str:
    """The events of a case in one line."""
    return "; ".join(map(step, events))


def clause(event: Event, begin: int, most_accepted: int | None = None) -> str:
    """What an event does, as a clause with a subject and a verb.

    `begin`: the length before it; `most_accepted`: the most tokens that one verify accepts, None: not known.
    """
    ahead = begin - event.seq_len
    if event.event == "verify" and most_accepted and event.tokens > most_accepted:
        return f"verify steps of at most {most_accepted} accept {tokens(event.tokens)}"
    clauses = {
        "extend": f"{_are(event.tokens)} prefilled",
        "decode": f"{_are(event.tokens)} decoded, one a step",
        "verify": f"a verify step accepts {tokens(event.tokens)}",
        "other_batch": "another request's batch runs in between",
        "mixed_batch": "the next batch holds decode steps and a piece of a prompt",
        "result": "the result of a verify step is processed; "
        f"{_are(event.tokens)} kept, as the request ends",
        "finish": "the request finishes"
        + (f" while {_are(ahead)} launched beyond its end" if ahead > 0 else ""),
        "match": "the next request hits a cached prefix",
        "split": "a node of the radix tree is split",
        "evict": "the state of a node of the radix tree is evicted",
        "allocation_failure": "no second slot can be allocated",
    }
    return clauses.get(event.event, _name(event))


def written(slot: int | None, depth: int) -> str:
    """A state that is written, as a clause."""
    where = "" if slot is None else f" to slot {slot}"
    return f"the state after {tokens(depth)} is written{where}"


def inserted(slot: int, label: int, state: int | None) -> str:
    """A slot that is inserted into the radix tree under a depth, as a clause; `state`: what it holds, if anything."""
    holds = "was never written" if state is None else f"holds the state after {tokens(state)}"
    return f"slot {slot} is inserted with label {label}; it {holds}"


def _between(shorter: int, longer: int) -> str:
    one = longer - shorter == 1
    return f"token {longer}" if one else f"tokens {shorter + 1} to {longer}"


def mismatch(state: int | None, node: int) -> str:
    """A state (None: memory that was never written) under a prefix of another length, as a clause."""
    if state is None:
        return (
            f"a slot that was never written is cached under the {node}-token prefix; the next request that hits "
            "it starts from whatever that memory holds"
        )
    cached = f"the state after {tokens(state)} is cached under the {node}-token prefix"
    if state == node:
        return cached
    does = f"replays {_between(node, state)}" if state > node else f"skips {_between(state, node)}"
    return f"{cached}; the next request that hits it {does}"


def outcome(case: Case) -> str:
    """What a case ends with, as a clause about what the next request gets."""
    node = case.depths["node"]
    if case.outcome == "fault":
        return f"an assertion in the engine fails when the request has {tokens(case.trace[-1].seq_len)}"
    if case.outcome == "stuck":
        return "the request is scheduled again and again without a token"
    return consequence(case) if node is None else mismatch(case.depths["state"], node)


def consequence(case: Case) -> str:
    """What a case does, in a few words."""
    state, node = case.depths["state"], case.depths["node"]
    if case.outcome == "right":
        return f"guard {case.klass['guard']} refuses it, although every checkpoint would be right"
    if case.outcome == "lost":
        return f"nothing within {tokens(case.klass['context_length'])} can be reused"
    if case.outcome == "fault":
        return f"engine assertion at {tokens(case.trace[-1].seq_len)}"
    if case.outcome == "stuck":
        return "scheduled again and again without a token"
    if state is None or node is None:
        return f"unwritten state at node {node}"
    count = f": {tokens(abs(state - node))} {'replayed' if state > node else 'skipped'}"
    return f"state after {tokens(state)} at node {node}{count if state != node else ''}"
