"""A pytest plugin that holds a run of emitted tests against the manifest of what was predicted of them::

    pytest -p generators.predictions --predictions FOLDER/manifest.json [--subject NAME] FOLDER

The run succeeds exactly when every test of the manifest was run and had its predicted colour and observation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from generators.manifest import SCHEMA


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gridproof")
    group.addoption(
        "--predictions", type=Path, help="manifest of predictions to hold the run against"
    )
    group.addoption(
        "--subject", help="release or design under test; default: the installed release"
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--predictions")
    if path is None:
        return
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise pytest.UsageError(f"{path}: not a manifest ({error})") from None
    if manifest.get("schema") != SCHEMA:
        raise pytest.UsageError(f"{path}: its schema is not {SCHEMA}")
    subject = config.getoption("--subject") or _installed(manifest["target"])
    config.pluginmanager.register(Predictions(manifest, subject), "gridproof-predictions")


def _installed(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        raise pytest.UsageError(
            f"{package} is not installed; name the subject by --subject"
        ) from None


class Predictions:
    """Collects the colours of a run and compares them with what the manifest says of one subject."""

    def __init__(self, manifest: dict[str, Any], subject: str):
        self.subject = subject
        self.expected: dict[str, dict[str, Any]] = {}
        for name, by_subject in manifest["tests"].items():
            if subject not in by_subject:
                known = ", ".join(by_subject)
                raise pytest.UsageError(f"no prediction for {subject}; there are some for {known}")
            self.expected[name] = by_subject[subject]
        self.seen: dict[str, dict[str, Any]] = {}

    @staticmethod
    def _name(nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        return f"{Path(path).name}::{test}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            outcome = {"passed": "passes", "failed": "fails"}.get(report.outcome, report.outcome)
            if report.when != "call" and report.outcome == "failed":
                outcome = "error"
            observed = dict(report.user_properties).get("observed")
            self.seen[self._name(report.nodeid)] = {"outcome": outcome, "observed": observed}

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A failure that was predicted, depths and all, is counted apart from the others."""
        name = self._name(report.nodeid)
        if (
            report.when == "call"
            and report.failed
            and self.seen.get(name) == self.expected.get(name)
        ):
            return "red as predicted", "r", "RED AS PREDICTED"
        return None

    def surprises(self) -> list[str]:
        """One line for every test that was not as predicted, or not run, or not predicted."""
        lines = []
        for name, expected in self.expected.items():
            seen = self.seen.get(name, {"outcome": "not run", "observed": None})
            if seen != expected:
                lines.append(f"{name}: predicted {_said(expected)}, was {_said(seen)}")
        lines += [
            f"{name}: nothing was predicted" for name in self.seen if name not in self.expected
        ]
        return lines

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            session.exitstatus = 1 if self.surprises() or not self.seen else 0

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write, surprises = terminalreporter.write_line, self.surprises()
        terminalreporter.section(f"gridproof predictions for {self.subject}")
        red = sum(e["outcome"] == "fails" for e in self.expected.values())
        write(f"{len(self.expected)} predicted: {red} red, {len(self.expected) - red} green")
        for line in surprises:
            write(f"SURPRISE {line}")
        if surprises:
            write(f"{len(surprises)} not as predicted")
        elif red:
            write(
                f"all as predicted: the red ones are the faults of {self.subject} they guard against"
            )
        else:
            write("all as predicted")


def _said(result: dict[str, Any]) -> str:
    return f"{result['outcome']} with {json.dumps(result['observed'])}"
