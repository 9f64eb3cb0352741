"""Shrinks a trace to fewer tokens for as long as it ends wrong under the same code, by the same special events."""

from __future__ import annotations

from collections.abc import Iterator

from generators.search.breadth_first import Trace, TraceSearch
from generators.sglang.search.moves import Move

Events = tuple[Move, ...]


def shrunk(search: TraceSearch, trace: Trace) -> Trace:
    """The trace with no length left that can be less by itself or together with those behind it."""
    step = 1 << max(trace.tokens.bit_length() - 1, 0)
    while step:
        shorter = next(_shorter(search, trace, step), None)
        if shorter is None:
            step //= 2
        else:
            trace = shorter
    return trace


def _shorter(search: TraceSearch, trace: Trace, step: int) -> Iterator[Trace]:
    for moves in _candidates(trace.moves, step):
        found = search.follow(moves)
        if found is None or (found.code, found.causes) != (trace.code, trace.causes):
            continue
        if len(found.moves) == len(moves) and found.tokens < trace.tokens:
            yield found


def _candidates(moves: Events, step: int) -> Iterator[Events]:
    """The events with a length, and perhaps every length behind it, less by a step (tokens)."""
    for index, move in enumerate(moves):
        if move.tokens > step:
            before, behind = moves[:index], moves[index + 1 :]
            moved = tuple(m.earlier(step) if m.reaches else m for m in behind)
            yield (*before, move.earlier(step), *moved)
            yield (*before, move.earlier(step), *behind)
