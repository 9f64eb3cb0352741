"""The served requests donate what the rules of `spec` say, and the tensors are the states of those depths."""

import random
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from generators.cases.file_format import Event, read_cases  # noqa: E402
from generators.emit.jobs import NotReplayed  # noqa: E402
from generators.sglang.codes import SLOT_LABEL  # noqa: E402
from generators.sglang.emit.replay_tests import resume_depths  # noqa: E402
from generators.sglang.emit.stories import Story, Verifies, donations, verified  # noqa: E402
from generators.sglang.search.moves import Moves  # noqa: E402
from generators.sglang.search.orders import events_of  # noqa: E402
from gpu_checks.cold_run import by_steps  # noqa: E402
from gpu_checks.equal_or_diverges import tolerance  # noqa: E402
from gpu_checks.recurrences import RECURRENCES  # noqa: E402
from gpu_checks.resume_pairs import Pair, state_errors  # noqa: E402
from gpu_checks.sglang import replay_case  # noqa: E402
from gpu_checks.sglang.buffer import Buffer, NotComputed, Snapshot  # noqa: E402
from gpu_checks.sglang.passes import Passes  # noqa: E402
from gpu_checks.sglang.replay_case import CaseToReplay, replay_cases, tree_of  # noqa: E402
from gpu_checks.sglang.request import EngineFault, Life, serve  # noqa: E402
from spec.sglang import slot_buffer  # noqa: E402
from spec.sglang.checkpoints import node_of  # noqa: E402
from spec.sglang.configuration import Configuration  # noqa: E402
from spec.sglang.engine import ENGINE  # noqa: E402
from spec.sglang.releases import CURRENT, DESIGNS, design_named  # noqa: E402
from spec.sglang.scheduler import PROMPT, Pass, Scheduler  # noqa: E402
from spec.transition_system import Trace  # noqa: E402

GDN = RECURRENCES["gdn"]
DEFAULT = Configuration(page_size=64)


def told(story):
    """The events of a story; an allocation that fails behind its stop is that of the step in flight."""
    events = [Event("extend", story.prompt, story.prompt)]
    for seq_len in range(story.prompt + 1, story.stop + 1):
        if seq_len in story.allocation_fails_at:
            events.append(Event("allocation_failure", 0, seq_len - 1))
        events.append(Event("decode", 1, seq_len))
        if seq_len in story.nothing_ahead_of:
            events.append(Event("other_batch", 0, seq_len))
    if story.stop + 1 in story.allocation_fails_at:
        events.append(Event("allocation_failure", 0, story.stop))
    return [*events, Event("finish", 0, story.stop)]


def served(design, c, events, **options):
    life = Life(design, c, events, **options)
    stream = GDN.stream(life.longest)
    return stream, serve(life, GDN, stream)


def assert_states_are_of_their_depths(stream, donated):
    depths = {donation.depth for donation in donated}
    cold = by_steps(GDN, stream, depths)
    for donation in donated:
        error = state_errors(donation.state, cold.states_at([donation.depth])).item()
        assert error <= tolerance(torch.float64, donation.depth)


def depths_of(donated):
    return [(donation.node, donation.depth) for donation in donated]


def saved(design, c, checkpoints):
    """Nodes and depths of checkpoints as the tree takes them."""
    placed = [(int(node_of(design, c, k)), int(k.state)) for k in checkpoints if k.saved]
    return [pair for pair in placed if pair[0]]


