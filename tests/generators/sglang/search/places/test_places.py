"""What the search over many places finds in releases and in repaired designs."""

import itertools
import random

import pytest

from generators.search.worlds import compiling
from generators.search.worlds.breadth_first import Limits, search
from generators.sglang.search.places import moves, scopes, stories
from generators.sglang.search.places.designs import Rules, repaired
from generators.sglang.search.places.world import NODES
from spec.sglang.proposals import PLACE_REPAIRS
from spec.sglang.releases import RELEASES, design_named

needs_numba = pytest.mark.skipif(not compiling.is_installed(), reason="numba is not installed")

OFF = {
    "page_size": 64,
    "dcp_size": 1,
    "speculative_num_draft_tokens": 0,
    "overlap": True,
    "enable_hierarchical_cache": False,
    "hicache_write_policy": None,
    "hicache_storage_backend": False,
    "enable_streaming_session": False,
    "sessions": False,
}
HOST = {"enable_hierarchical_cache": True}
WRITE_BACK = HOST | {"hicache_write_policy": "write_back"}
STORAGE = HOST | {"hicache_storage_backend": True}
STREAMING = {"enable_streaming_session": True}
SPECULATING = STREAMING | {"speculative_num_draft_tokens": 4}
CONFIGURATIONS = {
    "nothing": {},
    "sessions": {"sessions": True},
    "write-back": WRITE_BACK,
    "write-through": HOST,
    "storage": STORAGE,
    "streaming": STREAMING,
    "streaming-without-overlap": STREAMING | {"overlap": False},
    "streaming-page1": STREAMING | {"page_size": 1},
    "speculating": SPECULATING,
    "speculating-without-overlap": SPECULATING | {"overlap": False},
}
REFUSED = ("request", "skipped", "load_refused")
REJECTED = ("request", "foreign", "reject")
IN_SESSION = ("request", "foreign", "arrive_in_session+reject")
PASSED = {("request", how, "pass_over") for how in ("skipped", "replayed", "foreign")}
ABORTED = ("node", "replayed", "abort")
BEHIND = ("request", "replayed", "turn_ends_behind_stop")
IN_VERIFY = ("request", "replayed", "turn_ends_in_verify")
RETRACTED = ("request", "replayed", "retract")
EMPTY = ("request", "replayed", "empty_turn")
FOUND = {
    "nothing": set(),
    "sessions": {IN_SESSION},
    "write-back": {REFUSED},
    "write-through": {REFUSED},
    "storage": {REFUSED, *PASSED},
    "streaming": {REJECTED, RETRACTED, EMPTY, ABORTED},
    "streaming-without-overlap": {REJECTED, ABORTED},
    "streaming-page1": {REJECTED, RETRACTED, EMPTY},
    "speculating": {REJECTED, RETRACTED, EMPTY, ABORTED, BEHIND, IN_VERIFY},
    "speculating-without-overlap": {REJECTED, RETRACTED, EMPTY, ABORTED, BEHIND},
}


def rules(configuration, design="sglang-0.5.23"):
    return scopes.rules_of(design_named(design), OFF | CONFIGURATIONS[configuration])


