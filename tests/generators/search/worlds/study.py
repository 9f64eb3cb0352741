"""A small model of many places: requests, slots, a tree on device and host, loads that are turned away.

It is the smallest model with fault 6 of docs/found.md, for the tests of the search alone; it speaks for no engine.  Two keys
share their first token; node `x` of key `k` and depth `d` is 0 for the shared one, then those of the first key, then of the second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy

from generators.search.worlds.breadth_first import Model, Move
from generators.search.worlds.layout import MENTIONED, SORTED, Field, Layout
from spec.numbers import both, choose

KEYS, DEPTHS = 2, 4
NODES = 1 + KEYS * (DEPTHS - 1)
BAD, NOTHING = -1, -2
ABSENT, WAITING, READY = range(3)


class Rules(NamedTuple):
    """Whether a request whose load is turned away copies the state of the node to which it falls back."""

    falls_back_with_a_copy: bool


def constants() -> dict[str, numpy.ndarray]:
    """The texts of keys, and the node of each claim; a text is 1 + its node, 0 the empty one."""
    node = numpy.full((KEYS, DEPTHS + 1), -1, numpy.int8)
    for k in range(KEYS):
        for d in range(1, DEPTHS + 1):
            node[k, d] = 0 if d == 1 else 1 + k * (DEPTHS - 1) + d - 2
    key = numpy.array([max(0, (x - 1) // (DEPTHS - 1)) for x in range(NODES)], numpy.int8)
    depth = numpy.array([1 if x == 0 else (x - 1) % (DEPTHS - 1) + 2 for x in range(NODES)])
    return {"node": node, "text": node + numpy.int8(1), "key": key, "depth": depth}


def fed(w, state, key, start, end):
    return choose(state == w.text[key, start], w.text[key, end], BAD)


def take(w):
    """The first free slot, or -1."""
    for s in range(len(w.slot_taken)):
        if w.slot_taken[s] == 0:
            w.slot_taken[s] = 1
            w.slot_content[s] = BAD
            return s
    return -1


def give(w, s):
    w.slot_taken[s] = 0
    w.slot_content[s] = NOTHING


def serve(rules, w, k, d):
    d = d + 1
    idle = w.history_served[0] < 3
    for r in range(len(w.request_phase)):
        idle = both(idle, w.request_phase[r] == ABSENT)
    if not both(idle, d < DEPTHS, w.node_slot[w.node[k, d]] < 0):
        return False
    if d == 1 and k > 0:
        return False
    s = take(w)
    if s < 0:
        return False
    donate(w, k, d, w.text[k, d], s)
    w.history_served[0] += 1
    return True


def arrive(rules, w, k, n):
    n = n + DEPTHS - 1
    for r in range(len(w.request_phase)):
        if w.request_phase[r] == ABSENT:
            if w.history_arrived[0] >= len(w.request_phase):
                return False
            w.history_arrived[0] += 1
            w.request_phase[r] = WAITING
            w.request_key[r] = k
            w.request_length[r] = n
            return True
    return False


def donate(w, k, d, state, s):
    for i in range(1, d + 1):
        w.node_device[w.node[k, i]] = 1
    x = w.node[k, d]
    if w.node_slot[x] < 0:
        w.node_slot[x] = s
        w.slot_content[s] = state
    else:
        give(w, s)


def load(w, r, k, best):
    """Whether the state of depth `best` is loaded."""
    for i in range(1, best + 1):
        x = w.node[k, i]
        taken = w.node_device[x] == 0 or i == best
        if taken and w.node_pin[x] >= 0 and w.node_pin[x] != w.node[k, best]:
            return False
    mine, own = take(w), take(w)
    w.request_slot[r] = mine
    if own < 0:
        return False
    x = w.node[k, best]
    w.node_slot[x] = own
    w.slot_load[own] = w.node_host[x]
    w.slot_load[mine] = w.node_host[x]
    for i in range(1, best + 1):
        if w.node_device[w.node[k, i]] == 0:
            w.node_device[w.node[k, i]] = 1
            w.node_pin[w.node[k, i]] = x
    w.request_node[r] = x
    w.request_booked[r] = best
    return True


def admit(rules, w, r):
    if w.request_phase[r] != WAITING:
        return False
    k = w.request_key[r]
    best, device, resident = 0, 0, True
    for i in range(1, w.request_length[r]):
        x = w.node[k, i]
        if w.node_device[x] == 0 and w.node_host[x] == NOTHING and w.node_kv_host[x] == 0:
            break
        resident = both(resident, w.node_device[x] == 1)
        if w.node_slot[x] >= 0 or w.node_host[x] != NOTHING:
            best = i
        if w.node_slot[x] >= 0 and resident:
            device = i
    w.request_phase[r] = READY
    w.request_booked[r] = device
    w.request_node[r] = w.node[k, device]
    copied = device if best == device else 0
    if best != device and not load(w, r, k, best) and rules.falls_back_with_a_copy:
        copied = device
    if copied > 0:
        w.request_slot[r] = take(w)
        w.request_copy_from[r] = w.node_slot[w.node[k, copied]]
        return w.request_slot[r] >= 0
    return True


def launch(rules, w):
    waits = True
    for s in range(len(w.slot_load)):
        if w.slot_load[s] != NOTHING:
            w.slot_content[s] = w.slot_load[s]
            w.slot_load[s] = NOTHING
    for r in range(len(w.request_phase)):
        if w.request_phase[r] == READY:
            waits = False
            start = w.text[0, 0]
            if w.request_slot[r] < 0:
                w.request_slot[r] = take(w)
                if w.request_slot[r] < 0:
                    return False
            elif w.request_copy_from[r] >= 0:
                start = w.slot_content[w.request_copy_from[r]]
            else:
                start = w.slot_content[w.request_slot[r]]
            w.request_start[r] = start
    if waits:
        return False
    for r in range(len(w.request_phase)):
        if w.request_phase[r] == READY:
            k, n = w.request_key[r], w.request_length[r]
            p = w.request_booked[r]
            if w.request_start[r] != w.text[k, p]:
                w.history_harm[0] = 1 + 8 * k + p
            donate(w, k, n, fed(w, w.request_start[r], k, p, n), w.request_slot[r])
            w.request_phase[r] = ABSENT
            w.request_key[r] = 0
            w.request_length[r] = 0
            w.request_booked[r] = 0
            w.request_slot[r] = -1
            w.request_copy_from[r] = -1
            w.request_node[r] = -1
            w.request_start[r] = 0
    for x in range(len(w.node_pin)):
        w.node_pin[x] = -1
    return True


def evict(rules, w, x):
    if w.node_slot[x] < 0 or w.node_pin[x] >= 0:
        return False
    for r in range(len(w.request_phase)):
        below = w.node[w.request_key[r], w.depth[x]] == x
        if w.request_phase[r] == READY and w.request_booked[r] >= w.depth[x] and below:
            return False
    s = w.node_slot[x]
    if w.node_host[x] == NOTHING:
        w.node_host[x] = w.slot_content[s]
    w.node_kv_host[x] = 1
    give(w, s)
    w.node_slot[x] = -1
    deeper = False
    for k in range(KEYS):
        below = w.depth[x] < DEPTHS and w.node[k, w.depth[x]] == x
        if below and w.node_device[w.node[k, w.depth[x] + 1]] == 1:
            deeper = True
    w.node_device[x] = 1 if deeper else 0
    return True


def judge(rules, w):
    return w.history_harm[0]


FIELDS = (
    Field("history_served", "history"),
    Field("history_arrived", "history"),
    Field("history_harm", "history"),
    Field("node_slot", "node", -1, refers="slot"),
    Field("node_host", "node", NOTHING),
    Field("node_kv_host", "node"),
    Field("node_device", "node"),
    Field("node_pin", "node", -1),
    Field("request_phase", "request"),
    Field("request_key", "request"),
    Field("request_length", "request"),
    Field("request_booked", "request"),
    Field("request_start", "request"),
    Field("request_node", "request", -1),
    Field("request_slot", "request", -1, refers="slot"),
    Field("request_copy_from", "request", -1, refers="slot"),
    Field("slot_taken", "slot"),
    Field("slot_content", "slot", NOTHING, forgotten=NOTHING),
    Field("slot_load", "slot", NOTHING, forgotten=NOTHING),
)

MOVES = (
    Move("serve", serve, (KEYS, DEPTHS - 1)),
    Move("arrive", arrive, (KEYS, 2)),
    Move("admit", admit, ("request",)),
    Move("launch", launch),
    Move("evict", evict, ("node",), matters=True),
)


def model(repaired: bool, requests: int = 2, slots: int = 7, names: bool = True) -> Model:
    """The model; `names`: whether slots and requests get canonical names."""
    naming = {"slot": MENTIONED, "request": SORTED} if names else {}
    sizes = {"history": 1, "node": NODES, "request": requests, "slot": slots}
    layout = Layout(FIELDS, sizes, naming, constants())
    return Model(layout, MOVES, judge, Rules(repaired))
