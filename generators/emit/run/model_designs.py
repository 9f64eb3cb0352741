"""Runs the emitted model tests on every design and holds each run against its predictions::

python -m generators.emit.run.model_designs generated_tests/model
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from generators.emit.manifest import read


def subjects(manifest: Path) -> list[str]:
    """The designs that the manifest has predictions for."""
    return list(read(manifest).subjects)


def run(folder: Path, subject: str) -> int:
    """Run the tests of a folder on one design; 0 when every test passed or failed as predicted."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"),
        *(
            "-p",
            "generators.emit.run.pytest_plugin",
            "--predictions",
            str(folder / "manifest.json"),
        ),
        *("--subject", subject, str(folder)),
    ]
    return subprocess.run(command, env={**os.environ, "GRIDPROOF_DESIGN": subject}).returncode


def main(folder: Path) -> int:
    """Run all designs; 0 when all runs were as predicted."""
    codes = {subject: run(folder, subject) for subject in subjects(folder / "manifest.json")}
    return 0 if codes and not any(codes.values()) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
