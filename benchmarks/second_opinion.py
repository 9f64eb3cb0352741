"""Time of cvc5's second opinion against z3's first, and of cvc5's proofs against its plain answers, query by query.

python benchmarks/second_opinion.py
"""

from __future__ import annotations

import statistics
import time

from spec.prove import Prover
from spec.sglang.theorems import LIBRARY
from spec.smt import cvc5_solver
from spec.smt.lemmas import LEMMAS
from spec.smt.solver import decide

RUNS = 3


def seconds(ask) -> float:
    """Least seconds of a few runs of a question: everything that it takes, parsing and printing included."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    proving = time.perf_counter()
    queries = [Prover().prove(theorem).queries[-1] for theorem in LIBRARY]
    proving = time.perf_counter() - proving
    queries += [lemma.query() for lemma in LEMMAS.values()]
    first = [seconds(lambda q=q: decide(q)) for q in queries]
    second = [seconds(lambda q=q: cvc5_solver.decide(q)) for q in queries]
    proofs = [seconds(lambda q=q: cvc5_solver.proof(q, "reference.smt2")) for q in queries]
    print(f"{len(queries)} queries; finding the proofs took {proving:.1f} s")
    for name, times in (("z3", first), ("cvc5", second), ("cvc5 with its proof", proofs)):
        mean, median = statistics.mean(times), statistics.median(times)
        print(
            f"{name:20s} {sum(times):6.2f} s, mean {mean * 1e3:.1f} ms, median {median * 1e3:.1f} ms"
        )
    inner = [cvc5_solver.decide(q).seconds / decide(q).seconds for q in queries]
    print(f"cvc5 / z3 with texts written and parsed {sum(second) / sum(first):.1f}")
    print(f"cvc5 / z3, check-sat alone, median      {statistics.median(inner):.1f}")
    print(f"cvc5's proofs / its plain answers       {sum(proofs) / sum(second):.1f}")
    print(f"second opinion / all of proving         {sum(second) / proving:.2f}")


if __name__ == "__main__":
    main()
