"""The keys and values that one rank holds, in physical pages.

Token `t` belongs to rank `t % dcp_size`, so that one page on every rank makes a tree page of `page_size * dcp_size`
tokens: no shorter prefix can be shared without copying.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Pages:
    """The pool of one rank: [pages, page_size, heads, size] keys and values, poisoned until they are written."""

    def __init__(self, rank: int, dcp_size: int, page_size: int, pages: int, like: Tensor):
        """`like` [tokens, heads, size] gives heads, size, dtype and device."""
        self.rank, self.dcp_size, self.page_size = rank, dcp_size, page_size
        self.keys = like.new_full((pages, page_size, *like.shape[1:]), torch.nan)
        self.values = torch.full_like(self.keys, torch.nan)

    def _place(self, table: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        local = positions // self.dcp_size
        return table[local // self.page_size], local % self.page_size

    def own(self, positions: Tensor) -> Tensor:
        """Which of these positions (tokens) are held here."""
        return positions % self.dcp_size == self.rank

    def write(self, table: Tensor, positions: Tensor, keys: Tensor, values: Tensor) -> None:
        """Write what is held here of the keys and values [tokens, heads, size] at these positions."""
        own = self.own(positions)
        pages, offsets = self._place(table, positions[own])
        self.keys[pages, offsets] = keys[own]
        self.values[pages, offsets] = values[own]

    def read(self, table: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor]:
        """Positions, keys and values held here of the first `length` tokens."""
        positions = torch.arange(length, device=table.device)
        positions = positions[self.own(positions)]
        pages, offsets = self._place(table, positions)
        return positions, self.keys[pages, offsets], self.values[pages, offsets]
