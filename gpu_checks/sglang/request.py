"""One request served: `spec` says what is launched, written and donated when, tensors follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_checks.recurrences import Recurrence, State, Tokens
from gpu_checks.sglang.buffer import Buffer
from gpu_checks.sglang.passes import Passes, PendingPasses
from spec.sglang.checkpoints import Checkpoint, node_of
from spec.sglang.releases import Design
from spec.sglang.scheduler import Request, Scheduler
from spec.sglang.trace_runner import Event, acted_out


class EngineFault(Exception):
    """An assertion of the engine stops the request; says at how many tokens."""


@dataclass(frozen=True)
class Life:
    """What happens to one request: a design, a configuration, the events of its trace.

    `grammar`: its grammar ends it, and not a stop token; `pending`: decode inputs wait for a flush, so that a snapshot
    may miss some.
    """

    design: Design
    c: Any
    events: Sequence[Event]
    grammar: bool = False
    pending: bool = False

    @property
    def longest(self) -> int:
        """Tokens that it needs at most: those of its events, and one for the step in flight when it ends."""
        return max(event.seq_len for event in self.events) + 1


@dataclass(frozen=True)
class Donation:
    """A state handed to the tree: depths (tokens) of its node and of what it has consumed, and the state itself."""

    node: int
    depth: int
    state: State


class Served:
    """A request of `spec` with its forward passes on a recurrence and its slots as tensors."""

    def __init__(self, design: Design, c: Any, request: Request, passes: Passes):
        self._design, self._c, self._request, self._passes = design, c, request, passes
        self._buffer = Buffer(request.slots, passes.state)
        self.donations: list[Donation] = []

    def follow(self, after: Request) -> None:
        """Do with tensors what leads to the request `after`: donations of results first, then a pass.

        Raises `EngineFault` where an assertion stops the request.
        """
        before, self._request = self._request, after
        if after.stopped:
            raise EngineFault(
                f"an assertion of the engine stops the extend from {before.length} to {after.length}"
            )
        for donation in after.donated[len(before.donated) :]:
            self._donate(donation.checkpoint)
        launches = after.waiting and after.length > before.length
        self._buffer.follow(after.slots, self._passes.run(after.waiting[-1]) if launches else {})

    def _donate(self, checkpoint: Checkpoint) -> None:
        node = int(node_of(self._design, self._c, checkpoint))
        if checkpoint.saved and node:
            held = self._buffer.holding(int(checkpoint.state))
            self.donations.append(Donation(node, held.consumed, held.state))


def serve(life: Life, recurrence: Recurrence, stream: Tokens) -> list[Donation]:
    """What a request donates, in order.

    Raises `EngineFault` where an assertion stops it, `BadTrace` where the events do not make one request and
    `NotComputed` where the rules want a state kept that no pass computes.
    """
    scheduler = Scheduler(life.design, life.c)
    passes = (PendingPasses if life.pending else Passes)(life.design, life.c, recurrence, stream)
    served = Served(life.design, life.c, scheduler.admit(), passes)
    for request in acted_out(scheduler, life.events, life.grammar):
        served.follow(request)
    return served.donations
