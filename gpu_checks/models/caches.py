"""The caches of transformers: what a radix hit really hands a request, and what states they hold."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn


class NoHit(Exception):
    """A warm run did not start from its cache; says where it started."""


def empty(model: nn.Module) -> Any:
    """A cache without a token."""
    if model.config.model_type == "minimax":
        from transformers.models.minimax.modeling_minimax import MiniMaxCache

        return MiniMaxCache()
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


def forward(model: nn.Module, ids: Tensor, cache: Any, start: int) -> Tensor:
    """Log-probabilities [tokens, vocabulary] of the tokens [1, tokens] from depth `start`; the cache is updated.

    Positions are always given: some models count them from 0 where a cache is handed in.
    """
    positions = torch.arange(start, start + ids.shape[1])[None]
    if cache.get_seq_length() != start:
        raise NoHit(f"the cache holds {cache.get_seq_length()} tokens, the run starts at {start}")
    outputs = model(input_ids=ids, past_key_values=cache, use_cache=True, position_ids=positions)
    if cache.get_seq_length() != start + ids.shape[1]:
        raise NoHit(f"the cache holds {cache.get_seq_length()} tokens after {ids.shape[1]} more")
    return outputs.logits[0].double().log_softmax(-1)


def kept(cache: Any) -> Any:
    """A copy: caches are updated in place."""
    return copy.deepcopy(cache)


def hit(donor: Any, held: Any, node: int) -> Any:
    """What a hit on the node of depth `node` gives: the keys and values of a donor that ran on, the states of `held`."""
    given = kept(held)
    for layer, longer in zip(given.layers, donor.layers, strict=True):
        if getattr(longer, "keys", None) is not None and longer.keys.numel():
            layer.keys = _first(longer.keys, node)
            layer.values = _first(longer.values, node)
    return given


def _first(part: Tensor, tokens: int) -> Tensor:
    """The keys or values of the first tokens, laid out as those of a cache that has run no further."""
    return part[..., :tokens, :].clone(memory_format=torch.contiguous_format)


def states(cache: Any) -> list[Tensor]:
    """Every recurrent state and every convolution window, layer by layer."""
    found = []
    for layer in cache.layers:
        for kind in ("recurrent_states", "conv_states"):
            found += [s for s in getattr(layer, kind, {}).values() if s is not None]
    # MiniMax keeps its states beside the layers.
    return found + [s for s in getattr(cache, "linear_cache", []) if torch.is_tensor(s)]


def state_error(found: Any, wanted: Any) -> float:
    """The largest relative error over all states of two caches."""
    pairs = zip(states(found), states(wanted), strict=True)
    return max(((a - b).norm() / b.norm()).item() for a, b in pairs)
