"""The formulation that all matrix states share, as a step and in chunks.

One token does `S <- diag(e^g) S; S <- S + k (b (v - [delta] k'S))'; o = q'S`.  With the delta rule what the state
already says about a key is taken back before it is written again.
"""

from __future__ import annotations

import torch
from torch import Tensor


def step(
    matrix: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    gate: Tensor,
    *,
    delta: bool,
) -> tuple[Tensor, Tensor]:
    """One token: the matrix [..., key, value] after it, and its output [..., value]."""
    matrix = matrix * decay.exp().unsqueeze(-1)
    if delta:
        value = value - (matrix * key.unsqueeze(-1)).sum(-2)
    matrix = matrix + key.unsqueeze(-1) * (gate * value).unsqueeze(-2)
    return matrix, (matrix * query.unsqueeze(-1)).sum(-2)


def _decayed_products(left: Tensor, right: Tensor, decay: Tensor) -> Tensor:
    """`left_i . right_j` for j <= i, each channel decayed from j to i; `decay` is cumulative.  [..., i, j]"""
    if decay.shape[-1] == 1:
        exponent = (decay - decay.mT).tril()
        return (left @ right.mT * exponent.exp()).tril()
    # Channels that decay apart cannot be factored without overflow, so one column at a time.
    columns = [
        (left * right[..., j, None, :] * (decay - decay[..., j, None, :]).clamp(max=0).exp()).sum(
            -1
        )
        for j in range(right.shape[-2])
    ]
    return torch.stack(columns, -1).tril()


def chunk(
    matrix: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    decay: Tensor,
    gate: Tensor,
    *,
    delta: bool,
) -> tuple[Tensor, Tensor]:
    """The tokens of one chunk [..., tokens, dimension]: the matrix after them, and all outputs."""
    decay = decay.cumsum(-2)
    since_start, to_end = decay.exp(), (decay[..., -1:, :] - decay).exp()
    writes = gate * value
    if delta:
        writes = writes - gate * ((key * since_start) @ matrix)
        mixing = gate * _decayed_products(key, key, decay)
        # Only what is below the diagonal is read; the diagonal counts as ones.
        writes = torch.linalg.solve_triangular(mixing, writes, upper=False, unitriangular=True)
    outputs = (query * since_start) @ matrix + _decayed_products(query, key, decay) @ writes
    matrix = matrix * since_start[..., -1, :].unsqueeze(-1) + (key * to_end).mT @ writes
    return matrix, outputs
