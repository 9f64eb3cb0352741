"""Proves theorems in several processes: each takes every so-manieth, so that what it sees does not depend on the others."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from generators.common.errors import Inconclusive
from generators.common.processes import LOST, cores, interrupts_are_the_parents
from spec.prove import Prover, Result
from spec.theorem import Theorem

# Fewer theorems than this are proved before another process has started.
_WORTH_A_PROCESS = 40
# How often, and in how many processes, what a killed process has left is proved again.
_ONE_AT_A_TIME = (1, 1)
Show = Callable[[str, int, int], None]


def processes(theorems: int) -> int:
    """How many processes are worth their start for so many theorems, on the cores that this one may use."""
    return max(1, min(cores(), theorems // _WORTH_A_PROCESS))


def prove(
    theorems: Sequence[Theorem], prover: Prover, jobs: int, queries: bool, show: Show
) -> list[Result]:
    """Prove the theorems, in this process or in `jobs` others; `queries`: whether the results keep theirs.

    What was left by a process that ended before its time is proved by another.  Raises `Inconclusive` where those do
    not survive it either.
    """
    if jobs == 1:
        results = []
        for done, theorem in enumerate(theorems):
            show(theorem.id, done, len(theorems))
            results.append(prover.prove(theorem))
        return results
    found: dict[str, Result] = {}
    by_name = {theorem.id: theorem for theorem in theorems}
    for processes_left in (jobs, *_ONE_AT_A_TIME):
        left = [name for name in by_name if name not in found]
        if not left:
            break
        with _working(left, prover, processes_left, queries) as connections:
            for name, fields in _received(connections):
                found[name] = Result(by_name[name], **fields)
                show(name, len(found), len(theorems))
    if len(found) < len(by_name):
        raise Inconclusive(LOST)
    return [found[name] for name in by_name]


@contextmanager
def _working(
    names: Sequence[str], prover: Prover, jobs: int, queries: bool
) -> Iterator[list[Connection]]:
    """The ends of pipes on which processes send their results; the processes end with the context."""
    context = multiprocessing.get_context("spawn")
    workers, connections = [], []
    try:
        with interrupts_are_the_parents():
            for number in range(jobs):
                here, there = context.Pipe(duplex=False)
                work = (there, names[number::jobs], prover, queries)
                workers.append(context.Process(target=_work, args=work, daemon=True))
                workers[-1].start()
                there.close()
                connections.append(here)
        yield connections
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _received(connections: Sequence[Connection]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Results as they come, until every process has sent its last one or has ended before its time."""
    open_ends = list(connections)
    while open_ends:
        for connection in cast(list[Connection], wait(open_ends)):
            try:
                message = connection.recv()
            except (EOFError, ConnectionResetError):
                message = None
            if isinstance(message, Exception):
                raise message
            if message is None:
                open_ends.remove(connection)
            else:
                yield message


def _work(connection: Connection, names: Sequence[str], prover: Prover, queries: bool) -> None:
    """Prove theorems by their names and send what is found out about each, then None; or the fault that ends it."""
    from spec.sglang.theorems import LIBRARY

    for name in names:
        try:
            fields = vars(prover.prove(LIBRARY[name]))
        except Exception as fault:
            connection.send(RuntimeError(f"{name}: {fault!r}"))
            return
        del fields["theorem"]
        if not queries:
            fields["queries"] = []
        connection.send((name, fields))
    connection.send(None)
