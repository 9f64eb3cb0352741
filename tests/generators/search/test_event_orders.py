"""The search of orders: what it finds, that it misses nothing, that a group's configurations are alike."""

import shlex
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from generators.cases.domain import Domain, domain_of
from generators.check.session import Judging
from generators.launch.launch import read_launch
from generators.search import event_orders
from generators.search.batches import batches
from generators.search.equivalence import classes
from generators.search.event_orders import find_orders, search_orders
from generators.search.limits import SearchLimits
from generators.sglang import codes
from generators.sglang.emit import retelling
from generators.sglang.emit.stories import follower
from generators.sglang.search.moves import NO_MIXED_VERIFIES, NOT_EVERY_BOUNDARY, Move
from generators.sglang.search.orders import class_of, first_orders
from generators.sglang.search.request_life import RequestLife
from spec.sglang import slot_buffer
from spec.sglang.configuration import Configuration
from spec.sglang.releases import CURRENT, DESIGNS, RELEASES, Design, design_named
from spec.sglang.rules import extend, grids, insert, slots
from spec.sglang.scheduler import VERIFY, Scheduler
from spec.transition_system import Trace, shrunk

DEFAULTS = Configuration()
REPAIRED = design_named("sglang-0.5.23+completed-swap")
KINDS = (
    {"strategy": "extra_buffer", "overlap": True},
    {"strategy": "extra_buffer", "overlap": False},
    {"strategy": "extra_buffer_lazy", "overlap": True},
)
SMALL = [
    Configuration(
        page,
        dcp,
        interval,
        drafts,
        "EAGLE" if drafts else None,
        None,
        **kind,
        mamba_chunk_size=chunk,
    )
    for page, dcp, interval, chunk, drafts in (
        *((1, 1, 8, 4, 0), (4, 2, 8, 4, 0), (2, 3, 6, 2, 0), (1, 1, 5, 4, 0)),
        *((4, 1, 8, 4, 3), (2, 2, 4, 2, 2), (2, 1, 32, 4, 2), (1, 1, 8, 4, 5)),
    )
    for kind in KINDS
]


@cache
def searched(design: Design, c: Configuration):
    return RequestLife(design, c).run(6)


def test_the_newest_release_overwrites_a_slot_with_default_flags_and_one_request():
    found = search_orders(CURRENT, domain_of(DEFAULTS))
    (case,) = found.cases
    assert (case.code, case.outcome) == (codes.SLOT_OVERWRITTEN.id, "overwritten")
    assert case.depths == {"state": 512, "node": 256, "replayed": 256}
    assert [(e.event, e.seq_len) for e in case.trace] == [
        *(("extend", 255), ("decode", 512), ("finish", 511))
    ]
    assert case.klass["cause"] == "alone"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_no_order_of_any_length_breaks_the_proposed_swap(kind):
    run = RequestLife(REPAIRED, replace(DEFAULTS, **kind)).run(20)
    assert run.closed and not run.traces


@pytest.mark.parametrize(
    ("release", "kind", "drafts", "code", "cause"),
    [
        ("0.5.23", KINDS[0], 40, codes.SLOT_OVERWRITTEN, set()),
        ("0.5.23", KINDS[1], 4, codes.SLOT_OVERWRITTEN, {"grammar"}),
        ("0.5.21", KINDS[2], 0, codes.SLOT_OVERWRITTEN, {"allocation_failure"}),
        ("0.5.21", KINDS[0], 4, codes.SLOT_LABEL, {"grammar"}),
        ("0.5.17", KINDS[0], 0, codes.SLOT_OVERWRITTEN, {"other_batch"}),
        ("0.5.18", KINDS[0], 0, codes.DECODE_GRID, set()),
        ("0.5.20", KINDS[0], 0, codes.EXTEND_PREFIX, {"chunk"}),
        ("0.5.18", KINDS[0], 0, codes.EXTEND_ASSERTION, {"chunk"}),
        ("0.5.17", KINDS[0], 0, codes.EXTEND_GRID, set()),
    ],
)
def test_a_known_fault_is_found_from_the_design_alone(release, kind, drafts, code, cause):
    wide = code not in codes.SLOTS
    c = Configuration(64, 8 if wide else 1, 320 if wide else 64, drafts, **kind)
    search = RequestLife(DESIGNS[f"sglang-{release}"], c)
    found = (trace for events in range(1, 7) for trace in search.run(events).traces)
    assert any((trace.kind, set(trace.causes)) == (code, cause) for trace in found)


