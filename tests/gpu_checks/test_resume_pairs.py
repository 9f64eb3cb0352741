"""Warm runs in a batch show what each of them shows alone, and what the model predicts of it."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from gpu_checks import choices, equal_or_diverges, resume_pairs  # noqa: E402
from gpu_checks.cold_run import ColdRun, by_steps  # noqa: E402
from gpu_checks.phases import PHASES  # noqa: E402
from gpu_checks.recurrences import RECURRENCES  # noqa: E402
from gpu_checks.resume_pairs import WINDOW, Pair, controls, replay  # noqa: E402
from tests.gpu_checks.operations import recording  # noqa: E402

BY_NAME = pytest.mark.parametrize("recurrence", RECURRENCES.values(), ids=list(RECURRENCES))
BY_PHASE = pytest.mark.parametrize("phase", PHASES)
# Nodes on the chunk and off it; states ahead of the node, behind it and on it.
SOME = [Pair(n, n + off) for n in (64, 100, 512) for off in (-64, -1, 0, 1, 7, 256)]
SOME = [pair for pair in SOME if pair.state > 0]


def repeating(phase):
    """Pairs of these whose resume repeats the cold run."""
    cpu = torch.device("cpu")
    return [pair for pair in SOME if resume_pairs.same_operations(PHASES[phase], pair, cpu)]


def calls_of(recurrence, some, phase):
    """The operations of each call of a form of the recurrence, cold and warm, in order."""
    calls = []
    forms = {form: recording(getattr(recurrence, form), calls) for form in ("step", "chunk")}
    replay(replace(recurrence, **forms), some, [phase])
    return calls


@BY_NAME
@BY_PHASE
def test_a_resume_that_must_be_equal_makes_the_very_calls_of_the_cold_run(recurrence, phase):
    some = repeating(phase)
    assert {pair.node for pair in some} == {
        n for n in (64, 100, 512) if n % PHASES[phase].grid == 0
    }
    cold, calls = (512 + WINDOW) // PHASES[phase].grid, calls_of(recurrence, some, phase)
    assert len(calls) >= cold + len(some) * WINDOW // PHASES[phase].grid
    assert len(set(calls)) == 1


@BY_NAME
@BY_PHASE
def test_a_resume_in_a_batch_makes_other_calls(recurrence, phase):
    assert len(set(calls_of(recurrence, [Pair(64, 128), Pair(128, 192)], phase))) == 2


@BY_NAME
@BY_PHASE
def test_every_pair_does_what_its_depths_say(recurrence, phase):
    found = replay(recurrence, SOME, [phase])
    assert {one.pair: one.observed for one in found} == {
        pair: equal_or_diverges.predicted(*pair) for pair in SOME
    }


@pytest.mark.every_processor
@BY_NAME
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
def test_the_state_of_the_node_is_equal_and_one_a_token_off_is_not(recurrence, dtype):
    found = replay(recurrence, [Pair(n, n + off) for n in (64, 100) for off in (0, 1)], dtype=dtype)
    for one in found:
        equal = one.pair.node == one.pair.state
        assert one.same_operations == (equal and (one.phase != "extend" or one.pair.node != 100))
        # In float32 a single token off may lie between, and is not equal.
        assert one.as_predicted or dtype == torch.float32
        assert (one.observed == "equal") == equal


@BY_NAME
def test_in_float32_too_where_more_than_a_token_is_off(recurrence):
    some = [pair for pair in SOME if abs(pair.node - pair.state) not in (1, 7)]
    found = replay(recurrence, some, dtype=torch.float32)
    assert [one for one in found if one.observed != one.predicted] == []


@BY_NAME
@BY_PHASE
def test_a_result_does_not_depend_on_its_batch(recurrence, phase):
    together = {one.pair: one for one in replay(recurrence, SOME, [phase])}
    for pair in SOME[::4]:
        (alone,) = replay(recurrence, [pair], [phase])
        if alone.same_operations:
            assert alone == together[pair]
        assert alone.observed == together[pair].observed


def test_batches_are_cut_without_changing_a_result(monkeypatch):
    gdn = RECURRENCES["gdn"]
    whole = replay(gdn, SOME, ["decode"])
    monkeypatch.setattr(resume_pairs, "MOST_AT_ONCE", 5)
    for cut, one in zip(replay(gdn, SOME, ["decode"]), whole, strict=True):
        assert (cut.pair, cut.observed, cut.same_operations) == (
            one.pair,
            one.observed,
            one.same_operations,
        )
        near = {"rel": one.tolerance, "abs": one.tolerance}
        assert cut.state_error == pytest.approx(one.state_error, **near)
        assert cut.output_error == pytest.approx(one.output_error, **near)


@BY_NAME
@BY_PHASE
def test_the_batch_agrees_with_a_request_that_is_run_by_hand(recurrence, phase):
    pair = Pair(100, 164)
    stream = recurrence.stream(pair.node + WINDOW)
    run = PHASES[phase].run
    _, cold = run(recurrence, recurrence.empty(stream), stream)
    held, _ = run(recurrence, recurrence.empty(stream), stream.span(0, pair.state))
    _, warm = run(recurrence, held, stream.span(pair.node, pair.node + WINDOW))
    wanted = cold[..., pair.node :, :]
    error = ((warm - wanted).abs().max() / wanted.abs().max()).item()
    (one,) = replay(recurrence, [pair], [phase])
    assert one.output_error == pytest.approx(error, rel=1e-9)


@BY_NAME
def test_one_layer_that_is_off_is_enough_to_be_noticed(recurrence, monkeypatch):
    exact = ColdRun.states_at

    def with_a_wrong_layer(self, depths):
        states = {part: value.clone() for part, value in exact(self, depths).items()}
        if depths == [64]:
            for value in states.values():
                value[:, 1] += 1e-3 * value[:, 1].abs().max()
        return states

    stream = recurrence.stream(64 + WINDOW)
    cold = by_steps(recurrence, stream, {64, 64 + WINDOW})
    held = with_a_wrong_layer(cold, [64])
    assert resume_pairs.state_errors(held, cold.states_at([64])).item() > 1e-4


def test_a_lost_write_into_the_window_alone_is_noticed():
    gdn = RECURRENCES["gdn"]
    cold = by_steps(gdn, gdn.stream(128), {64, 63})
    held = {**cold.states_at([64]), "window": cold.states_at([63])["window"]}
    assert resume_pairs.state_errors(held, cold.states_at([64])).item() > 0.1


def test_a_state_that_nobody_wrote_is_as_wrong_as_can_be():
    gdn = RECURRENCES["gdn"]
    wanted = by_steps(gdn, gdn.stream(64), {64}).states_at([64])
    unwritten = {part: torch.full_like(value, torch.nan) for part, value in wanted.items()}
    assert resume_pairs.state_errors(unwritten, wanted).item() == torch.finfo(torch.float64).max


@pytest.mark.parametrize(
    ("state_error", "output_error", "same_operations", "verdict"),
    [
        (0.0, 0.0, True, "equal"),
        (0.0, 1e-16, True, "between"),
        (0.0, 1e-16, False, "equal"),
        (1e-14, 1e-14, False, "equal"),
        (1.1e-14, 0.0, False, "between"),
        (1.0, 1e-12, False, "between"),
        (1e-12, 1.0, True, "between"),
        (2e-12, 2e-12, False, "diverges"),
        (2e-12, 2e-12, True, "diverges"),
    ],
)
def test_what_is_neither_equal_nor_far_off_is_between(
    state_error, output_error, same_operations, verdict
):
    assert equal_or_diverges.observed(state_error, output_error, 1e-14, same_operations) == verdict


def test_the_controls_are_the_right_state_and_one_that_is_a_token_off():
    assert [equal_or_diverges.predicted(*pair) for pair in controls(512)] == ["equal", "diverges"]


def test_the_names_are_those_of_what_there_is():
    assert tuple(RECURRENCES) == choices.RECURRENCES


@pytest.mark.every_processor
def test_a_state_that_goes_wrong_after_the_resume_is_noticed(monkeypatch):
    def forgets(recurrence, state, tokens):
        return state, recurrence.scan(state, tokens)[1]

    monkeypatch.setitem(PHASES, "decode", replace(PHASES["decode"], run=forgets))
    (one,) = replay(RECURRENCES["gdn"], [Pair(64, 64)], ["decode"])
    assert (one.output_error, one.observed) == (0.0, "between")


@BY_NAME
@BY_PHASE
def test_a_replay_reads_nothing_that_was_not_written(recurrence, phase, poisoned_memory):
    found = replay(recurrence, [Pair(100, 100), Pair(100, 101)], [phase])
    assert [one.observed for one in found] == ["equal", "diverges"]