@pytest.mark.parametrize("seed", range(100))
def test_a_decoding_request_donates_what_the_rules_say(seed):
    choose = random.Random(seed)
    design = choose.choice(list(DESIGNS.values()))
    strategy = choose.choice(["extra_buffer", "extra_buffer_lazy"])
    c = Configuration(
        page_size=choose.choice([1, 8, 16]),
        dcp_size=choose.choice([1, 2, 3]),
        mamba_track_interval=choose.choice([16, 32]),
        mamba_chunk_size=16,
        strategy=strategy,
        overlap=strategy == "extra_buffer_lazy" or choose.random() < 0.7,
    )
    prompt = choose.randrange(1, 100)
    stop = prompt + choose.randrange(1, 150)
    grid = int(design.grid("decode", c))
    if choose.random() < 0.4:
        stop = max(prompt + 1, stop // grid * grid - 1)  # the next boundary is launched ahead
    near = [n for n in range(prompt + 1, stop + 2) if n % grid in (0, grid - 1)] or [stop]
    story = Story(
        prompt,
        stop,
        nothing_ahead_of=tuple(choose.sample(near, choose.randrange(len(near) + 1))),
        allocation_fails_at=tuple(n for n in near if n % grid == 0 and choose.random() < 0.3),
    )
    stream, donated = served(design, c, told(story))
    wanted = saved(design, c, donations(design, c, story))
    assert depths_of(donated) == wanted
    written = [donation for donation in donated if donation.depth != slot_buffer.UNWRITTEN]
    assert_states_are_of_their_depths(stream, written)


@pytest.mark.parametrize("seed", range(40))
def test_a_verified_request_donates_what_the_rules_say(seed):
    choose = random.Random(seed)
    design = choose.choice(list(DESIGNS.values()))
    strategy = choose.choice(["extra_buffer", "extra_buffer_lazy"])
    c = Configuration(
        page_size=choose.choice([1, 8]),
        mamba_track_interval=16,
        mamba_chunk_size=16,
        speculative_num_draft_tokens=12,
        strategy=strategy,
        overlap=strategy == "extra_buffer_lazy" or choose.random() < 0.5,
    )
    prompt = choose.randrange(1, 16)  # too short to donate
    accepts = tuple(choose.randrange(1, 13) for _ in range(choose.randrange(1, 7)))
    grammar = choose.random() < 0.5
    story = Verifies(prompt, accepts, 0, grammar)
    last = story.last(c)
    story = replace(story, retained=choose.randrange(1, accepts[last] + 1))
    lengths = [prompt + sum(accepts[:n]) for n in range(len(accepts) + 1)]
    verifies = zip(accepts, lengths[1:], strict=True)
    events = [
        Event("extend", prompt, prompt),
        *(Event("verify", accepted, reached) for accepted, reached in verifies),
        *([Event("other_batch", 0, lengths[-1])] if len(accepts) == 1 else []),
        Event("result", story.retained, lengths[last] + story.retained),
        Event("finish", 0, lengths[last] + story.retained),
    ]
    stream, donated = served(design, c, events, grammar=grammar)
    wanted = saved(design, c, [verified(design, c, story)])
    assert depths_of(donated) == wanted
    written = [donation for donation in donated if donation.depth != slot_buffer.UNWRITTEN]
    assert_states_are_of_their_depths(stream, written)


def any_order(choose, scheduler):
    """Moves that are possible one after the other, from a request's first one to its end."""
    moves, request = Moves(scheduler), scheduler.admit()
    taken = [choose.choice([*moves.starts()])]
    request = taken[0].apply(scheduler, request)
    while not request.stopped and taken[-1].event != "finish":
        ended = moves.ends(request) if request.waiting else ()
        possible = [m for m in (*ended, *moves.after(request)) if m.branching is None]
        special = [m for m in possible if m.event not in ("extend", "finish")]
        ends = [m for m in possible if m.event == "finish"]
        kind = special if special and (not ends or choose.random() < 0.8) else possible
        taken.append(choose.choice(kind))
        request = taken[-1].apply(scheduler, request)
    return tuple(taken[1:] if not taken[0].tokens else taken), request


@pytest.mark.parametrize("seed", range(150))
def test_any_order_of_events_leaves_in_tensors_what_it_leaves_in_numbers(seed):
    choose = random.Random(seed)
    design = choose.choice(list(DESIGNS.values()))
    strategy = choose.choice(["extra_buffer", "extra_buffer_lazy"])
    c = Configuration(
        page_size=choose.choice([1, 8, 16]),
        mamba_track_interval=choose.choice([16, 32]),
        mamba_chunk_size=16,
        speculative_num_draft_tokens=choose.choice([0, 0, 3, 12]),
        strategy=strategy,
        overlap=strategy == "extra_buffer_lazy" or choose.random() < 0.7,
    )
    moves, request = any_order(choose, Scheduler(design, c))
    assert not request.stopped
    end = Trace(moves, SLOT_LABEL, frozenset(), request.donated[-1].checkpoint, request.length)
    events = events_of(design, c, end)
    stream, donated = served(design, c, events, grammar=moves[-1].grammar)
    assert depths_of(donated) == saved(design, c, [d.checkpoint for d in request.donated])
    written = [donation for donation in donated if donation.depth != slot_buffer.UNWRITTEN]
    assert_states_are_of_their_depths(stream, written)


def overwritten():
    """The shortest trace of docs/found.md, fault 1: no result swaps the slots between two boundaries."""
    return told(Story(255, 511))


def test_a_slot_that_a_launch_ahead_overwrites_hangs_its_state_on_the_older_node():
    stream, donated = served(CURRENT, DEFAULT, overwritten())
    assert depths_of(donated)[-1] == (256, 512)
    assert_states_are_of_their_depths(stream, donated[-1:])


def test_with_the_proposed_swap_the_same_trace_leaves_the_right_state():
    design = design_named(f"{CURRENT.name}+completed-swap")
    _, donated = served(design, DEFAULT, overwritten())
    assert depths_of(donated)[-1] == (256, 256)


@pytest.mark.parametrize("recurrence", RECURRENCES.values(), ids=list(RECURRENCES))
def test_an_overwritten_slot_diverges_in_every_phase(recurrence):
    case = CaseToReplay("overwritten", Life(CURRENT, DEFAULT, overwritten()), Pair(256, 512))
    outcome = replay_cases(recurrence, [case])
    assert outcome.contradicted == {}
    seen = {(one.phase, one.observed) for name, one in outcome.replays if name == "overwritten"}
    assert seen == {("extend", "diverges"), ("decode", "diverges"), ("verify", "diverges")}


def cases_of_lengths_off_the_chunk():
    """Requests that decode, verify and extend, resumed at nodes off the chunk of 64 tokens."""
    c = Configuration(page_size=16, mamba_track_interval=48, mamba_chunk_size=16)
    old = design_named("sglang-0.5.18")
    wide = replace(c, dcp_size=2, speculative_num_draft_tokens=5)
    verifies = [Event("extend", 90, 90), Event("verify", 9, 99), Event("finish", 0, 99)]
    return [
        CaseToReplay("decode", Life(old, c, told(Story(7, 48))), Pair(48, 48)),
        CaseToReplay(
            "widened", Life(old, replace(c, dcp_size=2), told(Story(7, 144))), Pair(128, 144)
        ),
        CaseToReplay("verify", Life(old, wide, verifies), Pair(96, 96)),
        CaseToReplay("extend", Life(CURRENT, c, told(Story(100, 101))), Pair(96, 96)),
    ]


@pytest.mark.parametrize("recurrence", RECURRENCES.values(), ids=list(RECURRENCES))
def test_a_served_case_does_not_depend_on_the_batch_it_ran_in(recurrence):
    cases = cases_of_lengths_off_the_chunk()
    together = replay_cases(recurrence, cases)
    assert together.contradicted == {}
    for case in cases:
        alone = [one for name, one in replay_cases(recurrence, [case]).replays if name == case.name]
        batched = [one for name, one in together.replays if name == case.name]
        assert [one.observed for one in alone] == [one.predicted for one in batched]
        for one, other in zip(alone, batched, strict=True):
            assert (one.pair, one.phase) == (other.pair, other.phase)
            near = {"rel": one.tolerance, "abs": one.tolerance}
            assert one.state_error == pytest.approx(other.state_error, **near)
            assert one.output_error == pytest.approx(other.output_error, **near)


def verified_to_the_middle(**ending):
    """Two verifies that each pass a boundary, the first of which ends the request while the second is in flight."""
    c = Configuration(page_size=64, mamba_track_interval=64, speculative_num_draft_tokens=40)
    events = [Event("extend", 63, 63), Event("verify", 66, 129), Event("finish", 0, 103)]
    return Life(CURRENT, c, events, **ending)


def test_two_verifies_in_a_row_that_pass_a_boundary_write_one_slot():
    life = verified_to_the_middle()
    stream = GDN.stream(life.longest)
    donated = serve(life, GDN, stream)
    assert depths_of(donated) == [(64, 128)]
    assert_states_are_of_their_depths(stream, donated)


def test_a_snapshot_off_the_flush_steps_copies_an_older_state():
    c = Configuration(page_size=64, mamba_track_interval=64, overlap=False)
    every_48 = replace(CURRENT, flush_grid=lambda c: 48)
    stream, donated = served(every_48, c, told(Story(1, 128)), pending=True)
    assert depths_of(donated) == [(128, 96)]
    assert_states_are_of_their_depths(stream, donated)
    every_64 = replace(CURRENT, flush_grid=lambda c: 64)
    _, donated = served(every_64, c, told(Story(1, 128)), pending=True)
    assert depths_of(donated) == [(128, 128)]


FILES = (
    "flags-that-meet-0.5.21.json",
    "flags-that-meet-0.5.23.json",
    "kimi-k3-b300-balanced.json",
    "kimi-k3-b300-megamoe.json",
    "qwen3-coder-next-page64.json",
)


@pytest.mark.parametrize("name", FILES)
def test_the_trace_of_every_committed_case_ends_as_the_case_says(root, name):
    file = read_cases(root / "generated_tests" / "cases" / name)
    for case in file.cases:
        c, design = ENGINE.configuration_of(case.configuration), design_named(file.design)
        if case.outcome == "fault":
            with pytest.raises(EngineFault):
                served(design, c, case.trace)
            continue
        _, donated = served(design, c, case.trace, grammar=case.grammar)
        state = case.depths["state"]
        left = (case.depths["node"], slot_buffer.UNWRITTEN if state is None else state)
        assert left in depths_of(donated), case.id


@pytest.mark.parametrize("recurrence", RECURRENCES.values(), ids=list(RECURRENCES))
@pytest.mark.parametrize("name", FILES[:2])
def test_every_order_that_search_finds_diverges_in_every_phase(root, name, recurrence):
    file = read_cases(root / "generated_tests" / "cases" / name)
    told_of = []
    for case in file.cases:
        try:
            pair = Pair(*resume_depths(case))
        except NotReplayed:
            assert case.depths["state"] is None
            continue
        events = Life(
            design_named(file.design),
            ENGINE.configuration_of(case.configuration),
            case.trace,
            case.grammar,
        )
        told_of.append(CaseToReplay(case.id, events, pair))
    outcome = replay_cases(recurrence, told_of)
    assert outcome.contradicted == {}
    own = {case.name for case in told_of}
    seen = {(name, one.phase): one.observed for name, one in outcome.replays if name in own}
    assert len(seen) == 3 * len(told_of) and set(seen.values()) == {"diverges"}


@pytest.mark.parametrize(("grammar", "left"), [(True, [(64, 128)]), (False, [])])
def test_where_a_grammar_ends_a_verify_another_state_is_left_than_at_a_stop_token(grammar, left):
    c = Configuration(
        page_size=64,
        mamba_track_interval=64,
        speculative_num_draft_tokens=40,
        overlap=False,
    )
    events = [
        Event("extend", 63, 63),
        Event("verify", 65, 128),
        Event("result", 1, 104),
        Event("finish", 0, 104),
    ]
    _, donated = served(CURRENT, c, events, grammar=grammar)
    assert depths_of(donated) == left


def test_a_slot_that_nobody_wrote_is_poisoned():
    held = Buffer(slot_buffer.admitted(DEFAULT), GDN.empty(GDN.stream(1))).holding(
        slot_buffer.UNWRITTEN
    )
    assert held.consumed == slot_buffer.UNWRITTEN
    assert all(value.isnan().all() for value in held.state.values())


def test_a_state_that_no_pass_computed_cannot_be_written():
    slots = slot_buffer.admitted(DEFAULT)
    with pytest.raises(NotComputed, match="64 tokens"):
        Buffer(slots, GDN.empty(GDN.stream(1))).follow(slots.put(0, 64), {})


def test_a_snapshot_is_not_changed_by_steps_that_update_their_state_in_place():
    passes = Passes(CURRENT, DEFAULT, GDN, GDN.stream(256))
    slots = slot_buffer.admitted(DEFAULT)
    buffer = Buffer(slots, passes.state)
    buffer.follow(slots.put(0, 256), passes.run(Pass(PROMPT, 0, 256)))
    for value in passes.state.values():
        value.zero_()
    assert all(value.any() for value in buffer.holding(256).state.values())


def test_a_slot_that_is_handed_out_afresh_forgets_what_it_held():
    state = GDN.empty(GDN.stream(1))
    fresh = slot_buffer.admitted(DEFAULT)
    buffer = Buffer(fresh, state)
    buffer.follow(fresh.put(0, 64), {64: Snapshot(64, state)})
    assert not any(value.isnan().any() for value in buffer.holding(64).state.values())
    buffer.follow(fresh, {})
    buffer._slots = fresh.put(0, 64)  # as if the rules had forgotten that the slot is a new one
    assert all(value.isnan().all() for value in buffer.holding(64).state.values())


def test_a_donation_whose_state_is_not_of_its_depth_is_told(monkeypatch):
    exact = replay_case.serve

    def one_token_more(life, recurrence, stream):
        donated = exact(life, recurrence, stream)
        late = [recurrence.step(d.state, stream.token(0))[0] for d in donated]
        return [replace(d, state=state) for d, state in zip(donated, late, strict=True)]

    case = CaseToReplay("late", Life(CURRENT, DEFAULT, overwritten()), Pair(256, 512))
    assert replay_cases(GDN, [case]).contradicted == {}
    monkeypatch.setattr(replay_case, "serve", one_token_more)
    told_of = replay_cases(GDN, [case]).contradicted
    assert told_of == {"late": "what its trace leaves is not the state of 512 tokens"}


ALIGNED = CaseToReplay("aligned", Life(CURRENT, DEFAULT, told(Story(256, 257))), Pair(256, 256))
MISALIGNED = CaseToReplay("misaligned", Life(CURRENT, DEFAULT, overwritten()), Pair(256, 512))


@pytest.mark.parametrize("recurrence", RECURRENCES.values(), ids=list(RECURRENCES))
def test_a_resume_from_another_state_than_predicted_is_seen(recurrence, monkeypatch):
    assert replay_cases(recurrence, [ALIGNED, MISALIGNED]).contradicted == {}
    given = {"aligned": 512, "misaligned": 256}

    def other(replayer, told):
        return replayer.cold("decode").states_at([given[told.name]])

    monkeypatch.setattr(replay_case, "left_on_the_node", other)
    replays = replay_cases(recurrence, [ALIGNED, MISALIGNED]).replays
    seen = {(name, one.observed, one.as_predicted) for name, one in replays if name in given}
    assert seen == {("aligned", "diverges", False), ("misaligned", "equal", False)}


@pytest.mark.parametrize(
    "recurrence",
    [
        pytest.param(one, marks=pytest.mark.every_processor if name == "lightning" else ())
        for name, one in RECURRENCES.items()
    ],
    ids=list(RECURRENCES),
)
def test_a_pass_that_consumes_nothing_is_noticed(recurrence, monkeypatch):
    monkeypatch.setattr(Passes, "_decode", lambda self, end: {end: Snapshot(end, self.state)})
    outcome = replay_cases(recurrence, [ALIGNED, MISALIGNED])
    assert outcome.contradicted == {
        "misaligned": "what its trace leaves is not the state of 512 tokens"
    }


def test_a_follower_is_given_the_deepest_node_short_of_its_last_token():
    events = told(Story(256, 257))
    _, (donation,) = served(CURRENT, DEFAULT, events)
    tree = tree_of(Life(CURRENT, DEFAULT, events), [donation])
    assert donation.node == 256
    assert tree.match(range(257)).payload is donation
    assert tree.match(range(256)).payload is None


def test_a_node_that_has_a_state_keeps_it():
    _, first = served(CURRENT, DEFAULT, told(Story(255, 511)))
    _, right = served(CURRENT, DEFAULT, told(Story(256, 257)))
    tree = tree_of(Life(CURRENT, DEFAULT, ()), [first[-1], right[0]])
    assert tree.match(range(257)).payload is first[-1]
