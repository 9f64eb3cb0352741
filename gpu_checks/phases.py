"""The three ways in which a request's tokens are run: an extend, decode steps, verifies of drafted tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import cycle

import torch
from torch import Tensor

from gpu_checks.cold_run import ColdRun, by_chunks, by_steps
from gpu_checks.recurrences import Recurrence, State, Tokens
from gpu_checks.recurrences.tokens import CHUNK

DRAFT_TOKENS = 4  # tokens of a verify
ACCEPTED = (3, 1, 4, 2)  # tokens that successive verifies accept, over and over

Run = Callable[[Recurrence, State, Tokens], tuple[State, Tensor]]


def run_extend(recurrence: Recurrence, state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """All tokens in one extend."""
    return recurrence.extend(state, tokens)


def run_decode(recurrence: Recurrence, state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """One decode step a token."""
    return recurrence.scan(state, tokens)


def verified(
    recurrence: Recurrence, state: State, drafts: Tokens, start: int
) -> tuple[dict[int, State], Tensor]:
    """One verify from depth `start` (tokens): the state after each of its steps by its depth, and the outputs of all."""
    states, outputs = {}, []
    for step in range(drafts.length):
        state, output = recurrence.step(state, drafts.token(step))
        states[start + step + 1] = state
        outputs.append(output)
    return states, torch.stack(outputs, -2)


def drafted(tokens: Tokens, start: int, accepted: int, draft_tokens: int = DRAFT_TOKENS) -> Tokens:
    """The drafts of a verify from `start`: the tokens that are accepted, then others, which are rejected."""
    right = tokens.span(start, start + accepted)
    wrong = right.token(0).each(lambda part: part.unsqueeze(-2))
    rejected = draft_tokens - accepted
    parts = [
        torch.cat([a, b.expand(*b.shape[:-2], rejected, b.shape[-1])], -2)
        for a, b in zip(right[:-1], wrong[:-1], strict=True)
    ]
    return Tokens._make([*parts, tokens.taps])


def run_verify(recurrence: Recurrence, state: State, tokens: Tokens) -> tuple[State, Tensor]:
    """Verifies that accept some of their drafts; the state of the last accepted step is committed."""
    outputs: list[Tensor] = []
    done = 0
    for accepted in cycle(ACCEPTED):
        if done == tokens.length:
            return state, torch.cat(outputs, -2)
        accepted = min(accepted, tokens.length - done)
        drafts = drafted(tokens, done, accepted)
        states, output = verified(recurrence, state, drafts, done)
        state = states[done + accepted]
        outputs.append(output[..., :accepted, :])
        done += accepted
    raise AssertionError("a cycle has no end")


@dataclass(frozen=True)
class Phase:
    """A phase: how a warm run goes in it, its cold run, and how many tokens (a grid) that takes at a time.

    A resume from a depth on that grid repeats the calls of the cold run's recurrence one by one.
    """

    name: str
    run: Run
    cold: Callable[[Recurrence, Tokens, Collection[int]], ColdRun]
    grid: int


PHASES = {
    phase.name: phase
    for phase in (
        Phase("extend", run_extend, by_chunks, CHUNK),
        Phase("decode", run_decode, by_steps, 1),
        Phase("verify", run_verify, by_steps, 1),
    )
}
