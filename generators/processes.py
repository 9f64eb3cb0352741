"""Work in several processes whose results come in the order of the work, and which leave interrupts to the parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any


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
    """What `work` gives for each item, the first item's first; in this process or in `jobs` others."""
    if jobs == 1:
        yield map(work, items)
        return
    with interrupts_are_the_parents():
        pool = multiprocessing.get_context("spawn").Pool(jobs)
    try:
        yield pool.imap(work, items)
    finally:
        pool.terminate()
        pool.join()
