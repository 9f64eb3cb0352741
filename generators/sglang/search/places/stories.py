"""A trace over many places as a story: one whole sentence an event, requests as A, B, C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from generators.cases.file_format import Event
from generators.search.worlds.breadth_first import Step
from generators.sglang.search.places.world import ABSENT, PAGE, constants

_DEPTH = constants()["depth"]
_SENTENCES = {
    "serve": "A request of {n} tokens is served; its state is left on the node at {n}.",
    "arrive": "Request {r} arrives with {n} tokens.",
    "arrive_in_session": "Request {r} of a session arrives with {n} tokens.",
    "turn": "A turn of the streaming session, {r}, arrives with {n} tokens in all.",
    "empty_turn": "A turn of the streaming session, {r}, arrives that brings no tokens to the {n} there are.",
    "admit": "{r} is admitted and goes on from {n} tokens.",
    "load": "{r} is admitted; the state at {n} is loaded from the host.",
    "load_refused": "{r} would load a state from the host, the load is turned away, and it goes on from {n} tokens.",
    "pass_over": "{r} is matched and passed over: the storage is asked again.",
    "fetch": "The storage has brought to the host what {r} asked for.",
    "reject": "{r} is matched and not admitted, as memory is short.",
    "launch": "The next batch runs.",
    "evict": "The state of the node at {n} is evicted from the device.",
    "evict_from_host": "The node at {n} is evicted from the host.",
    "turn_ends": "{r} ends.",
    "turn_ends_behind_stop": "{r} ends within the tokens that a verify accepted.",
    "turn_ends_in_verify": "{r} ends while its next verify is in flight.",
    "retract": "{r} is retracted and waits again.",
    "abort": "{r} is aborted; it is released like any request.",
}
_OF_NODES = ("evict", "evict_from_host")
_BOOKED = ("admit", "load", "load_refused")


def events_of(trace: Iterable[Step], requests: int) -> tuple[Event, ...]:
    """The steps of a trace as events; a request keeps its letter until it ends."""
    letters: dict[int, str] = {}
    before, arrived, events = [ABSENT] * requests, 0, []
    for step in trace:
        phases = step.after["request_phase"]
        for place in range(requests):
            if before[place] == ABSENT and phases[place] != ABSENT:
                letters[place] = chr(ord("A") + arrived)
                arrived += 1
                came = place
        before = phases
        tokens, node, request = 0, None, None
        if step.move == "serve":
            tokens = PAGE * (step.picks[1] + 1)
            node = tokens
        elif step.move in _OF_NODES:
            node = PAGE * int(_DEPTH[step.picks[0]])
        elif step.move in ("arrive", "arrive_in_session", "turn", "empty_turn"):
            request, tokens = letters[came], step.after["request_length"][came]
        elif step.picks:
            request = letters[step.picks[0]]
            if step.move in _BOOKED:
                tokens = step.after["request_booked"][step.picks[0]]
        events.append(Event(step.move, tokens, tokens, None, None, node, request))
    return tuple(events)


def story(events: Sequence[Event]) -> list[str]:
    """The events of a trace as sentences."""
    return [
        _SENTENCES[e.event].format(
            r=e.request, n=e.tokens if e.node_depth is None else e.node_depth
        )
        for e in events
    ]
