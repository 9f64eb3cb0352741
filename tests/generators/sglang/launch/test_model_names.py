"""Which models are known: by the architectures of the engine's releases, and by names."""

import re

import pytest

from generators.sglang.launch.models import (
    UNKNOWN,
    architectures,
    facts_of_model,
    facts_of_name,
    models,
    possible_chunks,
)

HYBRID = {
    "Qwen/Qwen3-Next-80B-A3B-Instruct": ("gdn", 64),
    "/models/Qwen3-Next-80B-A3B-Instruct": ("gdn", 64),
    "/root/.cache/huggingface/hub/models--Qwen--Qwen3.6-27B/snapshots/5e092ebca197cdcd8d8": (
        "gdn",
        64,
    ),
    "/root/.cache/modelscope/hub/models/Qwen/Qwen3___5-27B": ("gdn", 64),
    "/data/qwen3_5-27b/checkpoint-300": ("gdn", 64),
    "qwen35-moe": ("gdn", 64),
    "Qwen/Qwen3-Coder-Next": ("gdn", 64),
    "RadixArk/Qwen3.8-27B-NVFP4": ("gdn", 64),
    "moonshotai/Kimi-K3": ("kda", 64),
    "internlm/Intern-S2-Preview": ("gdn", 64),
    "inclusionAI/Ring-2.5-1T": ("lightning", 64),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16": ("mamba2", 128),
    "ibm-granite/granite-4.0-h-small": ("mamba2", 256),
    "tiiuae/Falcon-H1-7B-Instruct": ("mamba2", None),
}
DENSE = (
    *("MiniMaxAI/MiniMax-M2.5", "MiniMaxAI/MiniMax-M3-MXFP8", "Qwen/QwQ-32B", "Qwen/Qwen3-8B"),
    *("Qwen/Qwen3-235B-A22B-Thinking-2507", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8"),
    *("zai-org/GLM-4.6", "/srv/models/GLM-5.2-FP8", "THUDM/glm-4-9b-chat", "openai/gpt-oss-120b"),
    *("deepseek-ai/DeepSeek-V3.1", "deepseek-ai/DeepSeek-V4-Pro", "moonshotai/Kimi-K2.5"),
    *("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "meta-llama/Llama-3.1-8B-Instruct"),
    *("LLM-Research/Meta-Llama-3.1-8B-Instruct", "nvidia/Llama-3_3-Nemotron-Super-49B-v1_5"),
    *("mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
    *("google/gemma-3-4b-it", "nvidia/Nemotron-3.5-Content-Safety", "internlm/Intern-S1-Pro"),
    *("openbmb/MiniCPM4.1-8B", "openbmb/MiniCPM5-1B", "Qwen/Qwen3-VL-30B-A3B-Instruct"),
    "ibm-granite/granite-4.0-micro",
)
UNKNOWN_NAMES = (
    *("some/model", "/models/Qwen3", "/model", "", "meta-llama/Unnamed", "deepseek-ai/Unnamed"),
    *("acme/Qwen3-Next2", "acme/Qwen3.50", "acme/notqwen3.5", "/data/llama/checkpoints/run-7"),
)


@pytest.mark.parametrize("name", HYBRID)
def test_a_hybrid_model_is_known_by_its_name(name):
    facts = facts_of_name(name)
    assert facts.recurrent is True and (facts.recurrence, facts.mamba_chunk_size) == HYBRID[name]
    assert facts.read_from and facts.read_from.startswith("its name (")


@pytest.mark.parametrize("name", DENSE)
def test_a_model_without_recurrent_layers_is_known_by_its_name(name):
    facts = facts_of_name(name)
    assert facts.recurrent is False and not facts.fields


@pytest.mark.parametrize("name", UNKNOWN_NAMES)
def test_of_any_other_name_nothing_is_known(name):
    assert facts_of_name(name) is UNKNOWN


def test_the_longest_pattern_counts():
    assert facts_of_name("Qwen3.8-Flash-Next").architecture == "Qwen4ExpForConditionalGeneration"
    assert facts_of_name("Qwen3.8-27B").architecture == "Qwen3_5ForConditionalGeneration"
    assert facts_of_name("GLM-4.7-Flash").architecture == "Glm4MoeLiteForCausalLM"


def test_the_name_it_is_served_under_counts_where_its_own_says_nothing():
    served = facts_of_model("/model", None, "Qwen/Qwen3.5-397B-A17B-FP8")
    assert served.recurrent is True and "served under" in str(served.read_from)
    assert facts_of_model("Qwen/Qwen3-8B", None, "Qwen/Qwen3.5-9B").recurrent is False
    assert facts_of_model("/model", None, "chat") is UNKNOWN


def test_the_tables_fit_together():
    patterns = [pattern for entry in models() for pattern in entry["patterns"]]
    assert len(set(patterns)) == len(patterns)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", pattern) for pattern in patterns)
    for entry in models():
        assert entry["source"]
        known = entry["architecture"] in architectures()
        assert known or "no modelled release" in entry["unmodelled"], entry["architecture"]
        for pattern in entry["patterns"]:
            assert facts_of_name(pattern).architecture == entry["architecture"], pattern
    assert possible_chunks() == (64, 128, 256)


def test_no_model_has_a_chunk_without_recurrent_layers():
    for entry in models():
        facts = facts_of_name(entry["patterns"][0])
        assert facts.recurrent is not None, entry
        if facts.recurrent is False:
            assert facts.mamba_chunk_size is None and facts.recurrence is None
