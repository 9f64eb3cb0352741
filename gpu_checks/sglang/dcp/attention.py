"""Attention over keys that are spread over ranks: each gives a part and its log-sum-exp, and the parts are merged."""

from __future__ import annotations

import torch
from torch import Tensor


def partial(query: Tensor, at: Tensor, keys: Tensor, values: Tensor, positions: Tensor) -> Tensor:
    """Causal attention of queries [tokens, heads, size] at positions `at` over one rank's keys.

    [tokens, heads, size + 1]: the outputs and, last, the log-sum-exp; minus infinity where the rank has no key.
    """
    scores = torch.einsum("thd,nhd->thn", query, keys) * query.shape[-1] ** -0.5
    scores = scores.masked_fill(positions[None, None] > at[:, None, None], -torch.inf)
    summed = scores.logsumexp(-1, keepdim=True)
    weights = (scores - summed.masked_fill(summed == -torch.inf, 0)).exp()
    return torch.cat([torch.einsum("thn,nhd->thd", weights, values), summed], -1)


def merge(parts: Tensor) -> Tensor:
    """The outputs [tokens, heads, size] of the parts of all ranks [ranks, tokens, heads, size + 1], in their order."""
    outputs, summed = parts[..., :-1], parts[..., -1:]
    weights = (summed - summed.amax(0)).exp()
    return (outputs * weights).sum(0) / weights.sum(0)
