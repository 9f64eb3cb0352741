"""The recurrences are those that others wrote, and their two forms agree."""

import math

import pytest

torch = pytest.importorskip("torch")

from gpu_checks.recurrences import RECURRENCES  # noqa: E402
from gpu_checks.recurrences.tokens import Shape  # noqa: E402
from tests.gpu_checks.oracles import ORACLES  # noqa: E402

LENGTHS = (1, 63, 64, 65, 197)
BY_ORACLE = pytest.mark.parametrize(("name", "oracle"), ORACLES, ids=map("-".join, ORACLES))
BY_NAME = pytest.mark.parametrize("recurrence", RECURRENCES.values(), ids=list(RECURRENCES))


def from_a_state(recurrence, length, dtype=torch.float64, before=37):
    """A state that has consumed some tokens, and the tokens that follow."""
    stream = recurrence.stream(before + length, dtype=dtype, seed=3)
    start = stream.span(0, before)
    state, _ = recurrence.scan(recurrence.empty(start), start)
    return state, stream.span(before, before + length)


def error(found, wanted):
    """The largest difference relative to the largest number wanted."""
    return ((found.double() - wanted.double()).abs().max() / wanted.double().abs().max()).item()


def errors(found, wanted):
    (state, outputs), (right_state, right_outputs) = found, wanted
    assert state.keys() == right_state.keys()
    return [error(outputs, right_outputs)] + [error(state[p], right_state[p]) for p in state]


def noise(dtype, tokens):
    """What the order of operations may change: docs/replay.md."""
    return torch.finfo(dtype).eps * max(64, tokens / 2)


@BY_NAME
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_chunked_form_gives_what_the_steps_give(recurrence, dtype, length):
    state, tokens = from_a_state(recurrence, length, dtype)
    worst = max(errors(recurrence.extend(state, tokens), recurrence.scan(state, tokens)))
    assert worst <= noise(dtype, length)


@pytest.mark.every_processor
@BY_NAME
@pytest.mark.parametrize("cut", [64, 128])
def test_two_extends_in_a_row_are_bitwise_one_where_they_are_cut_on_the_chunk(recurrence, cut):
    state, tokens = from_a_state(recurrence, 192)
    whole, outputs = recurrence.extend(state, tokens)
    half, first = recurrence.extend(state, tokens.span(0, cut))
    end, second = recurrence.extend(half, tokens.span(cut, 192))
    assert torch.equal(torch.cat([first, second], -2), outputs)
    assert all(torch.equal(end[part], whole[part]) for part in whole)


@BY_ORACLE
@pytest.mark.parametrize("length", (64, 197))
@pytest.mark.parametrize("form", ["step", "chunk"])
def test_both_forms_agree_with_what_others_wrote(name, oracle, length, form):
    recurrence = RECURRENCES[name]
    run = ORACLES[name, oracle]()
    state, tokens = from_a_state(recurrence, length, torch.float32)
    ours = recurrence.extend if form == "chunk" else recurrence.scan
    # Both sides have the noise of float32, so twice the tolerance.
    assert max(errors(ours(state, tokens), run(state, tokens))) <= 2 * noise(torch.float32, 256)


@BY_ORACLE
def test_an_oracle_notices_a_state_one_token_off(name, oracle):
    recurrence = RECURRENCES[name]
    run = ORACLES[name, oracle]()
    state, tokens = from_a_state(recurrence, 65, torch.float32)
    late, _ = recurrence.step(state, tokens.token(0))
    found = recurrence.scan(late, tokens)
    assert errors(found, run(state, tokens))[0] > 10 * noise(torch.float32, 256)


@BY_NAME
@pytest.mark.parametrize("form", ["step", "chunk"])
def test_nothing_is_read_from_memory_that_was_not_written(recurrence, form, poisoned_memory):
    state, tokens = from_a_state(recurrence, 97)
    after, outputs = (recurrence.extend if form == "chunk" else recurrence.scan)(state, tokens)
    assert not any(part.isnan().any() for part in (outputs, *after.values()))


def test_uninitialised_memory_is_poisoned_for_the_test_above(poisoned_memory):
    assert torch.empty(100).isnan().all()


@BY_NAME
def test_a_form_leaves_the_state_it_is_given_alone(recurrence):
    state, tokens = from_a_state(recurrence, 70)
    before = {part: value.clone() for part, value in state.items()}
    recurrence.scan(state, tokens)
    recurrence.extend(state, tokens)
    assert all(torch.equal(state[part], before[part]) for part in before)


@BY_NAME
def test_a_stream_is_the_same_in_every_dtype(recurrence):
    single, double = (recurrence.stream(9, dtype=d) for d in (torch.float32, torch.float64))
    assert all(torch.equal(a, b.float()) for a, b in zip(single, double, strict=True))


@pytest.mark.parametrize("name", [name for name in RECURRENCES if name != "short_conv"])
def test_half_lives_are_spread_from_32_to_4096_tokens(name):
    decay = RECURRENCES[name].stream(4096, Shape(1, 4, 16, 16)).decay.mean((0, 1, 3)).flatten()
    half_lives = -math.log(2) / decay
    assert len(half_lives) == (4 * 16 if name == "kda" else 4)
    assert half_lives[0].item() == pytest.approx(32, rel=0.1)
    assert half_lives[-1].item() == pytest.approx(4096, rel=0.1)
    assert (half_lives.diff() > 0).float().mean() > 0.9


@BY_NAME
def test_a_longer_stream_only_adds_tokens(recurrence):
    short, long = recurrence.stream(70), recurrence.stream(200).span(0, 70)
    assert all(torch.equal(a, b) for a, b in zip(short, long, strict=True))
