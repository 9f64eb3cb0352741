"""Solver time a query: gridproof's theorems and lemmas against a hand-written chain of lemmas, ten seeds each.

    python benchmarks/prove_queries.py --chain FILE

FILE is a Python script with a list `ORDER` of lemma names, `query(name)` giving z3 formulas to refute and
`z3chk(formulas, seed)` giving (result, seconds).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import tempfile
from pathlib import Path

from spec.prove import Prover
from spec.sglang.theorems import LIBRARY
from spec.smt.lemmas import LEMMAS
from spec.smt.solver import Limits, decide

SEEDS = range(10)


def ours() -> tuple[list[float], int]:
    """Seconds of every query, and how many did not end unsat."""
    queries = [Prover().prove(theorem).queries[-1] for theorem in LIBRARY]
    queries += [lemma.query() for lemma in LEMMAS.values()]
    answers = [decide(query, Limits(seed=seed)) for seed in SEEDS for query in queries]
    return [a.seconds for a in answers], sum(a.result != "unsat" for a in answers)


def chain(path: Path) -> tuple[list[float], int]:
    """The same for the hand-written chain, run from an empty folder since it writes beside itself."""
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        spec = importlib.util.spec_from_file_location("chain", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        answers = [
            module.z3chk(module.query(name), seed) for seed in SEEDS for name in module.ORDER
        ]
        os.chdir(home)
    return [seconds for _, seconds in answers], sum(result != "unsat" for result, _ in answers)


def report(name: str, seconds: list[float], failed: int) -> float:
    """Print one line; the mean in seconds."""
    mean = statistics.mean(seconds)
    print(
        f"{name:28s} {len(seconds):4d} queries, {failed} not proved, "
        f"mean {mean * 1e3:.2f} ms, median {statistics.median(seconds) * 1e3:.2f} ms"
    )
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chain", type=Path, help="script with the hand-written chain")
    options = parser.parse_args()
    mean = report("gridproof", *ours())
    if options.chain:
        other = report("hand-written chain", *chain(options.chain.resolve()))
        print(f"ratio {mean / other:.2f}")


if __name__ == "__main__":
    main()
