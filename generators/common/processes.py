"""Work in several processes whose results come in the order of the work, and which leave interrupts to the parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any

from generators.common.errors import Inconclusive

LOST = (
    "a process at work was killed, and so was each that did its work again; "
    "there may be too little memory"
)


def cores() -> int:
    """How many cores this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return allowed or 1


@contextmanager
def interrupts_are_the_parents() -> Iterator[None]:
    """Processes that are started here never see an interrupt; one that comes meanwhile is seen afterwards."""
    resource_tracker.ensure_running()  # its start, which each process waits for, lets interrupts in
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def in_order(work: Callable[..., Any], items: Sequence[Any], jobs: int) -> Iterator[Iterator[Any]]:
    """What `work` gives for each item, the first item's first; in this process or in `jobs` others.

    What a process was at work on that ends before its time, killed for want of memory say, is done again by fewer
    processes.  Raises `Inconclusive` where one process alone does not survive it either.
    """
    if jobs == 1:
        yield map(work, items)
        return
    crew = _Crew(work, items, jobs)
    try:
        yield crew.results()
    finally:
        crew.dismiss()


class _Crew:
    """Processes at work on the items whose results are not known yet."""

    def __init__(self, work: Callable[..., Any], items: Sequence[Any], jobs: int):
        self._work, self._items, self._jobs = work, items, jobs
        self._known: dict[int, Future[Any]] = {}
        self._executor: ProcessPoolExecutor | None = None
        self._processes: list[BaseProcess] = []

    def results(self) -> Iterator[Any]:
        """The result of each item, in their order."""
        self._start(self._jobs)
        for index in range(len(self._items)):
            yield self._result(index)

    def _result(self, index: int) -> Any:
        jobs = self._jobs
        while True:
            try:
                return self._known.pop(index).result()
            except BrokenExecutor:
                if jobs == 0:
                    raise Inconclusive(LOST) from None
                jobs //= 2
                self.dismiss()
                self._start(max(1, jobs), index)

    def _start(self, jobs: int, first: int = 0) -> None:
        """Let so many processes work on the items from `first` on that have no result."""
        before = multiprocessing.active_children()
        with interrupts_are_the_parents():
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(jobs, mp_context=context)
            for index in range(first, len(self._items)):
                known = self._known.get(index)
                if known is None or not known.done() or known.cancelled() or _was_lost(known):
                    self._known[index] = self._submitted(self._items[index])
        self._processes = [p for p in multiprocessing.active_children() if p not in before]

    def _submitted(self, item: Any) -> Future[Any]:
        assert self._executor is not None
        try:
            return self._executor.submit(self._work, item)
        except (
            BrokenExecutor
        ) as lost:  # a process has ended while others were still being given work
            future: Future[Any] = Future()
            future.set_exception(lost)
            return future

    def dismiss(self) -> None:
        """End the processes, whatever they are at."""
        for process in self._processes:
            process.terminate()
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)


def _was_lost(done: Future[Any]) -> bool:
    return isinstance(done.exception(), BrokenExecutor)
