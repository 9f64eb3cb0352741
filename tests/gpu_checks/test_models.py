"""Real model classes, tiny: an aligned resume is the cold run, a misplaced state shows in the log-probabilities."""

import math
import sys

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from gpu_checks.models import __main__ as script  # noqa: E402
from gpu_checks.models import caches, tiny  # noqa: E402
from gpu_checks.models.replay import compared  # noqa: E402
from gpu_checks.resume_pairs import WINDOW  # noqa: E402
from tests.gpu_checks.operations import recording  # noqa: E402

# A model for each kind of matrix state: the delta rule, SSD, lightning attention.
OF_EACH_KIND = ("kimi_linear", "bamba", "minimax")


@pytest.mark.parametrize("name", tiny.MODELS)
def test_cold_and_warm_differ_exactly_where_the_state_is_of_another_depth(name):
    found = list(compared(tiny.built(name), 128, 192))
    assert [(one.phase, one.pair.state) for one in found] == [
        ("extend", 128),
        ("extend", 192),
        ("decode", 128),
        ("decode", 192),
    ]
    assert [one for one in found if not one.as_predicted] == []


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.every_processor) if name in OF_EACH_KIND else name
        for name in tiny.MODELS
    ],
)
def test_a_decode_from_its_own_state_is_bitwise_the_one_that_went_on_and_one_token_off_is_not(name):
    found = {(c.phase, c.pair.state): c for c in compared(tiny.built(name), 70, 71)}
    aligned = found["decode", 70]
    assert max(aligned.log_probability) == 0.0 and aligned.state_error == 0.0
    assert [one for one in found.values() if not one.as_predicted] == []


@pytest.mark.parametrize("name", tiny.MODELS)
def test_a_decode_that_resumes_from_its_own_state_makes_the_very_calls_of_the_one_that_went_on(
    name, monkeypatch
):
    """Looked at on some tokens: first the run that goes on makes them, then the resumed one."""
    tokens, calls, exact = [70, 100, 70 + WINDOW - 1], [], caches.forward

    def noted(model, ids, cache, start):
        seen = start in tokens and ids.shape[1] == 1
        return (recording(exact, calls) if seen else exact)(model, ids, cache, start)

    monkeypatch.setattr(caches, "forward", noted)
    runs = compared(tiny.built(name), 70, 75)
    aligned = next(one for one in runs if one.phase == "decode")
    assert aligned.pair == (70, 70)
    assert len(calls) == 2 * len(tokens) and calls[: len(tokens)] == calls[len(tokens) :]
    assert len(set(calls)) == len(tokens)


def test_with_the_default_weights_the_fault_of_falcon_h1_hides():
    slow = tiny.built("falcon_h1")
    fast = type(slow)(slow.config).eval()
    late = [
        next(c for c in compared(m, 128, 192) if c.pair.state == 192).log_probability[2]
        for m in (slow, fast)
    ]
    assert late[1] < 1e-3 < late[0]


def test_the_models_run_on_the_plain_code_of_transformers():
    for name in ("qwen3_next", "kimi_linear", "falcon_h1"):
        list(compared(tiny.built(name), 70, 75))
    kernels = ("triton", "fla.ops", "causal_conv1d", "mamba_ssm")
    assert [module for module in sys.modules if module.startswith(kernels)] == []


@pytest.mark.parametrize("name", tiny.MODELS)
def test_decays_are_slow_by_construction(name):
    for path, parameter in tiny.built(name).named_parameters():
        if path.endswith("dt_bias"):
            ones = torch.ones_like(parameter)
            assert torch.allclose(torch.nn.functional.softplus(parameter), ones, atol=1e-5)
        if path.endswith("A_log"):
            half_lives = math.log(2) / parameter.detach().exp().flatten()
            ends = half_lives.min().item(), half_lives.max().item()
            assert ends == pytest.approx((32, 4096), rel=1e-3)


@pytest.mark.parametrize("name", tiny.MODELS)
def test_every_state_of_every_layer_is_compared(name):
    model = tiny.built(name)
    cache = caches.empty(model)
    with torch.no_grad():
        caches.forward(model, torch.randint(3, 200, (1, 70)), cache, 0)
    for number in range(len(caches.states(cache))):
        other = caches.kept(cache)
        caches.states(other)[number].mul_(1.5)
        assert caches.state_error(other, cache) == pytest.approx(0.5, rel=1e-4)


def test_a_warm_run_that_did_not_hit_is_refused():
    model = tiny.built("lfm2")
    cache = caches.empty(model)
    ids = torch.randint(3, 200, (1, 20))
    with torch.no_grad(), pytest.raises(caches.NoHit, match="holds 0 tokens, the run starts at 10"):
        caches.forward(model, ids[:, 10:], cache, 10)


def test_a_class_that_transformers_lacks_is_told_and_nothing_runs(monkeypatch, capsys):
    monkeypatch.setitem(tiny.MODELS, "lfm2", ("NoSuchConfig", {}))
    assert script.main(["lfm2"]) == 3
    assert "skipped: transformers" in capsys.readouterr().out


def test_the_names_are_those_of_the_models():
    assert tuple(tiny.MODELS) == script.NAMES


@pytest.mark.parametrize("arguments", [["gpt2"], ["--node", "0"], ["--node", "9", "--state", "9"]])
def test_bad_usage_is_refused(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        script.main(arguments)
    assert end.value.code == 2
    assert "accepted are" in capsys.readouterr().err or "--node" in arguments


def test_without_transformers_it_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert script.main(["lfm2"]) == 3
    assert "transformers is not installed" in capsys.readouterr().err


def test_its_table_has_a_line_for_each_run(capsys):
    assert script.main(["--node", "70", "--state", "75", "lfm2"]) == 0
    assert capsys.readouterr().out.count("lfm2") == 4
