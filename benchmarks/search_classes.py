"""All classes of the decode fault of SGLang 0.5.18 against blocking one model at a time.

    python benchmarks/search_classes.py

The domain: page {1,16,32,64,128,256} x dcp 1..64 x chunk {64,128,256} x interval 1..4096, guards on.
"""

from __future__ import annotations

import time

import z3

from generators.cases.domain import Domain
from generators.search.configurations import search
from spec.sglang.releases import design_named

PAGES, CHUNKS = (1, 16, 32, 64, 128, 256), (64, 128, 256)
DOMAIN = Domain(
    {
        "page_size": PAGES,
        "dcp_size": range(1, 65),
        "mamba_chunk_size": CHUNKS,
        "mamba_track_interval": range(1, 4097),
    }
)
MODELS = 1_000


def classes(close: bool) -> tuple[float, int, int, bool]:
    """Seconds, classes, configurations broken in decode, complete."""
    start = time.perf_counter()
    found = search(design_named("sglang-0.5.18"), DOMAIN, close=close)
    seconds = time.perf_counter() - start
    decode = [case for case in found.cases if case.code == "GP101"]
    return seconds, len(decode), sum(case.members or 0 for case in decode), found.complete


def blocking() -> float:
    """Models a second over the first thousand, each blocked by one clause."""
    page, dcp, chunk, interval = z3.Ints("page dcp chunk interval")
    solver = z3.Solver()
    solver.add(
        z3.Or([page == p for p in PAGES]),
        z3.Or([chunk == c for c in CHUNKS]),
        1 <= dcp,
        dcp <= 64,
        1 <= interval,
        interval <= 4096,
        interval % page == 0,
        interval % (page * dcp) != 0,
    )
    start = time.perf_counter()
    for _ in range(MODELS):
        if solver.check() != z3.sat:
            raise SystemExit("blocking gave up")
        model = solver.model()
        names = (page, dcp, chunk, interval)
        solver.add(z3.Or([n != model.eval(n, model_completion=True) for n in names]))
    return MODELS / (time.perf_counter() - start)


def main() -> None:
    seconds, count, members, _ = classes(close=False)
    print(f"enumeration: {count} classes, {members:,} configurations in {seconds:.2f} s")
    closed, _, _, complete = classes(close=True)
    print(f"with extends closed by the solver: {closed:.2f} s, complete: {complete}")
    rate = blocking()
    print(f"one model at a time: {rate:.0f} models a second over the first {MODELS:,}")
    print(f"at that rate {members / rate / 60:.0f} minutes; ratio {members / rate / closed:,.0f}")


if __name__ == "__main__":
    main()
