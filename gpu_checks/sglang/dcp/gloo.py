"""The same case on processes of their own, one a rank, over gloo on this machine's CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import distributed as group
from torch import multiprocessing

from gpu_checks.recurrences import RECURRENCES
from gpu_checks.sglang.dcp.case import like, resumed
from gpu_checks.sglang.dcp.hybrid import Hybrid
from gpu_checks.sglang.dcp.ranks import distributed
from spec.sglang.releases import Design


def _rank(
    rank: int,
    folder: str,
    design: Design,
    c: Any,
    recurrence: str,
    pages: int,
    lengths: tuple[int, int],
    threads: int,
) -> None:
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    group.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=c.dcp_size
    )
    ranks = distributed(c.page_size, pages, like())
    found = resumed(design, c, Hybrid(RECURRENCES[recurrence]), ranks, *lengths)
    torch.save(
        [(one.node, one.state, one.warm, one.cold) for one in found], f"{folder}/rank{rank}.pt"
    )
    group.destroy_process_group()


def on_processes(
    folder: Path,
    design: Design,
    c: Any,
    recurrence: str,
    pages: int,
    lengths: tuple[int, int],
) -> list[list[tuple[int, int, torch.Tensor, torch.Tensor]]]:
    """For each rank what it saw: node, state (tokens), warm and cold log-probabilities.

    `folder`: an empty one, for the rendezvous and the results; `lengths`: prompt and stop (tokens).  Each has as many
    threads as this process, since a product of matrices may depend on their number.
    """
    arguments = (str(folder), design, c, recurrence, pages, lengths, torch.get_num_threads())
    multiprocessing.spawn(_rank, arguments, nprocs=c.dcp_size)
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(c.dcp_size)]
