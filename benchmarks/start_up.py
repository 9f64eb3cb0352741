"""How long `gridproof --help` and one `check` take, against an empty Python.

python benchmarks/start_up.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 7
CHECK = "check --exit-zero -- python -m sglang.launch_server --model-path moonshotai/Kimi-K3 --dcp-size 8"


def median(*command: str) -> float:
    """Median seconds of a command, after one run that does not count."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def main() -> None:
    empty = median(sys.executable, "-c", "pass")
    for name, arguments in (("--help", ["--help"]), ("check", CHECK.split())):
        seconds = median(sys.executable, "-m", "gridproof", *arguments)
        print(f"gridproof {name}: {seconds:.2f} s, {seconds / empty:.1f} times an empty Python")


if __name__ == "__main__":
    main()
