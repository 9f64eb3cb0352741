"""The first order of events that breaks a design, by `search` and by what else could look for it; and that a repair has none.

    python benchmarks/finding.py [--crosshair PROGRAM] [--seconds LIMIT]

Two designs: 0.5.18, and 0.5.23 whose slots are overwritten.  gridproof and Hypothesis (random configurations and events
of the same scheduler) are given the design; z3 (one model, the rule written out), numpy (every configuration and length)
and CrossHair (the rule under a contract) are pointed to the grid of decode, and cannot say
anything of orders.  SPIN's part is in `spin_box.py`.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy
import z3
from hypothesis import strategies as st

from generators.cases.domain import Domain
from generators.search.event_orders import find_orders
from generators.search.limits import SearchLimits
from generators.sglang.search.classify import is_wrong
from spec.sglang.checkpoints import decode_checkpoint, misplaced
from spec.sglang.configuration import Configuration
from spec.sglang.drift import verdict
from spec.sglang.releases import Design, design_named
from spec.sglang.scheduler import Scheduler

PAGES, DCP, INTERVALS = (1, 16, 64, 128), (1, 2, 4, 8), (64, 128, 256, 512)
DOMAIN = Domain({"page_size": PAGES, "dcp_size": DCP, "mamba_track_interval": INTERVALS})
GRID, SLOTS = design_named("sglang-0.5.18"), design_named("sglang-0.5.23")
REPAIRED = design_named("sglang-0.5.23+completed-swap")

CONTRACT = '''
from types import SimpleNamespace
from spec.sglang.checkpoints import decode_checkpoint, misplaced
from spec.sglang.designs import design_named

GRID = design_named("sglang-0.5.18")

def is_misplaced(page_size: int, dcp_size: int, interval: int, seq_len: int) -> bool:
    """
    pre: 1 <= page_size <= 128 and 1 <= dcp_size <= 8 and 1 <= interval <= 512 and 1 <= seq_len <= 4096
    pre: interval % page_size == 0
    post: not _
    """
    c = SimpleNamespace(page_size=page_size, dcp_size=dcp_size, mamba_chunk_size=64, mamba_track_interval=interval)
    return misplaced(GRID, c, decode_checkpoint(GRID, c, seq_len))
'''


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    start = time.perf_counter()
    return (lambda found: (time.perf_counter() - start, found))(work())


def by_gridproof(design: Design) -> bool:
    """Whether the search of orders finds something, stopping at the first class."""
    return bool(find_orders(design, DOMAIN, limits=SearchLimits(cases=1), jobs=1).best)


@st.composite
def lives(draw: Any, design: Design) -> tuple[Any, Any, list[Any]]:
    """A configuration of the domain and a request's life on it: a prompt, steps, other batches, the end."""
    c = Configuration()
    for name in ("page_size", "dcp_size", "mamba_track_interval"):
        setattr(c, name, draw(st.sampled_from(DOMAIN.axis(name))))
    hypothesis.assume(all(guard.accepts(c) for guard in design.guards))
    scheduler = Scheduler(design, c)
    length = draw(st.integers(1, 2048))
    request = scheduler.extend(scheduler.admit(), length)
    for _ in range(draw(st.integers(1, 3))):
        length += draw(st.integers(1, 2048))
        request = scheduler.decode(request, length)
        if draw(st.booleans()):
            request = scheduler.other_batch(request)
    return design, c, [d.checkpoint for d in scheduler.finish(request).donated]


def by_hypothesis(design: Design, most: int) -> bool:
    """Whether one of this number of random lives ends with a wrong checkpoint."""
    settings = hypothesis.settings(
        max_examples=most,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    try:
        hypothesis.find(
            lives(design),
            lambda life: any(is_wrong(life[0], life[1], d) for d in life[2]),
            settings=settings,
        )
    except hypothesis.errors.NoSuchExample:
        return False
    return True


def by_z3() -> bool:
    """One model of the decode fault, its rule written out."""
    page, dcp, interval, k = z3.Ints("page dcp interval k")
    solver = z3.Solver()
    solver.add(
        *(
            z3.Or([n == v for v in axis])
            for n, axis in ((page, PAGES), (dcp, DCP), (interval, INTERVALS))
        )
    )
    solver.add(
        interval % page == 0, k >= 1, k * interval > page * dcp, (k * interval) % (page * dcp) != 0
    )
    return solver.check() == z3.sat


def by_numpy() -> bool:
    """Every configuration, every length up to 4,096 tokens."""
    lengths = numpy.arange(1, 4097)
    for page, dcp, interval in itertools.product(PAGES, DCP, INTERVALS):
        c = SimpleNamespace(
            page_size=page, dcp_size=dcp, mamba_chunk_size=64, mamba_track_interval=interval
        )
        if misplaced(GRID, c, decode_checkpoint(GRID, c, lengths)).any():
            return True
    return False


def by_crosshair(program: str, seconds: int) -> bool:
    """Whether CrossHair refutes the contract."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "contract.py").write_text(CONTRACT, encoding="utf-8")
        command = [program, "check", "--per_condition_timeout", str(seconds), "contract.py"]
        root = str(Path(__file__).parents[1])
        done = subprocess.run(
            command, cwd=folder, env={"PYTHONPATH": root}, capture_output=True, text=True
        )
        return "false when" in done.stdout.lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--crosshair", help="the program `crosshair`, of an environment of its own")
    parser.add_argument("--seconds", type=int, default=120, help="that CrossHair is given")
    options = parser.parse_args()
    rows: list[tuple[str, str, Callable[[], bool]]] = [
        ("0.5.18, decode grid", "gridproof", lambda: by_gridproof(GRID)),
        ("0.5.18, decode grid", "z3, one model", by_z3),
        ("0.5.18, decode grid", "numpy, exhaustive", by_numpy),
        ("0.5.18, decode grid", "Hypothesis", lambda: by_hypothesis(GRID, 100_000)),
        ("0.5.23, slots", "gridproof", lambda: by_gridproof(SLOTS)),
        ("0.5.23, slots", "Hypothesis", lambda: by_hypothesis(SLOTS, 100_000)),
    ]
    if options.crosshair:
        rows.insert(
            4,
            (
                "0.5.18, decode grid",
                "CrossHair",
                lambda: by_crosshair(options.crosshair, options.seconds),
            ),
        )
    first: dict[str, float] = {}
    for fault, method, work in rows:
        seconds, found = timed(work)
        ratio = seconds / first.setdefault(fault, seconds)
        print(
            f"{fault}: {method}: {'found' if found else 'not found'} in {seconds:.2f} s ({ratio:.1f} times gridproof's)"
        )
    seconds, orders = timed(lambda: find_orders(REPAIRED, DOMAIN, jobs=1))
    print(
        f"the repair: {orders.searched} groups of {orders.configurations} configurations, no longer trace: {orders.closed}, "
        f"{len([k for k in orders.best if k.code.id == 'GP401'])} slots overwritten, {seconds:.1f} s"
    )
    seconds, judged = timed(lambda: verdict.judge(REPAIRED).verdict)
    print(f"the repair, for all numbers, by Horn clauses: {judged} in {seconds:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
