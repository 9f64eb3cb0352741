"""What a model brings: the table of names, a config.json, and what is wrong with one."""

import json

import pytest

from generators.common.errors import BadInput
from generators.launch.launch import read_launch
from generators.sglang.launch.models import facts_of_config


def config(tmp_path, data):
    path = tmp_path / "config.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("data", "chunk", "recurrence", "recurrent"),
    [
        ({"model_type": "nemotron_h", "chunk_size": 128}, 128, "mamba2", True),
        ({"model_type": "nemotron_h"}, 256, "mamba2", True),
        ({"model_type": "qwen3_next", "chunk_size": 128}, 64, "gdn", True),
        ({"model_type": "x", "text_config": {"model_type": "kimi_linear"}}, 64, "kda", True),
        (
            {"model_type": "x", "mamba_chunk_size": 32, "text_config": {"mamba_chunk_size": 16}},
            32,
            None,
            None,
        ),
        (
            {"model_type": "new", "layer_types": ["linear_attention", "full_attention"]},
            None,
            None,
            True,
        ),
        ({"model_type": "llama"}, None, None, False),
        ({"architectures": ["Qwen3ForCausalLM"]}, None, None, False),
        ({"architectures": ["Qwen3_5ForConditionalGeneration"]}, 64, "gdn", True),
        (
            {"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h"},
            256,
            "mamba2",
            True,
        ),
        ({"architectures": ["MiniCPMForCausalLM"], "model_type": "minicpm"}, None, None, None),
        ({"architectures": ["NewForCausalLM"]}, None, None, None),
        ({}, None, None, None),
    ],
)
def test_a_config_gives_chunk_and_recurrence(tmp_path, data, chunk, recurrence, recurrent):
    facts = facts_of_config(config(tmp_path, data))
    assert (facts.mamba_chunk_size, facts.recurrence, facts.recurrent) == (
        chunk,
        recurrence,
        recurrent,
    )


@pytest.mark.parametrize(
    "data",
    [
        "",
        "[1]",
        "{" * 5000,
        '{"mamba_chunk_size": 0}',
        '{"mamba_chunk_size": true}',
        '{"mamba_chunk_size": "x"}',
        '{"mamba_chunk_size": 99999999999999999999}',
        "\x00",
    ],
)
def test_a_bad_config_is_one_sentence(tmp_path, data):
    with pytest.raises(BadInput):
        facts_of_config(config(tmp_path, data))


def test_a_model_without_recurrent_layers_is_not_judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert "no recurrent layers" in read_launch(["sglang", "serve", "--model-path", "."]).unmodelled


def test_a_model_that_may_have_no_recurrent_layers_is_not_judged_until_something_says_that_it_has():
    unknown = ["sglang", "serve", "--model-path", "some/model"]
    for words in (unknown, [*unknown[:-1], "$MODEL"]):
        assert "--config PATH" in read_launch(words).unmodelled
        for beside in ({"mamba_chunk_size": 64}, {"recurrence": "gdn"}):
            assert read_launch(words, beside).unmodelled is None
        assert read_launch([*words, "--mamba-track-interval", "128"]).unmodelled is None
    assert read_launch(unknown[:2]).unmodelled is None, "flags alone are asked about for hybrids"
