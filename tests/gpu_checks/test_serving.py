"""The served requests donate what the rules of `spec` say, and the tensors are the states of those depths."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from generators.cases import Event, read_cases  # noqa: E402
from generators.mechanisms.base import completed  # noqa: E402
from generators.stories import Story, Verifies, donations, verified  # noqa: E402
from gpu_checks.cold import by_steps  # noqa: E402
from gpu_checks.pairs import Pair, state_errors  # noqa: E402
from gpu_checks.recurrences import RECURRENCES  # noqa: E402
from gpu_checks.serving import resume  # noqa: E402
from gpu_checks.serving.buffer import Buffer, NotComputed  # noqa: E402
from gpu_checks.serving.request import EngineFault, Request  # noqa: E402
from gpu_checks.serving.resume import Told, replay_cases  # noqa: E402
from gpu_checks.serving.trace import BadTrace, serve  # noqa: E402
from gpu_checks.serving.tree import Tree  # noqa: E402
from gpu_checks.verdicts import tolerance  # noqa: E402
from spec.sglang import life  # noqa: E402
from spec.sglang.checkpoints import node_of  # noqa: E402
from spec.sglang.configuration import Configuration  # noqa: E402
from spec.sglang.designs import CURRENT, DESIGNS, design_named  # noqa: E402

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
    stream = GDN.stream(max(event.seq_len for event in events) + 1)
    return stream, serve(design, c, GDN, stream, events, **options)


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
    try:
        stream, donated = served(design, c, told(story))
    except EngineFault:
        pytest.skip("an assertion of this release stops the extend")
    wanted = saved(design, c, donations(design, c, story))
    assert depths_of(donated) == wanted
    written = [donation for donation in donated if donation.depth != life.UNWRITTEN]
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
    story = Verifies(prompt, accepts, retained=accepts[-1], grammar=False)
    last = story.last(c)
    story = Verifies(prompt, accepts, retained=accepts[last], grammar=False)
    events, reached = [Event("extend", prompt, prompt)], prompt
    for accepted in accepts:
        reached += accepted
        events.append(Event("verify", accepted, reached))
    stream, donated = served(design, c, [*events, Event("finish", 0, reached)])
    wanted = saved(design, c, [verified(design, c, story)])
    assert depths_of(donated) == wanted
    written = [donation for donation in donated if donation.depth != life.UNWRITTEN]
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
    case = Told("overwritten", CURRENT, DEFAULT, overwritten(), Pair(256, 512))
    outcome = replay_cases(recurrence, [case])
    assert outcome.contradicted == {}
    seen = {(one.phase, one.observed) for name, one in outcome.replays if name == "overwritten"}
    assert seen == {("extend", "diverges"), ("decode", "diverges"), ("verify", "diverges")}


def cases_of_lengths_off_the_chunk():
    """Requests that decode, verify and extend, resumed at nodes off the chunk of 64 tokens."""
    c = Configuration(page_size=16, mamba_track_interval=48, mamba_chunk_size=16)
    old = design_named("sglang-0.5.18")
    wide = replace(c, dcp_size=2, speculative_num_draft_tokens=5)
    verifies = [Event("extend", 90, 90), Event("verify", 3, 93), Event("verify", 5, 98)]
    return [
        Told("decode", old, c, told(Story(7, 48)), Pair(48, 48)),
        Told("widened", old, wide, told(Story(7, 144)), Pair(128, 144)),
        Told(
            "verify",
            old,
            wide,
            [*verifies, Event("verify", 1, 99), Event("finish", 0, 99)],
            Pair(96, 96),
        ),
        Told("extend", CURRENT, c, told(Story(100, 101)), Pair(96, 96)),
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
        # Batched products of matrices may round otherwise; steps do not.
        assert [one for one in alone if one.phase != "extend"] == [
            one for one in batched if one.phase != "extend"
        ]
        for one, other in zip(alone, batched, strict=True):
            assert abs(one.output_error - other.output_error) <= one.tolerance


def test_two_verifies_in_a_row_that_pass_a_boundary_write_one_slot():
    c = Configuration(page_size=64, mamba_track_interval=64, speculative_num_draft_tokens=40)
    events = [
        Event("extend", 63, 63),
        Event("verify", 33, 96),
        Event("verify", 33, 129),
        Event("finish", 0, 129),
    ]
    stream, donated = served(CURRENT, c, events)
    # The second is in flight when the first one's result ends the request.
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


@pytest.mark.parametrize(
    "name",
    [
        "kimi-k3-b300-balanced.json",
        "kimi-k3-b300-megamoe.json",
        "qwen3-coder-next-page64.json",
    ],
)
def test_the_trace_of_every_committed_case_ends_as_the_case_says(root, name):
    file = read_cases(root / "generated_tests" / "cases" / name)
    for case in file.cases:
        c = SimpleNamespace(**completed(case.configuration))
        design = design_named(file.design)
        if case.outcome == "fault":
            with pytest.raises(EngineFault):
                served(design, c, case.trace)
            continue
        _, donated = served(design, c, case.trace)
        assert (case.depths["node"], case.depths["state"]) in depths_of(donated)


def test_an_order_that_search_finds_in_the_newest_release_ends_as_its_case_says(root):
    file = read_cases(root / "generated_tests" / "cases" / "flags-that-meet-0.5.23.json")
    (case,) = [c for c in file.cases if c.code == "GP401" and not c.klass["speculates"]]
    c = SimpleNamespace(**completed(case.configuration))
    _, donated = served(design_named(file.design), c, case.trace)
    assert (case.depths["node"], case.depths["state"]) in depths_of(donated)


def test_an_event_that_is_not_served_is_refused():
    with pytest.raises(BadTrace, match="'retract'"):
        served(CURRENT, DEFAULT, [Event("retract", 0, 1)])


@pytest.mark.parametrize(
    "event",
    [Event("verify", 0, 5), Event("extend", 3, 4), Event("decode", 2, 9), Event("decode", 0, 5)],
)
def test_lengths_that_do_not_follow_are_refused(event):
    with pytest.raises(BadTrace, match="cannot lead from 5"):
        served(CURRENT, DEFAULT, [Event("extend", 5, 5), event])


def test_a_lazy_request_that_ends_with_its_verify_has_to_go_on_to_donate():
    c = Configuration(
        page_size=64,
        dcp_size=8,
        speculative_num_draft_tokens=8,
        strategy="extra_buffer_lazy",
        page_size_given=False,
    )
    design = design_named("sglang-0.5.17")
    events = [Event("extend", 760, 760), Event("verify", 8, 768), Event("finish", 0, 768)]
    assert (512, 768) not in depths_of(served(design, c, events)[1])
    outcome = replay_cases(
        RECURRENCES["short_conv"], [Told("lazy", design, c, events, Pair(512, 768))]
    )
    assert (outcome.went_on, outcome.contradicted) == (("lazy",), {})
    eager = replace(c, strategy="extra_buffer")
    outcome = replay_cases(
        RECURRENCES["short_conv"], [Told("eager", design, eager, events, Pair(512, 768))]
    )
    assert (outcome.went_on, outcome.contradicted) == ((), {})


def test_results_that_a_trace_tells_of_are_processed_where_they_stand():
    steps = [Event("decode", 1, 1 + n) for n in range(1, 64)]
    results = [event for step in steps for event in (step, Event("result", 0, step.seq_len))]
    c = Configuration(mamba_track_interval=32, mamba_chunk_size=16, page_size=16)
    events = [Event("extend", 1, 1), *results, Event("finish", 0, 64)]
    _, donated = served(CURRENT, c, events)
    assert depths_of(donated)


def test_a_slot_that_nobody_wrote_is_poisoned():
    state = GDN.empty(GDN.stream(1))
    slots = life.admitted(DEFAULT)
    held = Buffer(state).holding(slots, life.UNWRITTEN)
    assert all(value.isnan().all() for value in held.values())


def test_a_state_that_no_pass_computed_cannot_be_written():
    before = life.admitted(DEFAULT)
    with pytest.raises(NotComputed, match="64 tokens"):
        Buffer(GDN.empty(GDN.stream(1))).follow(before, before.put(0, 64), {})


def test_a_snapshot_is_not_changed_by_steps_that_update_their_state_in_place():
    request = Request(CURRENT, DEFAULT, GDN, GDN.stream(256))
    result = request.extend(256)
    for value in request._state.values():
        value.zero_()
    result(0, False)
    assert all(value.any() for value in request.donations[0].state.values())


def test_a_slot_that_is_handed_out_afresh_forgets_what_it_held():
    state = GDN.empty(GDN.stream(1))
    before = life.admitted(DEFAULT)
    written, buffer = before.put(0, 64), Buffer(state)
    buffer.follow(before, written, {64: state})
    assert not any(value.isnan().any() for value in buffer.holding(written, 64).values())
    fresh = written.put(0, life.UNWRITTEN)
    buffer.follow(written, fresh, {})
    assert all(value.isnan().all() for value in buffer.holding(fresh, life.UNWRITTEN).values())


def test_a_donation_whose_state_is_not_of_its_depth_is_told(monkeypatch):
    exact = resume.serve

    def one_token_more(design, c, recurrence, stream, events, **options):
        donated = exact(design, c, recurrence, stream, events, **options)
        late = [recurrence.step(d.state, stream.token(0))[0] for d in donated]
        return [replace(d, state=state) for d, state in zip(donated, late, strict=True)]

    case = Told("late", CURRENT, DEFAULT, overwritten(), Pair(256, 512))
    assert replay_cases(GDN, [case]).contradicted == {}
    monkeypatch.setattr(resume, "serve", one_token_more)
    told_of = replay_cases(GDN, [case]).contradicted
    assert told_of == {"late": "what its trace leaves is not the state of 512 tokens"}


def test_a_follower_is_given_the_deepest_node_short_of_its_last_token():
    stream = GDN.stream(300)
    request = Request(CURRENT, DEFAULT, GDN, stream)
    request.extend(256)(0, False)
    (donation,) = request.donations
    tree = Tree(DEFAULT)
    tree.insert(donation)
    assert (donation.node, tree.match(257)[0], tree.match(256)[0]) == (256, 256, 0)
    tree.evict(256)
    assert tree.match(257) == (0, None)


def test_a_node_that_has_a_state_keeps_it():
    _, first = served(CURRENT, DEFAULT, told(Story(255, 511)))
    _, right = served(CURRENT, DEFAULT, told(Story(256, 257)))
    tree = Tree(DEFAULT)
    tree.insert(first[-1])
    tree.insert(right[0])
    _, state = tree.match(257)
    assert all(torch.equal(state[part], first[-1].state[part]) for part in state)
