"""Installs the engine that an environment is named after, without its dependencies::

    python -m generators.emit.run.install_wheel sglang-0.5.18

Exit code 3, with one sentence, where the wheel cannot be had: the environment is then skipped, never green.
"""

from __future__ import annotations

import subprocess
import sys

NOTHING_TO_DO = 3


def main(name: str) -> int:
    """Install ``ENGINE-RELEASE``; ``ENGINE-source`` needs no wheel."""
    engine, _, release = name.partition("-")
    if release == "source":
        return 0
    requirement = f"{engine}=={release}"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return 0
    reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
    print(f"SKIPPED {name}: the wheel {requirement} cannot be had ({reason})", file=sys.stderr)
    return NOTHING_TO_DO


if __name__ == "__main__":
    if len(sys.argv) != 2 or not all(sys.argv[1].partition("-")[::2]):
        print("usage: python -m generators.emit.run.install_wheel ENGINE-RELEASE", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
