"""Runs the events of a case on the scheduler: the request after each pass and at its end.

`scheduler.py` defines what an event does; here is only how a case writes events down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Protocol

from spec.sglang.scheduler import STEP, Request, Scheduler, as_few_as_accept

COMPUTES = ("extend", "decode", "verify")
SERVED = (
    *("match", *COMPUTES, "other_batch", "mixed_batch", "allocation_failure"),
    *("result", "finish"),
)


class BadTrace(ValueError):
    """Events that one request cannot have in this order; the message names the event and the reason."""


class Event(Protocol):
    """An event of a trace: `tokens` it adds (of a result: that it keeps), `seq_len` after it, both in tokens."""

    @property
    def event(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def seq_len(self) -> int: ...


def acted_out(
    scheduler: Scheduler, events: Iterable[Event], grammar: bool = False
) -> Iterator[Request]:
    """The request after each pass that these events launch, and after its end; as `after_each`, pass by pass."""
    return chain.from_iterable(after_each(scheduler, events, grammar))


def after_each(
    scheduler: Scheduler, events: Iterable[Event], grammar: bool = False
) -> Iterator[tuple[Request, ...]]:
    """For each event the request after each pass that it launches, or after the end; an assertion that stops it is the last.

    Steps between which nothing is written, labelled or swapped are one pass.  A `verify` of more tokens than one
    accepts is as few as can be.  A `result` before the finish gives how many tokens of its verify are kept: up to a stop
    token or, with `grammar`, up to where the grammar ends.  A trace may leave out the step in flight behind the result
    that ends the request.  Raises `BadTrace`.
    """
    request, retained, finished = scheduler.admit(), None, False
    for event in events:
        if finished or (retained is not None and event.event != "finish"):
            behind = "finish" if finished else "result"
            raise BadTrace(f"its {event.event} stands behind its {behind}")
        _check(event, scheduler, request)
        finished = event.event == "finish"
        after: tuple[Request, ...] = ()
        if event.event == "result":
            retained = event.tokens
        elif finished:
            after = tuple(_finish(scheduler, request, event, retained, grammar))
        else:
            after = tuple(_passes(scheduler, request, event))
        yield after
        request = after[-1] if after else request
        if request.stopped:
            return


def _check(event: Event, scheduler: Scheduler, r: Request) -> None:
    """Refuse an event that this request, wherever it stands, cannot have."""
    kind = event.event
    if kind not in SERVED:
        raise BadTrace(f"the event {kind!r} is not served by a replay")
    if kind == "match" and r.length:
        raise BadTrace(f"its match comes after {r.length} tokens")
    if kind in ("decode", "verify", "result", "finish") and not r.waiting:
        raise BadTrace(f"its {kind} comes before any extend")
    if kind == "verify" and not scheduler.c.speculative_num_draft_tokens:
        raise BadTrace("its verify has no draft tokens")
    if kind in COMPUTES and (event.tokens < 1 or event.seq_len != r.length + event.tokens):
        raise BadTrace(
            f"its {kind} of {event.tokens} tokens cannot lead from {r.length} to {event.seq_len}"
        )


def _passes(scheduler: Scheduler, r: Request, event: Event) -> Iterator[Request]:
    """The request after each pass of an event that does not end it."""
    if event.event == "match":
        yield scheduler.admit(event.seq_len)
    elif event.event == "other_batch":
        yield scheduler.other_batch(r)
    elif event.event == "mixed_batch":
        yield scheduler.mixed_batch(r)
    elif event.event == "allocation_failure":
        yield scheduler.allocation_failure(r)
    elif event.event == "extend":
        yield _extended(scheduler, r, event)
    elif event.event == "decode":
        for length in scheduler.steps_that_matter(r.length, event.seq_len):
            r = scheduler.decode(r, length)
            yield r
    else:
        most = int(scheduler.c.speculative_num_draft_tokens)
        for accepted in as_few_as_accept(event.tokens, most):
            r = scheduler.verify(r, accepted)
            yield r


def _extended(scheduler: Scheduler, r: Request, event: Event) -> Request:
    """The request after an extend; if another state than its usual one was written, that is of a branching point."""
    after, wrote = scheduler.extend(r, event.seq_len), getattr(event, "snapshot_depth", None)
    own = [write.state for write in after.writes if write not in r.writes]
    if wrote is None or wrote in own or not r.length < wrote <= event.seq_len:
        return after
    return scheduler.extend(r, event.seq_len, wrote)


def _finish(
    scheduler: Scheduler, r: Request, event: Event, retained: int | None, grammar: bool
) -> Iterator[Request]:
    """The request after the step in flight that a trace leaves out, and after its end."""
    if scheduler.ends_with(r).end < event.seq_len <= r.length:
        steps = r.waiting[-1].kind == STEP
        r = scheduler.decode(r, r.length + 1) if steps else scheduler.verify(r, 1)
        yield r
    last = scheduler.ends_with(r)
    end = last.end if retained is None else last.start + retained
    if end != event.seq_len or not last.start < end <= last.end:
        raise BadTrace(
            f"its finish at {event.seq_len} tokens is at no result: the next one is of "
            f"{last.start} to {last.end} tokens"
        )
    yield scheduler.finish(r, retained, grammar)
