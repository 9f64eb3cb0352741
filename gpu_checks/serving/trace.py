"""Serves the events of a trace in the order that a scheduler gives them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from gpu_checks.phases import drafted
from gpu_checks.recurrences import Recurrence, Tokens
from gpu_checks.serving.request import Donation, PendingRequest, Request, Result
from spec.sglang.designs import Design

# Events that do nothing to the request itself: a failure is that of the step behind it, the others are a follower's.
OF_OTHERS = ("allocation_failure", "match", "split", "evict")


class BadTrace(Exception):
    """A trace has an event that is not served, or lengths that do not follow from one another; says which."""


class Event(Protocol):
    """An event of a case's trace: `tokens` it adds, `seq_len` after it, both in tokens."""

    @property
    def event(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def seq_len(self) -> int: ...


class Going(NamedTuple):
    """An event that a replay adds to a trace."""

    event: str
    tokens: int
    seq_len: int


def going_on(events: Sequence[Event], verifies: int) -> list[Event]:
    """The same request going on before it ends, for so many verifies that accept one token each."""
    end = events[-1]
    added = [Going("verify", 1, end.seq_len + n) for n in range(1, verifies + 1)]
    return [*events[:-1], *added, Going(end.event, end.tokens, end.seq_len + verifies)]


class Scheduler:
    """Launches steps and processes their results: one step ahead under the overlap scheduler, else one by one.

    `told_results`: the trace says when a result is processed.
    """

    def __init__(self, overlap: bool, told_results: bool = False):
        self._ahead = int(overlap)
        self._told_results = told_results
        self._alone = False
        self._waiting: deque[Result] = deque()

    def launch(self, step: Callable[[], Result], *, alone: bool = False) -> None:
        """Launch a step once enough results are processed; `alone`: all of them."""
        if alone or self._alone:
            self._process_all_but(0)
        elif not self._told_results:
            self._process_all_but(self._ahead)
        self._alone = False
        self._waiting.append(step())

    def stand_between(self) -> None:
        """Another batch: nothing of this request is launched ahead of the results that wait."""
        self._alone = True

    def result(self) -> None:
        """A result that the trace tells of: the oldest one that waits, if any does."""
        if self._waiting:
            self._process()

    def finish(self, another: Callable[[], Result] | None) -> None:
        """A result ends the request, the step behind it in flight where it can be.

        `another` is that step; without it the last one that was launched is.
        """
        ahead = 0 if self._alone else self._ahead
        if another:
            self._process_all_but(1)
            if ahead:
                self._waiting.append(another())
        else:
            self._process_all_but(1 + ahead)
        if self._waiting:
            self._process(finishes=True)

    def _process(self, finishes: bool = False) -> None:
        result = self._waiting.popleft()
        result(len(self._waiting), finishes)

    def _process_all_but(self, ahead: int) -> None:
        while len(self._waiting) > ahead:
            self._process()


def _check(event: Event, length: int) -> None:
    """Refuse an event that computes tokens and does not say how many follow the `length` there are."""
    if event.event not in ("extend", "decode", "verify"):
        return
    if event.tokens < 1 or event.seq_len != length + event.tokens:
        raise BadTrace(
            f"its {event.event} of {event.tokens} tokens cannot lead from {length} to {event.seq_len}"
        )


def serve(
    design: Design,
    c: Any,
    recurrence: Recurrence,
    stream: Tokens,
    events: Sequence[Event],
    *,
    pending: bool = False,
) -> list[Donation]:
    """What a request donates whose life these events tell; `pending`: decode inputs wait for a flush.

    A trace without results has them processed as the scheduler does.  An `other_batch` stands between two steps, so
    that nothing is launched ahead of the first one's result; an `allocation_failure` is that of the next step.  Raises `EngineFault` where an assertion stops the request and
    `BadTrace` where the events do not make one.
    """
    request = (PendingRequest if pending else Request)(design, c, recurrence, stream)
    scheduler = Scheduler(bool(c.overlap), any(event.event == "result" for event in events))
    fails, verifies = False, False
    for event in events:
        _check(event, request.length)
        if event.event == "extend":
            scheduler.launch(partial(request.extend, event.seq_len), alone=True)
        elif event.event == "decode":
            for _ in range(event.tokens):
                scheduler.launch(partial(request.decode, fails))
        elif event.event == "verify":
            count = max(event.tokens, int(c.speculative_num_draft_tokens))
            drafts = drafted(stream, request.length, event.tokens, count)
            step = partial(request.verify, drafts, event.tokens, fails)
            scheduler.launch(step, alone=not verifies)
            verifies = True
        elif event.event == "other_batch":
            scheduler.stand_between()
        elif event.event == "finish":
            # A request that ends before what was launched has its step ahead in the trace.
            in_flight = verifies or event.seq_len < request.length
            scheduler.finish(None if in_flight else partial(request.decode, fails))
            request.finish(request.committed if verifies else request.length)
        elif event.event == "result":
            scheduler.result()
        elif event.event not in OF_OTHERS:
            raise BadTrace(f"the event {event.event!r} is not served by a replay")
        fails = event.event == "allocation_failure"
    return request.donations
