"""What can happen to the places of SGLang, as the scheduler, the tree and the sessions do it (facts as of 0.5.23).

A move is `move(rules, w, *picks) -> allowed`; it changes the world in place.  Lengths are tokens, depths of nodes pages.
Plain integers only: the same functions run compiled.
"""

from __future__ import annotations

from generators.sglang.search.places.world import (
    ABSENT,
    BAD,
    IN_SESSION,
    NOTHING,
    PAGE,
    PAGES,
    PLAIN,
    READY,
    RUNNING,
    TURN,
    WAITING,
    fed,
)

SERVED = 3  # undisturbed lives in a trace
SHORTEST = 5  # tokens of the shortest prompt that arrives; each further one is a page longer
LENGTHS = 2
SKIPPED, REPLAYED, FOREIGN = 1, 2, 3
REQUEST, NODE = 1, 2
DEVICE, LOADED, REFUSED, PASSED, REJECTED = range(5)  # how an admission ends


# ---- slots
def take(w):
    """The first free slot, which holds nobody's text, or -1; slots are alike, so which one does not matter."""
    for s in range(len(w.slot_taken)):
        if w.slot_taken[s] == 0:
            w.slot_taken[s] = 1
            w.slot_content[s] = BAD
            return s
    return -1


def give(w, s):
    w.slot_taken[s] = 0
    w.slot_load[s] = NOTHING


def harm_of(w, place, k, claim, state):
    """The harm of a place that claims the first `claim` tokens of a key and holds a state, 0 for none."""
    if state == w.text[k, claim]:
        return 0
    for d in range(w.text.shape[1]):
        if state == w.text[k, d]:
            return 4 * place + (SKIPPED if d < claim else REPLAYED)
    return 4 * place + FOREIGN


def forget(w, r):
    """A request is gone."""
    w.request_phase[r] = ABSENT
    w.request_kind[r] = 0
    w.request_key[r] = 0
    w.request_length[r] = 0
    w.request_booked[r] = 0
    w.request_start[r] = 0
    w.request_node[r] = -1
    w.request_clear[r] = 0
    w.request_asked[r] = 0
    w.request_fetching[r] = 0
    w.request_label[r] = -1
    w.request_snapshot[r] = NOTHING
    w.request_slot[r] = -1
    w.request_copy_from[r] = -1


# ---- the tree
def reach(w, k, most):
    """The pages of a key whose tokens are on the device or on the host without a gap, at most `most`."""
    found = 0
    for d in range(1, most + 1):
        x = w.node[k, d]
        if w.node_kv_device[x] == 0 and w.node_kv_host[x] == 0:
            break
        found = d
    return found


def best_of(w, k, most):
    """The depth of the deepest node with a state on the device or on the host, 0 for none."""
    found = 0
    for d in range(1, reach(w, k, most) + 1):
        x = w.node[k, d]
        if w.node_slot[x] >= 0 or w.node_host[x] != NOTHING:
            found = d
    return found


def device_of(w, k, most):
    """The depth of the deepest node with a state on the device and its tokens there, 0 for none."""
    found = 0
    for d in range(1, most + 1):
        x = w.node[k, d]
        if w.node_kv_device[x] == 0:
            break
        if w.node_slot[x] >= 0:
            found = d
    return found


def insert(rules, w, k, d, state):
    """Put a state on the node of depth `d`, if that has none; False where there is no slot for it."""
    for i in range(1, d + 1):
        w.node_kv_device[w.node[k, i]] = 1
    x = w.node[k, d]
    if w.node_slot[x] >= 0:
        return True
    s = take(w)
    if s < 0:
        return False
    w.node_slot[x] = s
    w.slot_content[s] = state
    if rules.host and not rules.write_back:
        save(rules, w, k, d)
    return True


def save(rules, w, k, d):
    """Copy a node to the host, with the tokens above it, and to the storage."""
    x = w.node[k, d]
    for i in range(1, d + 1):
        w.node_kv_host[w.node[k, i]] = 1
    if w.node_host[x] == NOTHING:
        w.node_host[x] = w.slot_content[w.node_slot[x]]
    if rules.storage:
        w.node_stored[x] = 1


# ---- arrivals
def idle(w):
    present = 0
    for r in range(len(w.request_phase)):
        if w.request_phase[r] != ABSENT:
            present += 1
    return present == 0


def serve(rules, w, k, d):
    """A whole life with nothing in between leaves the state of `d` pages on its node."""
    d = d + 1
    if not idle(w) or w.history_served[0] >= SERVED or d >= PAGES or (d == 1 and k > 0):
        return False
    if w.node_slot[w.node[k, d]] >= 0:
        return False
    w.history_served[0] += 1
    return insert(rules, w, k, d, w.text[k, d * PAGE])


