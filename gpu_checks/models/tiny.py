"""Tiny configurations of hybrid models, and weights with which a misplaced state cannot hide.

The default random initialisation does hide it: decays are so fast that 16 tokens after the resume nothing is left.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from gpu_checks.recurrences.inputs import LONGEST_HALF_LIFE, SHORTEST_HALF_LIFE

VOCABULARY = 256
_COMMON = dict(
    vocab_size=VOCABULARY,
    hidden_size=64,
    num_attention_heads=4,
    max_position_embeddings=4_096,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
_EXPERTS = dict(num_experts_per_tok=2, moe_intermediate_size=32)
_MAMBA = dict(mamba_n_heads=8, mamba_d_head=16, mamba_d_state=16, mamba_chunk_size=64)

# For each model the name of its configuration class and its sizes.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen3_next": (
        "Qwen3NextConfig",
        dict(
            intermediate_size=128,
            num_hidden_layers=4,
            num_key_value_heads=2,
            head_dim=16,
            linear_key_head_dim=16,
            linear_value_head_dim=16,
            linear_num_key_heads=4,
            linear_num_value_heads=4,
            shared_expert_intermediate_size=32,
            num_experts=4,
            **_EXPERTS,
        ),
    ),
    "kimi_linear": (
        "KimiLinearConfig",
        dict(
            intermediate_size=128,
            num_hidden_layers=4,
            num_key_value_heads=4,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=16,
            v_head_dim=16,
            num_local_experts=4,
            linear_head_dim=16,
            linear_num_heads=4,
            layer_types=["linear_attention"] * 3 + ["full_attention"],
            mlp_layer_types=["dense"] + ["sparse"] * 3,
            **_EXPERTS,
        ),
    ),
    "falcon_h1": (
        "FalconH1Config",
        dict(
            intermediate_size=128,
            num_hidden_layers=2,
            num_key_value_heads=2,
            mamba_d_ssm=128,
            **_MAMBA,
        ),
    ),
    "bamba": (
        "BambaConfig",
        dict(
            intermediate_size=128,
            num_hidden_layers=4,
            num_key_value_heads=2,
            attn_layer_indices=[3],
            **_MAMBA,
        ),
    ),
    "nemotron_h": (
        "NemotronHConfig",
        dict(
            intermediate_size=128,
            layers_block_type=["mamba", "moe", "attention", "mamba"],
            num_key_value_heads=2,
            head_dim=16,
            ssm_state_size=16,
            mamba_num_heads=8,
            mamba_head_dim=16,
            n_groups=1,
            chunk_size=64,
            n_routed_experts=4,
            moe_shared_expert_intermediate_size=32,
            **_EXPERTS,
        ),
    ),
    # Its cache reads its length from the first layer, so that one has to be attention.
    "minimax": (
        "MiniMaxConfig",
        dict(
            intermediate_size=64,
            num_hidden_layers=4,
            num_key_value_heads=2,
            head_dim=16,
            num_local_experts=4,
            num_experts_per_tok=2,
            block_size=64,
            layer_types=["full_attention"] + ["linear_attention"] * 3,
        ),
    ),
    "lfm2": (
        "Lfm2Config",
        dict(
            intermediate_size=128,
            num_hidden_layers=4,
            num_key_value_heads=2,
            layer_types=["conv"] * 3 + ["full_attention"],
            block_auto_adjust_ff_dim=False,
        ),
    ),
}


class ModelMissing(Exception):
    """The installed transformers has no such model; says which and what it is."""


def built(name: str, seed: int = 0) -> nn.Module:
    """A model of `MODELS` in float32 with slowly fading states; `ModelMissing` where transformers lacks its class."""
    import transformers

    transformers.logging.set_verbosity_error()
    class_name, sizes = MODELS[name]
    configuration = getattr(transformers, class_name, None)
    if configuration is None:
        raise ModelMissing(f"transformers {transformers.__version__} has no {class_name}")
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(
        configuration(**{**_COMMON, **sizes}), attn_implementation="eager"
    ).eval()
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            _initialise(path, parameter, generator)
    for module in model.modules():
        if hasattr(module, "slope_rate"):
            _slow_lightning(module)
    return model


def _rates(count: int) -> Tensor:
    """Decays a token whose half-lives are log-spaced: [count], positive."""
    low, high = math.log2(SHORTEST_HALF_LIFE), math.log2(LONGEST_HALF_LIFE)
    return math.log(2) / torch.logspace(low, high, count, base=2)


def _initialise(path: str, parameter: Tensor, generator: torch.Generator) -> None:
    """Fan-in scaled weights; decays by their half-life: the decay is exp(A_log) times softplus(dt_bias), which is 1."""
    if path.endswith("A_log"):
        parameter.copy_(_rates(parameter.numel()).log().view_as(parameter))
    elif path.endswith("dt_bias"):
        parameter.fill_(math.log(math.e - 1))
    elif parameter.dim() >= 2 and "norm" not in path:
        scale = 1.0 if "embed" in path else parameter.shape[-1] ** -0.5
        parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)


def _slow_lightning(module: Any) -> None:
    """MiniMax keeps its decays as buffers that are made when the layer is."""
    module.slope_rate = _rates(module.num_attention_heads).view(-1, 1, 1)
    decays = module.decay_factors(module.slope_rate)
    module.query_decay, module.key_decay, module.diagonal_decay = decays
