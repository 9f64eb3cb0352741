"""Shared by all tests: the folders, and the command line run in-process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example may take says something of the machine and nothing of what is tested.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

ROOT = Path(__file__).parents[1]
# What rich asks about the terminal that the tests are started from.
TERMINAL = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


@pytest.fixture(autouse=True, scope="session")
def no_terminal():
    """What is printed does not depend on the terminal or the CI system that runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in TERMINAL:
            patch.delenv(name, raising=False)
        yield


@dataclass(frozen=True)
class Run:
    """What one run of the command line gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def gridproof(capsys, monkeypatch):
    """Run ``gridproof ARGUMENTS...`` in this process."""
    from gridproof import cli

    def run(*arguments: str) -> Run:
        monkeypatch.setattr("sys.argv", ["gridproof", *arguments])
        capsys.readouterr()
        code = 0
        try:
            cli.run()
        except SystemExit as end:
            code = end.code or 0
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return run


@pytest.fixture
def root() -> Path:
    return ROOT