def random_moves(rng: Random, search: RequestLife) -> tuple[Move, ...]:
    """Moves of any length, each of which can follow on the one before."""
    scheduler, c = search.scheduler, search.c
    most = 2 * search.moves.period
    moves = rng.choice([(), (), (Move("match", search.moves.node),)])
    request = scheduler.admit(moves[0].tokens if moves else 0)
    in_prompt = True
    for _ in range(9):
        kinds = ["finish", "go", "go", "go"] if request.waiting else ["extend"]
        if in_prompt and len(request.waiting) == 1:
            kinds.append("extend")
        if request.waiting and c.overlap and not request.alone:
            kinds.append("other_batch")
        if c.strategy == "extra_buffer_lazy":
            kinds.append("allocation_failure")
        move = Move(rng.choice(kinds))
        if move.event == "extend":
            move = Move("extend", request.length + rng.randint(1, most))
        elif move.event == "go":
            in_prompt, tokens = False, rng.randint(1, rng.choice([2, most]))
            move = (
                Move("verify", tokens) if c.speculates else Move("decode", request.length + tokens)
            )
        elif move.event == "finish" and (last := scheduler.ends_with(request)).kind == VERIFY:
            accepted = last.end - last.start
            kept = rng.randint(1, accepted)
            move = Move("finish", kept, grammar=kept < accepted and rng.random() < 0.5)
        moves = (*moves, move)
        request = move.apply(scheduler, request)
        if move.event == "finish" or request.stopped:
            break
    return moves


def test_whatever_ends_wrong_at_random_is_of_a_class_that_was_found():
    rng, wrong = Random(20), 0
    for _ in range(2_000):
        design, c = rng.choice([*DESIGNS.values(), REPAIRED]), rng.choice(SMALL)
        if not all(guard.accepts(c) for guard in design.guards):
            continue
        search = RequestLife(design, c)
        if (trace := search.follow(random_moves(rng, search))) is not None:
            wrong += 1
            found = searched(design, c).traces
            known = [f for f in found if f.kind == trace.kind and f.causes <= trace.causes]
            assert known, (design.name, c, shrunk(search, trace))
    assert wrong > 150


def _two_of_a_class(rng: Random, design: Design) -> list[Configuration]:
    """Two configurations that the design's start-up guards accept and that are searched as one.

    Their numbers are multiples of one that is many verifies, since smaller ones are told apart.
    """
    drafts = rng.choice([0, 0, 1, 2])
    many = 6 * (drafts + 1)
    axes = {
        "page_size": (1, many, 2 * many, 3 * many),
        "dcp_size": (1, 2, 3),
        "mamba_track_interval": tuple(n * many for n in (2, 3, 4, 6, 8)),
        "mamba_chunk_size": (many, 2 * many),
        "speculative_num_draft_tokens": (drafts,),
        "speculative_algorithm": ("EAGLE" if drafts else None,),
        **{name: (value,) for name, value in rng.choice(KINDS).items()},
    }
    ((batch, _),) = batches(design, Domain(axes))
    found = [alike for alike in classes(design, batch) if len(alike) > 1]
    return [Configuration(**batch.at(int(i))) for i in rng.sample(list(rng.choice(found)), 2)]


def test_configurations_of_a_class_are_broken_by_the_same_orders():
    rng = Random(7)
    for _ in range(12):
        design = rng.choice(list(DESIGNS.values()))
        two = _two_of_a_class(rng, design)
        runs = (RequestLife(design, c).run(5).traces for c in two)
        first, second = ({(t.kind, t.causes) for t in traces} for traces in runs)
        assert first == second, (design.name, two)


def test_a_shrunk_trace_ends_wrong_for_the_same_reason_with_no_more_tokens():
    search = RequestLife(CURRENT, replace(DEFAULTS, page_size=64))
    long = search.follow((Move("extend", 511), Move("decode", 768), Move("finish")))
    assert isinstance(long, Trace)
    short = shrunk(search, long)
    assert (short.kind, short.causes) == (long.kind, long.causes)
    assert short.tokens == 512 and class_of(CURRENT, search.c, short) == class_of(
        CURRENT, search.c, long
    )


def test_a_time_that_is_over_leaves_orders_unsearched_and_says_so():
    found = find_orders(CURRENT, domain_of(DEFAULTS), limits=SearchLimits(until=0.0))
    assert found.searched < found.representatives
    assert not search_orders(CURRENT, domain_of(DEFAULTS), limits=SearchLimits(until=0.0)).complete


def test_ctrl_c_keeps_what_was_found(monkeypatch):
    domain = Domain({"overlap": (True, False), "page_size": (1, 64)})
    run, calls = event_orders.shortest_traces, []

    def interrupted(*limits, **others):
        calls.append(limits)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return run(*limits, **others)

    monkeypatch.setattr(event_orders, "shortest_traces", interrupted)
    found = search_orders(CURRENT, domain, jobs=1)
    assert found.cases and not found.complete


