"""Theorems proved in several processes: the same results, also where a process is killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import asdict

import pytest

from generators.common.errors import Inconclusive
from gridproof import parallel_prove
from spec.prove import Prover
from spec.sglang.theorems import LIBRARY
from spec.smt import smtlib

THEOREMS = [theorem for theorem in LIBRARY if theorem.family == "flush"][:5]
TIMES = ("building", "choosing", "solving")


class Broken(Prover):
    """A prover that cannot prove."""

    def prove(self, theorem):
        raise ValueError("out of order")


def fields_of(result):
    fields = {k: v for k, v in vars(result).items() if k not in (*TIMES, "theorem", "queries")}
    fields["hypotheses"] = [asdict(h) for h in result.hypotheses]
    return result.theorem.id, fields


def test_two_processes_find_what_one_finds():
    shown = []
    alone = parallel_prove.prove(THEOREMS, Prover(), 1, True, lambda *_: None)
    found = parallel_prove.prove(THEOREMS, Prover(), 2, True, lambda *step: shown.append(step))
    assert list(map(fields_of, found)) == list(map(fields_of, alone))
    assert [done for _, done, _ in shown] == [1, 2, 3, 4, 5]
    asked = [smtlib.text(query) for result in found for query in result.queries]
    assert len(asked) == 5 and all("(check-sat)" in text for text in asked)


def test_queries_stay_behind_where_nobody_wants_them():
    found = parallel_prove.prove(THEOREMS[:2], Prover(), 2, False, lambda *_: None)
    assert [result.queries for result in found] == [[], []]


def _kills(monkeypatch, often):
    """Let the first process of each of the first `often` rounds be killed once it has sent a result."""
    working, rounds = parallel_prove._received, []

    def received(connections):
        for number, result in enumerate(working(connections)):
            yield result
            if number == 0 and len(rounds) < often:
                rounds.append(1)
                for child in multiprocessing.active_children():
                    os.kill(child.pid, signal.SIGKILL)

    monkeypatch.setattr(parallel_prove, "_received", received)


def test_what_a_killed_process_has_left_is_proved_by_another(monkeypatch):
    _kills(monkeypatch, 1)
    found = parallel_prove.prove(THEOREMS, Prover(), 2, False, lambda *_: None)
    assert [result.theorem.id for result in found] == [theorem.id for theorem in THEOREMS]
    assert {result.verdict for result in found} == {"proved"}


def test_theorems_that_no_process_survives_are_inconclusive(monkeypatch):
    monkeypatch.setattr(parallel_prove, "_received", lambda connections: iter(()))
    with pytest.raises(Inconclusive, match="killed"):
        parallel_prove.prove(THEOREMS, Prover(), 2, False, lambda *_: None)


def test_a_fault_in_a_process_is_a_fault_that_names_its_theorem():
    of_one = "|".join(f"^{theorem.id}: ValueError" for theorem in THEOREMS)
    with pytest.raises(RuntimeError, match=of_one):
        parallel_prove.prove(THEOREMS, Broken(), 2, False, lambda *_: None)


def test_few_theorems_are_not_worth_a_process():
    assert parallel_prove.processes(1) == parallel_prove.processes(len(THEOREMS)) == 1
    assert 1 <= parallel_prove.processes(10_000) <= (os.cpu_count() or 1)


def test_an_interrupt_of_all_processes_is_no_traceback(root):
    arguments = ("prove", "--jobs", "2", "--seeds", "1000")
    done = subprocess.run(
        [sys.executable, "-m", "tests.gridproof.interrupting", *arguments],
        capture_output=True,
        start_new_session=True,
        cwd=root,
    )
    assert done.returncode == 130 and b"Traceback" not in done.stderr
