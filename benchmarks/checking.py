"""Processor time of `check` for many files in one run, and of as many starts for one file each.

python benchmarks/checking.py [FILES]
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

STARTS = 20
PAGES, RANKS, INTERVALS = (1, 16, 32, 64, 128), (1, 2, 4, 8), (64, 128, 256, 512)


def launches(count: int) -> list[str]:
    """Launch commands: 80 configurations in turn, each file with a model and a port of its own."""
    combinations = itertools.cycle(itertools.product(PAGES, RANKS, INTERVALS))
    return [
        f"sglang serve --model-path some/model-{n} --port {30000 + n} --tp-size 8 --page-size {page} "
        f"--dcp-size {ranks} --mamba-track-interval {interval}\n"
        for n, (page, ranks, interval) in zip(range(count), combinations, strict=False)
    ]


def seconds(*arguments: str) -> float:
    """Processor seconds of one `gridproof check`, which a busy machine does not lengthen much."""
    before = os.times()
    command = [sys.executable, "-m", "gridproof", "check", "--exit-zero", "--format", "json"]
    subprocess.run([*command, *arguments], check=True, capture_output=True)
    after = os.times()
    used = after.children_user - before.children_user
    return used + after.children_system - before.children_system


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"launch-{n}.sh" for n in range(count)]
        for file, text in zip(files, launches(count), strict=True):
            file.write_text(text)
        together = seconds(folder)
        single = [seconds(str(file)) for file in files[:: max(1, count // STARTS)]]
    one = sum(single) / len(single)
    print(f"{count} files in one run: {together:.1f} s")
    print(
        f"one file a start: {one:.2f} s, mean of {len(single)}; {count} starts: {one * count:.0f} s"
    )
    print(f"one run is {one * count / together:.0f} times faster")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