@pytest.mark.parametrize("release", ["0.5.21", "0.5.23"])
def test_a_case_is_told_again_as_the_story_that_ends_with_its_depths(release):
    axes = {"page_size": (64,), "mamba_track_interval": (64,), "overlap": (True, False)}
    axes |= {"strategy": ("extra_buffer", "extra_buffer_lazy")}
    axes |= {"speculative_num_draft_tokens": (0, 40)}
    design = DESIGNS[f"sglang-{release}"]
    cases = [
        case
        for case in search_orders(design, Domain(axes)).cases
        if case.code == codes.SLOT_OVERWRITTEN.id
    ]
    told = [retelling.story_of(case) or retelling.verifies_of(case) for case in cases]
    assert len([story for story in told if story is not None]) >= 4


def test_skipping_verifies_that_do_nothing_changes_nothing():
    c = Configuration(64, 1, 256, 4, "EAGLE", strategy="extra_buffer_lazy")
    scheduler = Scheduler(CURRENT, c)
    request = scheduler.extend(scheduler.admit(), 250)
    for tokens in (3, 500, 9, 260):
        at_once, one_by_one = scheduler.verify_on(request, tokens), request
        while one_by_one.length < at_once.length:
            rest = at_once.length - one_by_one.length
            one_by_one = scheduler.verify(one_by_one, min(4, rest))
        assert at_once == one_by_one
        request = scheduler.other_batch(at_once)


def test_what_is_read_by_a_request_is_searched_once_and_what_differs_in_it_again():
    wanted, known = (codes.SLOT_OVERWRITTEN,), {}
    c, newest = Configuration(page_size=64), DESIGNS["sglang-0.5.23"]

    def searched(design, configuration=c):
        before = len(known)
        first_orders(design, configuration, wanted, 3, known)
        return len(known) - before

    assert searched(newest) == 1
    assert searched(DESIGNS["sglang-0.5.22"]) == 0
    assert searched(newest, replace(c, chunked_prefill_size=64)) == 0
    for change in (
        {"swap": slots.swap_follows_the_completed_step},
        {"label": slots.label_of_the_launched_length},
        {"verify_label_start": slots.label_counts_the_accepted},
        {"key_ends_at_the_stop": False},
        {"stores_the_kept_entry": False},
        {"failure_forgets_the_label": False},
        {"fallback_slot": False},
        {"insert_guard": insert.depth_has_a_node},
        {"decode_grid": grids.tree_page},
        {"extend_assertion": extend.depth_is_on_the_chunk},
    ):
        assert searched(replace(newest, **change)) == 1, change
    for change in (
        {"mamba_track_interval": 512},
        {"page_size": 32},
        {"dcp_size": 2},
        {"mamba_chunk_size": 32},
        {"strategy": "extra_buffer_lazy"},
        {"overlap": False},
        {"speculative_num_draft_tokens": 4, "speculative_algorithm": "EAGLE"},
    ):
        assert searched(newest, replace(c, **change)) == 1, change


def mixed(design, step, stop):
    """What a follower is given after a prompt of 200 tokens, the step at `step` mixed with a chunk, a stop at `stop`."""
    c = Configuration(page_size=64)
    scheduler = Scheduler(design, c)
    request = scheduler.extend(scheduler.admit(), 200)
    request = scheduler.mixed_batch(scheduler.decode(request, step - 1))
    request = scheduler.finish(scheduler.decode(request, stop + 1))
    given = follower(design, c, [donation.checkpoint for donation in request.donated])
    return given["node"], given["state"]


@pytest.mark.parametrize("release", RELEASES[1:])
def test_a_boundary_that_shares_its_batch_with_a_chunk_is_swapped_for_and_not_written(release):
    assert mixed(DESIGNS[f"sglang-{release}"], 512, 767) == (256, 768)
    assert mixed(DESIGNS[f"sglang-{release}"], 257, 511) == (256, 256)
    repaired = design_named(f"sglang-{release}+completed-swap")
    assert mixed(repaired, 512, 767) == (256, 256)


@pytest.mark.parametrize("release", RELEASES[1:])
def test_a_mixed_step_right_before_a_boundary_is_not_swapped_for(release):
    """The result of a mixed step does nothing to slots: 512 and 768 are written into one."""
    assert mixed(DESIGNS[f"sglang-{release}"], 511, 767) == (512, 768)
    assert mixed(design_named(f"sglang-{release}+completed-swap"), 511, 767) == (512, 512)


