"""Proves theorems in several processes: process i of n proves theorems i, i+n, i+2n, ..., whatever the timing."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, cast

from generators.common.errors import Inconclusive
from generators.common.processes import LOST, cores, interrupts_are_the_parents
from spec.engine import engine as engine_named
from spec.prove import Prover, Result
from spec.theorem import Theorem

# Fewer theorems than this are proved before another process has started.
_WORTH_A_PROCESS = 40
# In how many processes each further attempt proves what a killed process has not proved.
_ONE_AT_A_TIME = (1, 1)
Show = Callable[[str, int, int], None]


def processes(theorems: int) -> int:
    """How many processes are worth starting for a number of theorems, on the cores this process may use."""
    return max(1, min(cores(), theorems // _WORTH_A_PROCESS))


def prove(
    theorems: Sequence[Theorem], prover: Prover, jobs: int, queries: bool, show: Show
) -> list[Result]:
    """Prove the theorems, in this process or in `jobs` others; `queries`: whether the results keep theirs.

    What a killed process has not proved is proved by another one.  Raises `Inconclusive` if that one is killed too.
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
        left = [theorem for theorem in theorems if theorem.id not in found]
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
    theorems: Sequence[Theorem], prover: Prover, jobs: int, queries: bool
) -> Iterator[list[Connection]]:
    """The ends of pipes on which processes send their results; the processes end with the context."""
    context = multiprocessing.get_context("spawn")
    names = [(theorem.engine.name, theorem.id) for theorem in theorems]
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
    """Results as they arrive, until every process has sent its last one or has died."""
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


def _work(
    connection: Connection, names: Sequence[tuple[str, str]], prover: Prover, queries: bool
) -> None:
    """Prove theorems, named by engine and id, and send each result, then None; or the exception that ends it."""
    for engine, name in names:
        try:
            fields = vars(prover.prove(engine_named(engine).library()[name]))
        except Exception as fault:
            connection.send(RuntimeError(f"{name}: {fault!r}"))
            return
        del fields["theorem"]
        if not queries:
            fields["queries"] = []
        connection.send((name, fields))
    connection.send(None)
