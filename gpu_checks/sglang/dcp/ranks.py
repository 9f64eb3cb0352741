"""The ranks of a decode-context-parallel group: all in this process, or this one of several processes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import torch
from torch import Tensor

from gpu_checks.sglang.dcp.attention import merge, partial
from gpu_checks.sglang.dcp.pages import Pages

# Brings the parts of all ranks together, in the order of the ranks, of the parts that are at hand here.
Gather = Callable[[list[Tensor]], Tensor]


class Ranks:
    """The pools that this process holds, with physical pages that are given out in lockstep on all ranks."""

    def __init__(self, pools: list[Pages], gather: Gather):
        self._pools, self._gather = pools, gather
        self._free = count()
        self.tree_page = pools[0].page_size * pools[0].dcp_size

    def grown(self, table: Tensor, length: int) -> Tensor:
        """A table with fresh physical pages, long enough for `length` tokens."""
        missing = -(-length // self.tree_page) - len(table)
        fresh = [next(self._free) for _ in range(missing)]
        return torch.cat([table, torch.tensor(fresh, dtype=torch.long, device=table.device)])

    def attend(
        self, table: Tensor, query: Tensor, key: Tensor, value: Tensor, at: Tensor
    ) -> Tensor:
        """Write keys and values at these positions, and attend to all up to there."""
        length, parts = int(at[-1]) + 1, []
        for pool in self._pools:
            pool.write(table, at, key, value)
            positions, keys, values = pool.read(table, length)
            parts.append(partial(query, at, keys, values, positions))
        return merge(self._gather(parts))


def simulated(dcp_size: int, page_size: int, pages: int, like: Tensor) -> Ranks:
    """All ranks in this process."""
    pools = [Pages(rank, dcp_size, page_size, pages, like) for rank in range(dcp_size)]
    return Ranks(pools, torch.stack)


def distributed(page_size: int, pages: int, like: Tensor) -> Ranks:
    """The rank of this process in the initialised group of torch.distributed."""
    from torch import distributed as group

    rank, dcp_size = group.get_rank(), group.get_world_size()

    def gather(parts: list[Tensor]) -> Tensor:
        (own,) = parts
        everyone = [torch.empty_like(own) for _ in range(dcp_size)]
        group.all_gather(everyone, own.contiguous())
        return torch.stack(everyone)

    return Ranks([Pages(rank, dcp_size, page_size, pages, like)], gather)
