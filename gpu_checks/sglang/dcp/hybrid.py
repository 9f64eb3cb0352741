"""A tiny hybrid model: recurrent layers with one attention layer among them, weights drawn once, fan-in scaled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import softplus

from gpu_checks.recurrences import Recurrence, State, Tokens
from gpu_checks.recurrences.inputs import Source
from gpu_checks.recurrences.tokens import Shape

WIDTH, HEADS, SIZE, VOCABULARY = 64, 4, 16, 128
LAYERS = ("recurrent", "recurrent", "attention", "recurrent")
PROJECTIONS = {"query": HEADS * SIZE, "key": HEADS * SIZE, "value": HEADS * SIZE}
GATES = {"decay": HEADS, "gate": HEADS}

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def _normalised(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


@dataclass
class Hybrid:
    """The weights of the model on one recurrence; float64, the same for the same seed."""

    recurrence: Recurrence
    seed: int = 0
    weights: list[dict[str, Tensor]] = field(init=False)

    def __post_init__(self) -> None:
        generator = torch.Generator().manual_seed(self.seed)

        def drawn(outputs: int, inputs: int) -> Tensor:
            values = torch.randn(outputs, inputs, generator=generator, dtype=torch.float64)
            return values / inputs**0.5

        sizes = {**PROJECTIONS, **GATES}
        self.weights = [
            {**{name: drawn(size, WIDTH) for name, size in sizes.items()}}
            | {"output": drawn(WIDTH, HEADS * SIZE), "up": drawn(2 * WIDTH, WIDTH)}
            | {"down": drawn(WIDTH, 2 * WIDTH)}
            for _ in LAYERS
        ]
        self.embedding = drawn(VOCABULARY, WIDTH) * WIDTH**0.5
        source = Source(Shape(1, HEADS, SIZE, SIZE), 1, self.seed)
        self._rates, self._like = source.rates(), self.recurrence.draw(source)

    def _tokens(self, weights: dict[str, Tensor], x: Tensor) -> Tokens:
        """The inputs of a recurrent layer [1, 1, heads, tokens, size] of its normalised input [tokens, width]."""
        parts = {
            name: (x @ weights[name].mT).view(len(x), HEADS, -1).movedim(0, 1)[None, None]
            for name in (*PROJECTIONS, *GATES)
        }
        channels = self._like.decay.shape[-1]
        return Tokens(
            parts["query"],
            parts["key"],
            parts["value"],
            (self._rates * softplus(parts["decay"])).expand(1, 1, HEADS, len(x), channels),
            torch.sigmoid(parts["gate"]),
            self._like.taps,
        )

    def forward(
        self, ids: Tensor, states: list[State] | None, attend: Attend
    ) -> tuple[Tensor, list[State]]:
        """Log-probabilities [tokens, vocabulary] of tokens [tokens], and the states of the recurrent layers after them.

        `attend(query, key, value)`, each [tokens, heads, size], is the attention with all that was before.
        """
        x = self.embedding[ids]
        after: list[State] = []
        for kind, weights in zip(LAYERS, self.weights, strict=True):
            inputs = _normalised(x)
            tokens = self._tokens(weights, inputs)
            if kind == "attention":
                query, key, value = (part[0, 0].movedim(0, 1) for part in tokens[:3])
                mixed = attend(query, key, value)
            else:
                before = states[len(after)] if states else self.recurrence.empty(tokens)
                run = self.recurrence.scan if len(ids) == 1 else self.recurrence.extend
                state, outputs = run(before, tokens)
                after.append(state)
                mixed = outputs[0, 0].movedim(0, 1)
            x = x + _normalised(mixed.flatten(1)) @ weights["output"].mT
            x = x + softplus(_normalised(x) @ weights["up"].mT) @ weights["down"].mT
        return (_normalised(x) @ self.embedding.mT).log_softmax(-1), after
