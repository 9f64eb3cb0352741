"""The search over worlds of many places, held to a slow one that has no canonical names and no table of its own."""

import itertools
import time

import numpy
import pytest

from generators.search.worlds import compiling
from generators.search.worlds.breadth_first import Limits, Model, Move, search
from generators.search.worlds.layout import MENTIONED, SORTED, Field, Layout
from tests.generators.search.worlds import study

needs_numba = pytest.mark.skipif(not compiling.is_installed(), reason="numba is not installed")
ways = pytest.mark.parametrize("plain", [True, pytest.param(False, marks=needs_numba)])

# What a shorter life begins with: the branch and the next node are on the host.
FILLED = {
    "node_slot": [0, -1, -1, -1, -1, -1, -1],
    "node_host": [study.NOTHING, 2, 3, *[study.NOTHING] * 4],
    "node_kv_host": [0, 1, 1, 0, 0, 0, 0],
    "node_device": [1, 0, 0, 0, 0, 0, 0],
    "history_served": [3],
    "slot_taken": [1, 0, 0, 0],
    "slot_content": [1, *[study.NOTHING] * 3],
}


def filled(repaired: bool, names: bool = True) -> Model:
    """The study in the state in which only two requests are missing, with 4 slots."""
    model = study.model(repaired, slots=4, names=names)
    return Model(model.layout, model.moves, model.judge, model.rules, FILLED)


def successors(model, world):
    """The worlds that one move makes of a world (a tuple a field), as pairs of the harm and the world."""
    scratch = model.layout.scratch()
    names = [f.name for f in model.layout.fields]
    for move in model.moves:
        sizes = [p if isinstance(p, int) else model.layout.sizes[p] for p in move.picks]
        for picks in itertools.product(*map(range, sizes)):
            scratch.set(dict(zip(names, world, strict=True)))
            if move.act(model.rules, scratch.world, *picks):
                after = scratch.values()
                yield (
                    int(model.judge(model.rules, scratch.world)),
                    tuple(tuple(after[n]) for n in names),
                )


def reached(model):
    """All worlds, named as they come, each with its harm."""
    scratch = model.layout.scratch()
    scratch.set(model.start)
    first = tuple(tuple(v) for v in scratch.values().values())
    seen, waiting = {first: 0}, [first]
    while waiting:
        for harm, after in successors(model, waiting.pop()):
            if after not in seen:
                seen[after] = harm
                if not harm:
                    waiting.append(after)
    return seen


def normal_form(layout, world):
    """The smallest of a world's renamings, with what nobody names forgotten: by trying all of them."""
    values = dict(zip((f.name for f in layout.fields), world, strict=True))
    named = {
        kind: {v for f in layout.fields if f.refers == kind for v in values[f.name]}
        for kind in layout.naming
    }
    forms = []
    kinds = list(layout.naming)
    for orders in itertools.product(
        *(itertools.permutations(range(layout.sizes[k])) for k in kinds)
    ):
        new = dict(zip(kinds, orders, strict=True))
        form = []
        for f in layout.fields:
            out = [0] * layout.sizes[f.kind]
            for i, value in enumerate(values[f.name]):
                if f.forgotten is not None and f.kind in named and i not in named[f.kind]:
                    value = f.forgotten
                elif f.refers in new and value >= 0:
                    value = new[f.refers][value]
                out[new[f.kind][i] if f.kind in new else i] = value
            form.append(tuple(out))
        forms.append(tuple(form))
    return min(forms)


def stored(model, plain):
    """The worlds that the search stored."""
    from generators.search.worlds.breadth_first import _Search

    run = _Search(model, Limits(worlds=100_000), plain)
    found = run.run(None)
    worlds = []
    for row in range(found.worlds):
        run.parent.words[:] = run.states[row]
        worlds.append(tuple(tuple(v) for v in run.parent.values().values()))
    return found, worlds


def without_traces(found):
    return found.worlds, found.made, found.levels, [(h.code, h.moves) for h in found.harms]


@pytest.mark.parametrize("repaired", [False, True])
@ways
def test_canonical_names_lose_no_world_and_add_none(repaired, plain):
    every = reached(filled(repaired))
    found, worlds = stored(filled(repaired), plain)
    layout = filled(repaired).layout
    small = {w: normal_form(layout, w) for w in {*every, *worlds}}
    assert found.closed
    assert {small[w] for w in worlds} == {small[w] for w in every}
    assert {h.code for h in found.harms} == set(every.values()) - {0}
    assert len(worlds) < len(every)