def classes(run):
    return {
        (
            {moves.REQUEST: "request", moves.NODE: "node"}[harm.code // 4],
            {moves.SKIPPED: "skipped", moves.REPLAYED: "replayed", moves.FOREIGN: "foreign"}[
                harm.code % 4
            ],
            "+".join(sorted(harm.moves)),
        )
        for harm in run.harms
    }


@needs_numba
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_newest_release_has_these_classes_and_no_others_within_the_bounds(configuration):
    run = search(scopes.model_of(rules(configuration)))
    assert run.closed
    assert classes(run) == FOUND[configuration]


@needs_numba
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_the_repaired_design_has_no_harm_within_the_same_bounds(configuration):
    run = search(scopes.model_of(rules(configuration, "sglang-0.5.23+places")))
    assert run.closed
    assert run.harms == ()


# The repair left out, a configuration in which it is missed.
MISSED = {
    "failed-load-copies": ("write-back", {REFUSED}),
    "passed-gives-back": ("storage", {("request", "foreign", "pass_over")}),
    "rejected-gives-back": ("sessions", {IN_SESSION}),
    "record-released": ("streaming", {RETRACTED, EMPTY}),
    "off-page-keeps-nothing": ("streaming", {ABORTED}),
}


@needs_numba
@pytest.mark.parametrize("repair", MISSED)
def test_a_repair_that_is_left_out_is_missed(repair):
    configuration, missed = MISSED[repair]
    others = [other for other in PLACE_REPAIRS if other != repair]
    run = search(scopes.model_of(repaired(rules(configuration), others)))
    assert classes(run) >= missed


@needs_numba
def test_forgetting_the_order_at_a_match_is_no_repair_alone():
    forgets = search(scopes.model_of(repaired(rules("storage"), ["match-forgets"])))
    assert ("request", "foreign", "pass_over") in classes(forgets)
    gives_back = search(scopes.model_of(repaired(rules("storage"), ["passed-gives-back"])))
    assert classes(gives_back) == {REFUSED}


@needs_numba
@pytest.mark.parametrize("release", RELEASES[2:])
def test_classes_come_with_their_releases(release):
    streaming = classes(search(scopes.model_of(rules("streaming", f"sglang-{release}"))))
    assert (EMPTY in streaming) == (release >= "0.5.20")
    assert (ABORTED in streaming) == (release >= "0.5.22")
    storage = classes(search(scopes.model_of(rules("storage", f"sglang-{release}"))))
    assert storage.issuperset(PASSED) == (release >= "0.5.20")
    assert REFUSED in storage


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_moves_of_small_worlds_stay_within_their_places_and_agree_with_machine_code(configuration):
    """Plain Python raises where a place or a length that is none is read, which machine code does not."""
    model = scopes.model_of(rules(configuration), requests=2, slots=3)
    plain = search(model, Limits(moves=5), plain=True)
    if compiling.is_installed():
        compiled = search(model, Limits(moves=5), plain=False)
        assert (plain.levels, plain.harms) == (compiled.levels, compiled.harms)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("design", ["sglang-0.5.23", "sglang-0.5.23+places"])
def test_random_walks_stay_within_their_places_and_give_a_slot_one_owner(configuration, design):
    model = scopes.model_of(rules(configuration, design))
    rng = random.Random(configuration)
    for _ in range(15):
        scratch = model.layout.scratch()
        for _ in range(30):
            options = [
                (move, picks)
                for move in model.moves
                for picks in itertools.product(
                    *(range(p if type(p) is int else model.layout.sizes[p]) for p in move.picks)
                )
            ]
            rng.shuffle(options)
            before = scratch.words.copy()
            for move, picks in options:
                if move.act(model.rules, scratch.world, *picks):
                    break
                scratch.words[:] = before
            else:
                break
            world = scratch.values()
            if world["history_harm"][0]:
                break
            owned = [s for s in world["node_slot"] + world["session_slot"] if s >= 0]
            owned += [s for s in world["request_slot"] if s >= 0 and s not in world["session_slot"]]
            assert len(owned) == len(set(owned))
            assert {s for s, taken in enumerate(world["slot_taken"]) if taken} == set(owned)
            assert len(world["node_slot"]) == NODES


@needs_numba
def test_every_event_of_a_story_is_a_whole_sentence():
    for configuration in CONFIGURATIONS:
        run = search(scopes.model_of(rules(configuration)))
        for harm in run.harms:
            told = stories.story(stories.events_of(harm.trace, scopes.REQUESTS))
            assert len(told) == len(harm.trace)
            assert all(line[0].isupper() and line.endswith(".") for line in told)
            assert "None" not in " ".join(told)


def test_rules_are_tuples_of_truths():
    assert all(isinstance(value, bool) for value in Rules())
