"""Events and outcomes in plain words."""

from __future__ import annotations

import pytest

from generators.cases import wording
from generators.cases.file_format import Case, Event


def _case(outcome, state, node, *events):
    depths = {"state": state, "node": node, "replayed": state and node and state - node}
    return Case("a", "GP000", outcome, {}, events, depths, {})


def test_a_trace_gives_tokens_length_and_node_of_each_event():
    events = (
        Event("extend", 511, 511),
        Event("decode", 513, 1024, snapshot_depth=1024),
        Event("finish", 0, 1024, node_depth=512),
    )
    assert wording.trace(events) == (
        "prefill 511 tokens; decode 513 tokens (length 1024, snapshot taken); finish: inserted at node 512"
    )


def test_an_event_of_another_engine_keeps_its_own_name():
    event = Event("chunk_copy", 1, 65, snapshot_depth=64)
    assert wording.step(event) == "chunk copy 1 token (length 65, snapshot at 64)"
    assert wording.clause(event, 0) == "chunk copy"


@pytest.mark.parametrize(
    ("state", "node", "does"),
    [
        (768, 512, "replays tokens 513 to 768"),
        (513, 512, "replays token 513"),
        (256, 320, "skips tokens 257 to 320"),
        (None, 64, "starts from whatever that memory holds"),
    ],
)
def test_a_mismatch_names_the_tokens_that_the_next_request_repeats_or_lacks(state, node, does):
    assert wording.mismatch(state, node).endswith(does)
    assert f"the {node}-token prefix" in wording.mismatch(state, node)


def test_every_outcome_has_words():
    event = Event("extend", 576, 576)
    assert "assertion" in wording.outcome(_case("fault", 576, None, event))
    assert "assertion" in wording.consequence(_case("fault", 576, None, event))
    assert "scheduled again" in wording.outcome(_case("stuck", None, None, event))
    assert wording.consequence(_case("misplaced", 768, 512, event)) == (
        "state after 768 tokens at node 512: 256 tokens replayed"
    )
    assert wording.consequence(_case("overwritten", 256, 320, event)).endswith("64 tokens skipped")
    assert (
        wording.consequence(_case("misplaced", None, 320, event)) == "unwritten state at node 320"
    )


def test_a_finish_counts_the_tokens_that_were_launched_beyond_it():
    finish = Event("finish", 0, 767)
    assert wording.clause(finish, 768).endswith("while 1 token is launched beyond its end")
    assert wording.clause(finish, 767) == "the request finishes"