@needs_numba
@pytest.mark.parametrize("repaired", [False, True])
def test_machine_code_finds_what_plain_python_finds(repaired):
    plain = search(filled(repaired), plain=True)
    compiled = search(filled(repaired), plain=False)
    assert without_traces(plain) == without_traces(compiled)
    assert [h.trace for h in plain.harms] == [h.trace for h in compiled.harms]


@needs_numba
def test_a_load_that_is_turned_away_is_found_in_ten_moves_and_its_repair_has_no_harm():
    found = search(study.model(repaired=False))
    assert found.closed
    assert {len(h.trace) for h in found.harms} == {10}
    assert [s.move for s in found.harms[0].trace][-3:] == ["arrive", "admit", "launch"]
    repaired = search(study.model(repaired=True))
    assert repaired.closed
    assert repaired.harms == ()


@ways
def test_a_trace_runs_from_the_start_to_its_harm(plain):
    model = filled(repaired=False)
    for harm in search(model, plain=plain).harms:
        acts = {m.name: m.act for m in model.moves}
        scratch = model.layout.scratch()
        scratch.set(FILLED)
        for step in harm.trace:
            assert model.judge(model.rules, scratch.world) == 0
            assert acts[step.move](model.rules, scratch.world, *step.picks)
            for name in ("request_booked", "request_phase", "node_host", "node_device"):
                assert scratch.values()[name] == step.after[name]
        assert model.judge(model.rules, scratch.world) == harm.code


@ways
@pytest.mark.parametrize(
    "limits, stopped",
    [
        (Limits(worlds=50), "50 worlds"),
        (Limits(moves=2), "2 moves"),
        (Limits(memory=9000), "memory for"),
        (Limits(until=0.0), "time"),
    ],
)
def test_a_limit_that_is_met_is_named_and_leaves_the_search_open(plain, limits, stopped):
    found = search(filled(repaired=False), limits, plain=plain)
    assert not found.closed
    assert str(found.stopped).startswith(stopped)


def test_a_limit_that_is_not_met_leaves_the_search_closed():
    depth = len(search(filled(repaired=True)).levels) - 1
    assert search(filled(repaired=True), Limits(moves=depth + 1)).closed
    assert search(filled(repaired=True), Limits(until=time.monotonic() + 3600)).closed


@ways
def test_an_interrupt_keeps_the_harms_found(plain):
    def interrupt(moves, worlds):
        if moves == 5:
            raise KeyboardInterrupt

    model = filled(repaired=False)
    found = search(model, plain=plain, progress=interrupt)
    assert found.stopped == "interrupted"
    assert found.harms


def test_a_harm_that_needs_more_of_the_moves_that_matter_is_left_out():
    fields = (Field("place_steps", "place"), Field("place_wrong", "place"))

    def walk(rules, w):
        w.place_steps[0] += 1
        return w.place_steps[0] < 5

    def breaks(rules, w):
        w.place_wrong[0] = 1
        return w.place_steps[0] >= 2

    def detour(rules, w):
        w.place_steps[0] += 2
        return w.place_steps[0] < 5

    def judge(rules, w):
        return w.place_wrong[0]

    layout = Layout(fields, {"place": 1}, {}, {"unused": numpy.zeros((1,), numpy.int8)})
    moves = (Move("walk", walk), Move("detour", detour, matters=True), Move("breaks", breaks))
    found = search(Model(layout, moves, judge, study.Rules(True)), plain=True)
    assert {h.moves for h in found.harms} == {frozenset({"detour"})} or [
        [s.move for s in h.trace] for h in found.harms
    ] == [["walk", "walk", "breaks"]]


def test_slots_that_nobody_names_are_forgotten_and_keep_what_is_not_content():
    fields = (
        Field("request_slot", "request", -1, refers="slot"),
        Field("slot_taken", "slot"),
        Field("slot_content", "slot", -2, forgotten=-2),
    )
    layout = Layout(
        fields,
        {"request": 2, "slot": 3},
        {"request": SORTED, "slot": MENTIONED},
        {"unused": numpy.zeros((1,), numpy.int8)},
    )

    def stays(rules, w):
        return False

    def judge(rules, w):
        return 0

    start = {"request_slot": [-1, 2], "slot_taken": [1, 0, 1], "slot_content": [7, 8, 9]}
    found, worlds = stored(
        Model(layout, (Move("stays", stays),), judge, study.Rules(True), start), True
    )
    assert found.closed
    assert worlds == [((-1, 0), (1, 0, 1), (9, -2, -2))]
