"""Every node with a state has that state's depth: by gridproof for all numbers, by SPIN in a box of lengths.

    python benchmarks/spin_box.py [--most TOKENS]

Needs `spin` and `gcc` (Debian packages of these names).  `request_life.pml` is the boxed model.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = Path(__file__).with_name("request_life.pml")
JUDGE = "from spec.sglang.drift.verdict import judge; from spec.sglang.releases import CURRENT; print(judge(CURRENT).verdict)"


def timed(*command: str, folder: Path | None = None) -> tuple[float, str]:
    """Seconds of a command and what it printed."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def spin(folder: Path, *defines: str) -> tuple[float, str]:
    """Seconds that generating, compiling and running the verifier take, and its report."""
    steps = (
        ("spin", "-a", *defines, str(MODEL)),
        ("gcc", "-O2", "-DSAFETY", "-o", "verifier", "pan.c"),
        ("./verifier", "-E", "-m2000000"),
    )
    runs = [timed(*step, folder=folder) for step in steps]
    return sum(seconds for seconds, _ in runs), runs[-1][1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=24, help="largest number in the box (tokens)")
    box = f"-DMOST={parser.parse_args().most}"
    with tempfile.TemporaryDirectory() as folder:
        boxed, report = spin(Path(folder), box)
        wrong, found = spin(Path(folder), box, "-DRAW")
    states = re.search(r"(\d+) states, stored", report).group(1)
    memory = re.search(r"([\d.]+)\s+total actual memory", report).group(1)
    assert "errors: 0" in report and "assertion violated" in found
    print(f"SPIN, {box}: {boxed:.1f} s, {int(states):,} states, {memory} MB, no error")
    print(f"SPIN, {box} -DRAW: {wrong:.1f} s, the assertion is violated")
    for name, arguments in (
        ("second method, unbounded", ("-c", JUDGE)),
        ("all of gridproof prove", ("-m", "gridproof", "prove")),
    ):
        seconds, _ = timed(sys.executable, *arguments)
        print(f"{name}: {seconds:.1f} s, {boxed / seconds:.1f} times faster than SPIN")


if __name__ == "__main__":
    main()