def enter(w, k, n, kind):
    """A request joins the queue; None is left where as many as there are places came already."""
    if w.history_arrived[0] >= len(w.request_phase):
        return -1
    for r in range(len(w.request_phase)):
        if w.request_phase[r] == ABSENT:
            w.history_arrived[0] += 1
            w.request_phase[r] = WAITING
            w.request_kind[r] = kind
            w.request_key[r] = k
            w.request_length[r] = n
            return r
    return -1


def arrive(rules, w, k, n):
    """A request arrives; where there is a storage, it is asked for what is on neither device nor host."""
    n = SHORTEST + PAGE * n
    r = enter(w, k, n, PLAIN)
    if r < 0:
        return False
    if rules.storage:
        w.request_asked[r] = reach(w, k, (n - 1) // PAGE)
    return True


def arrive_in_session(rules, w, k, n):
    """A request of a session that does not stream arrives."""
    return enter(w, k, SHORTEST + PAGE * n, IN_SESSION) >= 0


def turn(rules, w, k, more):
    """The next turn of the streaming session brings `more` + 1 tokens, the first one a prompt."""
    if w.session_length[0] == 0:
        return begin(w, k, 4 + more)
    return k == w.session_key[0] and begin(w, k, w.session_length[0] + 1 + more)


def empty_turn(rules, w):
    """The next turn of the streaming session brings no tokens."""
    if w.session_length[0] == 0 or not rules.empty_turns:
        return False
    return begin(w, w.session_key[0], w.session_length[0])


def begin(w, k, n):
    if w.session_in_flight[0] == 1 or n > PAGE * PAGES:
        return False
    w.session_in_flight[0] = 1
    w.session_key[0] = k
    return enter(w, k, n, TURN) >= 0


# ---- admission
def admission(rules, w, r, end):
    """Match, load and admit a waiting request; allowed where it ends in the given way."""
    if w.request_phase[r] != WAITING or w.request_fetching[r] == 1:
        return False
    k, most = w.request_key[r], (w.request_length[r] - 1) // PAGE
    if w.request_kind[r] == TURN and w.session_slot[0] >= 0:
        return end == DEVICE and lend(rules, w, r)
    best, device = best_of(w, k, most), device_of(w, k, most)
    if rules.match_forgets:
        w.request_copy_from[r] = -1
    if best > 0 and w.node_slot[w.node[k, best]] >= 0:
        if w.request_slot[r] < 0:
            w.request_slot[r] = take(w)
            if w.request_slot[r] < 0:
                return False
        w.request_copy_from[r] = w.node_slot[w.node[k, best]]
        w.request_clear[r] = 0
    if rules.storage and rules.asks_again and reach(w, k, most) < w.request_asked[r]:
        w.request_asked[r] = reach(w, k, most)
        w.request_fetching[r] = 1
        if rules.passed_gives_back:
            w.request_copy_from[r] = -1
            if w.request_slot[r] >= 0:
                give(w, w.request_slot[r])
                w.request_slot[r] = -1
        return end == PASSED
    if end == REJECTED:
        return rejected(rules, w, r)
    booked, failed = device, False
    if best > device:
        if load(w, r, k, best):
            booked = best
            if end != LOADED:
                return False
        else:
            if end != REFUSED:
                return False
            failed = True
    elif end != DEVICE:
        return False
    if failed and rules.failed_load_copies and device > 0:
        if w.request_slot[r] < 0:
            w.request_slot[r] = take(w)
            if w.request_slot[r] < 0:
                return False
        w.request_copy_from[r] = w.node_slot[w.node[k, device]]
    w.request_booked[r] = booked * PAGE
    w.request_node[r] = w.node[k, booked] if booked > 0 else -1
    w.request_asked[r] = 0
    w.request_phase[r] = READY
    return True


def rejected(rules, w, r):
    """Memory is short: the orders of the match are withdrawn, and its slot is given back by whom the design lets."""
    if w.request_slot[r] < 0:
        return False
    w.request_copy_from[r] = -1
    w.request_clear[r] = 0
    if w.request_kind[r] == PLAIN or rules.rejected_gives_back:
        give(w, w.request_slot[r])
        w.request_slot[r] = -1
    return True


def load(w, r, k, best):
    """Load a state and the tokens on its way; False where it is turned away or no slots are left."""
    x = w.node[k, best]
    for i in range(1, best + 1):
        y = w.node[k, i]
        loaded = w.node_kv_device[y] == 0 or i == best
        if loaded and w.node_pin[y] >= 0 and w.node_pin[y] != x:
            return False
    if w.node_slot[x] >= 0:
        return False
    fresh = w.request_slot[r] < 0
    if fresh:
        w.request_slot[r] = take(w)
        if w.request_slot[r] < 0:
            return False
    own = take(w)
    if own < 0:
        if fresh:
            give(w, w.request_slot[r])
            w.request_slot[r] = -1
        return False
    w.node_slot[x] = own
    w.slot_load[own] = w.node_host[x]
    w.slot_load[w.request_slot[r]] = w.node_host[x]
    for i in range(1, best + 1):
        y = w.node[k, i]
        if w.node_kv_device[y] == 0:
            w.node_kv_device[y] = 1
            w.node_pin[y] = x
    return True


def lend(rules, w, r):
    """A turn goes on from the session's record, whose tokens are cut to its own; the state cannot be cut."""
    most = w.request_length[r] - 1
    booked = min(w.session_committed[0], most)
    if (
        rules.record_released
        and w.slot_content[w.session_slot[0]] != w.text[w.session_key[0], booked]
    ):
        give(w, w.session_slot[0])
        w.session_slot[0] = -1
        w.session_committed[0] = 0
        return True  # it is matched like any other next
    w.request_slot[r] = w.session_slot[0]
    w.request_booked[r] = booked
    w.session_committed[0] = booked
    w.request_phase[r] = READY
    return True


def admit(rules, w, r):
    return admission(rules, w, r, DEVICE)


def admit_loading(rules, w, r):
    return admission(rules, w, r, LOADED)


def admit_unloaded(rules, w, r):
    return admission(rules, w, r, REFUSED)


def pass_over(rules, w, r):
    return admission(rules, w, r, PASSED)


def reject(rules, w, r):
    return admission(rules, w, r, REJECTED)


def fetch(rules, w, r):
    """The storage has brought what it has of the request's pages to the host, and the state of the last of them."""
    if w.request_fetching[r] == 0:
        return False
    w.request_fetching[r] = 0
    k, deepest = w.request_key[r], 0
    for d in range(1, (w.request_length[r] - 1) // PAGE + 1):
        if w.node_stored[w.node[k, d]] == 1:
            deepest = d
    if deepest == 0:
        return True
    for d in range(1, deepest + 1):
        w.node_kv_host[w.node[k, d]] = 1
    x = w.node[k, deepest]
    if w.node_host[x] == NOTHING:
        w.node_host[x] = w.text[k, deepest * PAGE]
    return True


# ---- a pass
def launch(rules, w):
    """Queued loads, then clears and copies, then the pass of every admitted request; one that is no turn ends with it."""
    for s in range(len(w.slot_load)):
        if w.slot_load[s] != NOTHING:
            w.slot_content[s] = w.slot_load[s]
            w.slot_load[s] = NOTHING
    nobody = True
    for r in range(len(w.request_phase)):
        if w.request_phase[r] == READY:
            nobody = False
            if w.request_slot[r] < 0:
                w.request_slot[r] = take(w)
                w.request_clear[r] = 1
                if w.request_slot[r] < 0:
                    return False
            s = w.request_slot[r]
            if w.request_copy_from[r] >= 0:
                s = w.request_copy_from[r]
                w.request_start[r] = w.slot_content[s]
            else:
                w.request_start[r] = w.text[0, 0] if w.request_clear[r] == 1 else w.slot_content[s]
    if nobody:
        return False
    for r in range(len(w.request_phase)):
        if w.request_phase[r] == READY and not run(rules, w, r):
            return False
    for x in range(len(w.node_pin)):
        w.node_pin[x] = -1
    return True


def run(rules, w, r):
    """The pass of one request from its booked prefix; False where no slot is left for its checkpoint."""
    k, p, n, start = w.request_key[r], w.request_booked[r], w.request_length[r], w.request_start[r]
    harm = harm_of(w, REQUEST, k, p, start)
    if harm != 0:
        w.history_harm[0] = harm
        return True
    label = p + (n - p) // PAGE * PAGE
    if label == p or (rules.off_page_keeps_nothing and p % PAGE != 0):
        label = -1
    w.slot_content[w.request_slot[r]] = fed(w, start, k, p, n)
    w.request_copy_from[r] = -1
    w.request_clear[r] = 0
    w.request_node[r] = -1
    snapshot = fed(w, start, k, p, label) if label > 0 else NOTHING
    if w.request_kind[r] == TURN:
        first = w.session_slot[0] < 0
        w.session_slot[0] = w.request_slot[r]
        w.request_phase[r] = RUNNING
        if first and label > 0:
            return donate(rules, w, k, label, snapshot)
        w.request_label[r] = label
        w.request_snapshot[r] = snapshot
        return True
    if label > 0 and not donate(rules, w, k, label, snapshot):
        return False
    give(w, w.request_slot[r])
    forget(w, r)
    return True


def donate(rules, w, k, label, state):
    """Put a checkpoint on the node of its label, floored to the page."""
    d = label // PAGE
    if w.node_slot[w.node[k, d]] < 0:
        harm = harm_of(w, NODE, k, d * PAGE, state)
        if harm != 0:
            w.history_harm[0] = harm
    return insert(rules, w, k, d, state)


# ---- the turns of a streaming session
def consumed(w, k, s):
    """The tokens of a key that the state of a slot has consumed."""
    for d in range(w.text.shape[1]):
        if w.slot_content[s] == w.text[k, d]:
            return d
    return 0


def keep_record(rules, w, r, beyond):
    """What a turn that leaves its pass keeps: one more token than its prompt has; its state has consumed `beyond` more."""
    k, n, s = w.request_key[r], w.request_length[r], w.session_slot[0]
    said = n + 1
    if rules.speculation:
        state, allocated = said + beyond, said + 2
    else:
        state = said if rules.overlap else n
        allocated = state
    w.slot_content[s] = w.text[k, state]
    w.session_committed[0] = min(said, allocated)
    return said


def turn_ends(rules, w, r):
    """A turn ends with the state that it keeps."""
    return end_turn(rules, w, r, 0)


def turn_ends_behind_its_stop(rules, w, r):
    """A turn ends within the tokens that a verify accepted: its state has consumed one behind the end."""
    return rules.speculation and end_turn(rules, w, r, 1)


def turn_ends_in_a_verify(rules, w, r):
    """A turn ends while its next verify is in flight, which consumes two tokens behind the end."""
    return rules.speculation and rules.overlap and end_turn(rules, w, r, 2)


def end_turn(rules, w, r, beyond):
    if w.request_phase[r] != RUNNING:
        return False
    w.session_length[0] = keep_record(rules, w, r, beyond)
    w.session_in_flight[0] = 0
    forget(w, r)
    return True


def retract(rules, w, r):
    """A turn is retracted: its record stays with the session, and it waits again with what it has said."""
    if w.request_phase[r] != RUNNING or w.request_length[r] >= PAGE * PAGES:
        return False
    k, said = w.request_key[r], keep_record(rules, w, r, 0)
    forget(w, r)
    w.request_phase[r] = WAITING
    w.request_kind[r] = TURN
    w.request_key[r] = k
    w.request_length[r] = said
    return True


def abort(rules, w, r):
    """A turn is aborted: its record is released like any request's, its checkpoint inserted."""
    if w.request_phase[r] != RUNNING:
        return False
    k, label, state = w.request_key[r], w.request_label[r], w.request_snapshot[r]
    give(w, w.session_slot[0])
    w.session_slot[0] = -1
    w.session_committed[0] = 0
    w.session_in_flight[0] = 0
    forget(w, r)
    if label > 0 and rules.aborted_is_inserted:
        return donate(rules, w, k, label, state)
    return True


# ---- eviction
def locked(w, x):
    for r in range(len(w.request_phase)):
        if w.request_phase[r] == READY and w.request_node[r] == x:
            return True
    return False


def below(w, x):
    """Whether tokens below a node are on the device, or a request goes on from there."""
    for k in range(len(w.text)):
        d = w.depth[x]
        if d < PAGES and w.node[k, d] == x and w.node_kv_device[w.node[k, d + 1]] == 1:
            return True
    return False


def evict(rules, w, x):
    """The state of a node leaves the device, with its tokens where it is a leaf; write-back saves them first."""
    s = w.node_slot[x]
    if s < 0 or w.node_pin[x] >= 0 or locked(w, x) or w.slot_load[s] != NOTHING:
        return False
    leaf = not below(w, x)
    if rules.host and rules.write_back and (leaf or w.node_kv_host[x] == 0):
        if w.node_host[x] == NOTHING:
            w.node_host[x] = w.slot_content[s]
        w.node_kv_host[x] = 1
    give(w, s)
    w.node_slot[x] = -1
    if leaf:
        w.node_kv_device[x] = 0
    return True


def evict_from_host(rules, w, x):
    """A node that is not on the device leaves the host."""
    if w.node_host[x] == NOTHING or w.node_slot[x] >= 0 or w.node_kv_device[x] == 1:
        return False
    for k in range(len(w.text)):
        d = w.depth[x]
        if d < PAGES and w.node[k, d] == x and w.node_kv_host[w.node[k, d + 1]] == 1:
            return False
    w.node_host[x] = NOTHING
    w.node_kv_host[x] = 0
    return True


def judge(rules, w):
    """The harm of a world, 0 for none."""
    return w.history_harm[0]
