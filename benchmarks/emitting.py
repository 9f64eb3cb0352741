"""How long the engine's tests of one tier take to emit, against how long they take to run::

    python benchmarks/emitting.py .tox/sglang-0.5.23/bin/python

The argument is an interpreter that has the engine; both times are of one run on this machine, as a ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generators.emit import manifest

ROOT = Path(__file__).parents[1]
CASES = sorted((ROOT / "generated_tests" / "cases").glob("*.json"))


def timed(command: list[str | Path], **environment: str) -> float:
    """Seconds that a command takes."""
    start = time.perf_counter()
    env = {**os.environ, **environment}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.perf_counter() - start


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description="emitting tests against running them")
    parser.add_argument("python", help="an interpreter that has sglang")
    parser.add_argument("--tier", default="standard", choices=manifest.TIERS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Path(folder) / "sglang"
        emit = ["emit", *CASES, "--target", "sglang", "--tier", options.tier, "--out", folder]
        emitting = timed([sys.executable, "-m", "gridproof", *emit])
        count = len(manifest.read(tests / "manifest.json").tests)
        plugin = [
            "-p",
            "generators.emit.run.pytest_plugin",
            "--predictions",
            tests / "manifest.json",
        ]
        run = [options.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, tests]
        running = timed(
            run, PYTHONPATH=os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        )
    print(f"{count} tests: emitted in {emitting:.1f} s, run in {running:.1f} s")
    print(f"running takes {running / emitting:.1f} times as long as emitting")


if __name__ == "__main__":
    main()
