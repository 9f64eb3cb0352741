"""One case through the hybrid model: states kept on an interval, requests resumed from the nodes they are attached to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpu_checks.recurrences import State
from gpu_checks.sglang.dcp.hybrid import HEADS, SIZE, VOCABULARY, Hybrid
from gpu_checks.sglang.dcp.ranks import Ranks
from spec.sglang.checkpoints import decode_checkpoint, node_of
from spec.sglang.releases import Design

RESUMED = 16  # tokens that a resumed request decodes


@dataclass(frozen=True)
class Resumed:
    """A request resumed from the state of `state` tokens on the node of depth `node`, beside the cold one."""

    node: int
    state: int
    warm: Tensor
    cold: Tensor

    @property
    def difference(self) -> float:
        """The largest difference of a log-probability."""
        return (self.warm - self.cold).abs().max().item()


def like() -> Tensor:
    """What the keys of a token are like: [1, heads, size]."""
    return torch.zeros(1, HEADS, SIZE, dtype=torch.float64)


@dataclass
class Sequence:
    """A sequence that is being run: its table of physical pages, its states, its length (tokens)."""

    model: Hybrid
    ranks: Ranks
    ids: Tensor
    table: Tensor
    states: list[State] | None = None
    length: int = 0

    def run(self, tokens: int) -> Tensor:
        """Run the next tokens in one forward pass; their log-probabilities."""
        at = torch.arange(self.length, self.length + tokens)
        self.table = self.ranks.grown(self.table, self.length + tokens)

        def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return self.ranks.attend(self.table, query, key, value, at)

        found, self.states = self.model.forward(self.ids[at], self.states, attend)
        self.length += tokens
        return found


def resumed(
    design: Design, c: Any, model: Hybrid, ranks: Ranks, prompt: int, stop: int
) -> list[Resumed]:
    """Decode from `prompt` to `stop` tokens, and resume from every checkpoint that the design attaches to a node."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(VOCABULARY, (stop + RESUMED,), generator=generator)
    none = torch.empty(0, dtype=torch.long)
    cold = Sequence(model, ranks, ids, none)
    outputs, kept = [cold.run(prompt)], {}
    while cold.length < stop + RESUMED:
        outputs.append(cold.run(1))
        checkpoint = decode_checkpoint(design, c, cold.length)
        node = int(node_of(design, c, checkpoint))
        if checkpoint.saved and node and cold.length <= stop:
            kept[cold.length] = node, cold.states
    whole = torch.cat(outputs)
    found = []
    for depth, (node, states) in kept.items():
        # A node owns whole tree pages, and the request that resumes there shares them.
        table = cold.table[: node // ranks.tree_page]
        warm = Sequence(model, ranks, ids, table, states, node)
        parts = torch.cat([warm.run(1) for _ in range(RESUMED)])
        found.append(Resumed(node, depth, parts, whole[node : node + RESUMED]))
    return found
