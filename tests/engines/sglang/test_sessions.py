"""With the slots of waiting requests given back, the emitted test of a session that fails on every release is right.

Run in an environment that has the engine: ``tox -e sglang-0.5.23`` and its sisters.
"""

from unittest.mock import patch

import pytest

from tests.engines.sglang.comparison import emitted, engine
from tests.engines.sglang.test_mutations import Mutation, held, mutated

REPAIR = Mutation(
    "a request that waits keeps its slot only with a cache row, session or not",
    ("managers.scheduler:Scheduler", "_get_new_batch_prefill_raw"),
    (('not getattr(req, "session", None)', "not req.kv.holds_kv"),),
)


def test_with_its_slot_given_back_a_request_that_waited_starts_from_a_clear_state():
    repaired = mutated(REPAIR)
    if repaired is None:
        pytest.skip(f"sglang {engine.release()} words the line otherwise")
    with patch.object(held(REPAIR.where), REPAIR.where[1], repaired):
        resumed = emitted("sessions").waiting(engine.Configuration(64, 1, 256, 64), "plain")
    assert resumed == engine.Follower(0, 0)
