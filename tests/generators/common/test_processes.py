"""Work in several processes: its order, and what becomes of it where a process is killed."""

import multiprocessing
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from generators.cases.domain import Domain
from generators.cases.file_format import text_of
from generators.common import processes
from generators.common.errors import Inconclusive
from generators.common.processes import in_order
from generators.search.event_orders import search_orders
from spec.sglang.releases import design_named

DOMAIN = Domain(
    {
        "overlap": (True, False),
        "strategy": ("extra_buffer", "extra_buffer_lazy"),
        "page_size": (1, 64),
        "speculative_num_draft_tokens": (0, 4),
    }
)


def squared(number):
    return number * number


def killed_once(mark: Path, number):
    """The square; the first process that comes to 3 is killed at it."""
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return squared(number)


def killed_always(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return squared(number)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_results_come_in_the_order_of_the_work(jobs):
    with in_order(squared, range(20), jobs) as results:
        assert list(results) == [n * n for n in range(20)]


def test_what_a_killed_process_was_at_is_done_again(tmp_path):
    mark = tmp_path / "killed"
    with in_order(partial(killed_once, mark), range(8), 2) as results:
        assert list(results) == [n * n for n in range(8)]
    assert mark.exists()


def test_work_that_no_process_survives_is_inconclusive_and_what_came_before_is_kept():
    kept = []
    with (
        pytest.raises(Inconclusive, match="killed"),
        in_order(killed_always, range(8), 3) as results,
    ):
        for result in results:
            kept.append(result)
    assert kept == [0, 1, 4]


def test_what_goes_wrong_in_a_process_goes_wrong_here():
    with pytest.raises(TypeError), in_order(squared, [1, "two"], 2) as results:
        list(results)


def test_no_process_is_left_when_the_work_is_given_up():
    with in_order(squared, range(1000), 2) as results:
        next(results)
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("release", ["0.5.21", "0.5.23"])
def test_a_search_writes_the_same_bytes_when_a_process_is_killed(release):
    design, killed = design_named(f"sglang-{release}"), []

    def kill_one(_what, done, _of):
        if done and not killed:
            killed.append(multiprocessing.active_children()[0])
            os.kill(killed[0].pid, signal.SIGKILL)

    alone = search_orders(design, DOMAIN, jobs=1)
    found = search_orders(design, DOMAIN, jobs=2, progress=kill_one)
    assert killed and killed[0].exitcode == -signal.SIGKILL
    assert text_of(found.document()) == text_of(alone.document())


def test_a_search_whose_processes_are_all_killed_keeps_what_it_found_and_is_not_complete(
    monkeypatch,
):
    def lost_at_the_third(crew):
        for index, item in enumerate(crew._items):
            if index == 2:
                raise Inconclusive(processes.LOST)
            yield crew._work(item)

    monkeypatch.setattr(processes._Crew, "results", lost_at_the_third)
    found = search_orders(design_named("sglang-0.5.23"), DOMAIN, jobs=2)
    assert found.cases and not found.complete
    assert processes.LOST in found.notes
