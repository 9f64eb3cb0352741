"""Recurrences as others wrote them: transformers' fallbacks and fla-core's naive files, on this project's layout.

They calculate in float32.  fla-core's files are loaded by their path, as importing `fla.ops` wants triton.
"""

import importlib.util
from pathlib import Path

import pytest
import torch
from torch.nn.functional import conv1d, silu


def transformers_module(name):
    """A modeling module of transformers; the test is skipped where the extra is not installed."""
    pytest.importorskip("transformers")
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


def fla_naive(operation):
    """A naive file of fla-core; the test is skipped where the package is not installed."""
    found = importlib.util.find_spec("fla")
    if found is None or importlib.util.find_spec("einops") is None:
        pytest.skip("fla-core and einops are not installed")
    path = Path(next(iter(found.submodule_search_locations))) / "ops" / operation / "naive.py"
    spec = importlib.util.spec_from_file_location(f"naive_{operation}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_time(part):
    """[1, layers, heads, tokens, d] as [layers, tokens, heads, d]."""
    return part[0].transpose(1, 2)


def by_head(part):
    """[layers, tokens, heads, d] as [1, layers, heads, tokens, d]."""
    return part.transpose(1, 2)[None]


def causal_convolution(window, inputs, taps):
    """The convolution by torch's own conv1d, every head a group of its own."""
    seen = torch.cat([window, inputs], -2)
    flat = seen.mT.flatten(0, 3)[None]  # [1, channels of all heads, tokens]
    weights = taps.expand(*seen.shape[:3], *taps.shape[-2:]).mT.flatten(0, 3)[:, None]
    mixed = conv1d(flat, weights, groups=flat.shape[1])
    shape = (*seen.shape[:3], seen.shape[-1], inputs.shape[-2])
    return seen[..., inputs.shape[-2] :, :], mixed.view(shape).mT


def mixed(state, tokens):
    """Query, key and value after convolution and activation, and the window after them."""
    inputs = torch.cat(tokens[:3], -1)
    window, outputs = causal_convolution(state["window"], inputs, tokens.taps)
    parts = silu(outputs).split([part.shape[-1] for part in tokens[:3]], -1)
    return window, [by_time(part) for part in parts]


def _delta_rule(function, decay_of, **options):
    def run(state, tokens):
        window, (query, key, value) = mixed(state, tokens)
        decay, gate = decay_of(by_time(tokens.decay)), by_time(tokens.gate)[..., 0]
        outputs, matrix = function(
            query,
            key,
            value,
            g=decay,
            beta=gate,
            initial_state=state["matrix"][0],
            output_final_state=True,
            **options,
        )
        return {"window": window, "matrix": matrix[None]}, by_head(outputs)

    return run


def _a_head(decay):
    return decay[..., 0]


def _a_channel(decay):
    return decay


def _normalised(function):
    def run(query, key, value, **rest):
        unit = torch.nn.functional.normalize
        return function(unit(query, dim=-1), unit(key, dim=-1), value, **rest)

    return run


def _in_whole_chunks(function):
    """Tokens that write nothing and decay nothing are put behind, for a function that takes whole chunks only."""

    def run(query, key, value, g, beta, **rest):
        length = query.shape[1]

        def longer(part):
            zeros = part.new_zeros(part.shape[0], -length % 64, *part.shape[2:])
            return torch.cat([part, zeros], 1)

        query, key, value, g, beta = map(longer, (query, key, value, g, beta))
        outputs, matrix = function(query, key, value, g=g, beta=beta, **rest)
        return outputs[:, :length], matrix

    return run


def _simple_gla(function):
    """Gated linear attention; the gate and, for Mamba2, the convolution are applied before."""

    def run(state, tokens):
        window, parts = None, [by_time(part) for part in tokens[:3]]
        if "window" in state:
            window, parts = mixed(state, tokens)
        query, key, value = parts
        outputs, matrix = function(
            query,
            key,
            value * by_time(tokens.gate),
            by_time(tokens.decay)[..., 0],
            initial_state=state["matrix"][0],
            output_final_state=True,
            scale=1.0,
        )
        after = {"matrix": matrix[None]} | ({"window": window} if window is not None else {})
        return after, by_head(outputs)

    return run


def _mamba2_chunk():
    scan = transformers_module("falcon_h1").mamba2_chunk_scan

    def run(state, tokens):
        window, (query, key, value) = mixed(state, tokens)
        time_step = by_time(tokens.gate)[..., 0]
        # A rate is a head's; transformers multiplies it by the time step itself.
        rate = (tokens.decay / tokens.gate)[0, 0, :, 0, 0]
        outputs, matrix = scan(
            value,
            time_step,
            rate,
            key,
            query,
            64,
            initial_states=state["matrix"][0].mT,
            return_final_states=True,
        )
        return {"window": window, "matrix": matrix.mT[None]}, by_head(outputs)

    return run


def _mamba2_steps():
    update = transformers_module("falcon_h1").mamba2_selective_state_update

    def run(state, tokens):
        window, (query, key, value) = mixed(state, tokens)
        time_step = by_time(tokens.gate)[..., 0]
        rate = (tokens.decay / tokens.gate)[0, 0, :, 0, 0]
        matrix, outputs = state["matrix"][0].mT.clone(), []
        layers, _, heads, size = value.shape
        for t in range(tokens.length):
            outputs.append(
                update(
                    matrix,
                    value[:, t],
                    time_step[:, t, :, None].expand(layers, heads, size),
                    rate[:, None, None].expand(heads, size, key.shape[-1]),
                    key[:, t],
                    query[:, t],
                )
            )
        return {"window": window, "matrix": matrix.mT[None]}, by_head(torch.stack(outputs, 1))

    return run


def _short_convolution(state, tokens):
    window, outputs = causal_convolution(state["window"], tokens.key * tokens.value, tokens.taps)
    return {"window": window}, tokens.query * outputs


def _transformers_delta(module, function, decay_of):
    return _delta_rule(
        getattr(transformers_module(module), function), decay_of, use_qk_l2norm_in_kernel=True
    )


def _fla_delta(operation, function, decay_of):
    return _delta_rule(_normalised(getattr(fla_naive(operation), function)), decay_of)


# For each recurrence its oracles; each is made when asked for, so that a missing package skips one test.
ORACLES = {
    ("mamba2", "transformers-chunk"): _mamba2_chunk,
    ("mamba2", "transformers-step"): _mamba2_steps,
    ("mamba2", "fla-chunk"): lambda: _simple_gla(fla_naive("simple_gla").naive_chunk_simple_gla),
    ("gdn", "transformers-chunk"): lambda: _transformers_delta(
        "qwen3_next", "torch_chunk_gated_delta_rule", _a_head
    ),
    ("gdn", "transformers-step"): lambda: _transformers_delta(
        "qwen3_next", "torch_recurrent_gated_delta_rule", _a_head
    ),
    ("gdn", "fla-chunk"): lambda: _fla_delta(
        "gated_delta_rule", "naive_chunk_gated_delta_rule", _a_head
    ),
    ("gdn", "fla-step"): lambda: _fla_delta(
        "gated_delta_rule", "naive_recurrent_gated_delta_rule", _a_head
    ),
    ("kda", "transformers-chunk"): lambda: _transformers_delta(
        "kimi_linear", "chunk_kimi_delta_attention", _a_channel
    ),
    ("kda", "transformers-step"): lambda: _transformers_delta(
        "kimi_linear", "recurrent_kimi_delta_attention", _a_channel
    ),
    ("kda", "fla-chunk"): lambda: _delta_rule(
        _normalised(_in_whole_chunks(fla_naive("kda").naive_chunk_kda)), _a_channel
    ),
    ("kda", "fla-step"): lambda: _fla_delta("kda", "naive_recurrent_kda", _a_channel),
    ("lightning", "fla-chunk"): lambda: _simple_gla(fla_naive("simple_gla").naive_chunk_simple_gla),
    ("lightning", "fla-step"): lambda: _simple_gla(
        fla_naive("simple_gla").naive_recurrent_simple_gla
    ),
    ("short_conv", "torch-conv1d"): lambda: _short_convolution,
}