@pytest.mark.parametrize("release", RELEASES)
def test_a_prompt_in_a_mixed_batch_is_donated_and_up_to_0_5_22_nobody_wrote_it(release):
    design = DESIGNS[f"sglang-{release}"]
    search = RequestLife(design, replace(DEFAULTS, strategy="extra_buffer_lazy"), mixes=True)
    scheduler = search.scheduler
    request = scheduler.extend(scheduler.mixed_batch(scheduler.admit()), 100)
    (donated,) = scheduler.decode(scheduler.other_batch(request), 101).donated
    written = 64 if release == "0.5.23" else slot_buffer.UNWRITTEN
    assert (donated.checkpoint.recorded, donated.checkpoint.state) == (64, written)
    wrong = [trace.ending.state for trace in search.run(4).traces]
    assert (slot_buffer.UNWRITTEN in wrong) == (release != "0.5.23")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_mixed_batches_do_not_break_the_proposed_swap(kind):
    search = RequestLife(REPAIRED, replace(DEFAULTS, **kind), mixes=True)
    assert search.run(8).traces == ()


def test_verifies_are_not_searched_in_mixed_batches():
    """What docs/limits.md says is not modelled."""
    drafts = replace(DEFAULTS, speculative_num_draft_tokens=4, speculative_algorithm="EAGLE")
    search = RequestLife(CURRENT, drafts, mixes=True)
    admitted = search.scheduler.admit()
    verified = search.scheduler.verify(search.scheduler.extend(admitted, 9), 2)
    for request in (admitted, verified):
        assert "mixed_batch" not in {move.event for move in search.moves.after(request)}


@pytest.mark.parametrize(
    ("release", "algorithm", "untried"),
    [
        ("0.5.23", "EAGLE", (NO_MIXED_VERIFIES,)),
        ("0.5.19", "DFLASH", (NO_MIXED_VERIFIES,)),
        ("0.5.23", "NGRAM", ()),
        ("0.5.18", "EAGLE", ()),
    ],
)
def test_a_search_that_mixed_verifies_are_left_out_of_is_not_complete(release, algorithm, untried):
    """Up to 0.5.18, and with most algorithms, the engine turns mixed chunks off where it speculates."""
    c = replace(DEFAULTS, speculative_num_draft_tokens=2, speculative_algorithm=algorithm)
    design, limits = DESIGNS[f"sglang-{release}"], SearchLimits(events=2, mixes=True)
    found = search_orders(design, domain_of(c), limits=limits)
    assert found.complete == (not untried)
    assert tuple(note for note in found.notes if note == NO_MIXED_VERIFIES) == untried
    unmixed = search_orders(design, domain_of(c), limits=SearchLimits(events=2))
    assert unmixed.complete and NO_MIXED_VERIFIES not in unmixed.notes


def test_a_check_does_not_say_that_all_orders_were_searched_where_mixed_verifies_were_not():
    command = "sglang serve --page-size 1 --speculative-algorithm EAGLE --enable-mixed-chunk"
    launch = read_launch(shlex.split(f"{command} --speculative-num-draft-tokens 2"))
    orders = Judging().judge(CURRENT, launch, "x").orders
    assert orders.untried == (NO_MIXED_VERIFIES,) and not orders.closed


def test_mixed_batches_break_no_more_than_one_request_alone_does():
    found = RequestLife(CURRENT, replace(DEFAULTS, **KINDS[0]), mixes=True).run(6).traces
    assert {trace.kind for trace in found} == {codes.SLOT_OVERWRITTEN}


def test_a_search_in_which_many_boundaries_lie_in_a_period_is_not_complete():
    """A raw interval that shares little with the tree page: 125 boundaries until all grids lie alike."""
    axes = {"page_size": (64,), "dcp_size": (8,), "mamba_track_interval": (1000,)}
    limits = SearchLimits(events=3)
    found = search_orders(design_named("sglang-0.5.18"), Domain(axes), guards=False, limits=limits)
    assert not found.complete and NOT_EVERY_BOUNDARY in found.notes
    nested = search_orders(
        design_named("sglang-0.5.23"), Domain({"page_size": (64,)}), limits=limits
    )
    assert nested.complete


def test_a_prompt_that_ends_right_before_a_node_is_tried_however_many_boundaries_there_are():
    c = replace(DEFAULTS, page_size=64, dcp_size=8, mamba_track_interval=64)
    life = RequestLife(design_named("sglang-0.5.18"), c, only_slots=True)
    (found,) = (
        t
        for t in life.run(5, (codes.SLOT_OVERWRITTEN,)).traces
        if not t.causes and t.kind is codes.SLOT_OVERWRITTEN
    )
    assert [(move.event, move.tokens) for move in found.moves][:2] == [
        ("extend", 511),
        ("decode", 576),
    ]
