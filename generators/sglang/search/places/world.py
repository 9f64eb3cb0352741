"""The places of a world and what they hold: texts as numbers, nodes as claims.

A state is the text it has consumed.  Keys share their first page; a text is the number of a prefix of a key, BAD any
other string.  A node is a claim: a depth in pages of a key, one for all keys that share it.
"""

from __future__ import annotations

import numpy

from generators.search.worlds.layout import MENTIONED, SORTED, Field, Layout
from spec.numbers import Number, choose

PAGE = 2  # tokens; the checkpoint grid as well
PAGES = 4  # of a key, in nodes
LONGEST = PAGE * PAGES + 4  # tokens that a state can have consumed
KEYS = 2
NODES = 1 + KEYS * (PAGES - 1)
BAD, NOTHING = -1, -2
ABSENT, WAITING, READY, RUNNING = range(4)
PLAIN, IN_SESSION, TURN = range(3)

FIELDS = (
    Field("history_served", "history"),
    Field("history_arrived", "history"),
    Field("history_harm", "history"),
    Field("node_slot", "node", -1, refers="slot"),
    Field("node_host", "node", NOTHING),
    Field("node_kv_device", "node"),
    Field("node_kv_host", "node"),
    Field("node_pin", "node", -1),
    Field("node_stored", "node"),
    Field("session_slot", "session", -1, refers="slot"),
    Field("session_committed", "session"),
    Field("session_length", "session"),
    Field("session_key", "session"),
    Field("session_in_flight", "session"),
    Field("request_phase", "request"),
    Field("request_kind", "request"),
    Field("request_key", "request"),
    Field("request_length", "request"),
    Field("request_booked", "request"),
    Field("request_start", "request"),
    Field("request_node", "request", -1),
    Field("request_clear", "request"),
    Field("request_asked", "request"),
    Field("request_fetching", "request"),
    Field("request_label", "request", -1),
    Field("request_snapshot", "request", NOTHING),
    Field("request_slot", "request", -1, refers="slot"),
    Field("request_copy_from", "request", -1, refers="slot"),
    Field("slot_taken", "slot"),
    Field("slot_content", "slot", NOTHING, forgotten=NOTHING),
    Field("slot_load", "slot", NOTHING, forgotten=NOTHING),
)


def constants() -> dict[str, numpy.ndarray]:
    """Of each key the texts by length (tokens) and the nodes by depth (pages); of each node its depth."""
    text = numpy.zeros((KEYS, LONGEST + 1), numpy.int8)
    node = numpy.full((KEYS, PAGES + 1), -1, numpy.int8)
    for k in range(KEYS):
        for d in range(1, LONGEST + 1):
            text[k, d] = d if d <= PAGE else d + k * (LONGEST - PAGE)
        for d in range(1, PAGES + 1):
            node[k, d] = 0 if d == 1 else d - 1 + k * (PAGES - 1)
    depth = numpy.array([1 if x == 0 else (x - 1) % (PAGES - 1) + 2 for x in range(NODES)])
    return {"text": text, "node": node, "depth": depth}


def layout(requests: int, slots: int) -> Layout:
    """A world of a number of requests and slots, and of one session."""
    sizes = {"history": 1, "node": NODES, "session": 1, "request": requests, "slot": slots}
    return Layout(FIELDS, sizes, {"slot": MENTIONED, "request": SORTED}, constants())


def fed(w, state: Number, k: Number, start: Number, end: Number) -> Number:
    """A state after it was fed the tokens of a key from `start` to `end`."""
    return choose(state == w.text[k, start], w.text[k, end], BAD)
