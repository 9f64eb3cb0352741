"""A pytest plugin that holds a run of emitted tests against the manifest of what was predicted of them::

    pytest -p generators.predictions --predictions FOLDER/manifest.json [--subject NAME] FOLDER

The run succeeds exactly when every test of the manifest was run and had its predicted colour and observation.
A release that is not modelled is held against the newest that is; every difference is then drift.
``--results FILE`` keeps what was seen, for `generators.matrix`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from generators.manifest import RESULTS_SCHEMA, SCHEMA

NOT_COMPARABLE = "not comparable"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gridproof")
    group.addoption(
        "--predictions", type=Path, help="manifest of predictions to hold the run against"
    )
    group.addoption(
        "--subject", help="release or design under test; default: the installed release"
    )
    group.addoption("--results", type=Path, help="write what was seen to this file")


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
    plugin = Predictions(manifest, subject, config.getoption("--results"))
    config.pluginmanager.register(plugin, "gridproof-predictions")


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

    def __init__(self, manifest: dict[str, Any], subject: str, results: Path | None = None):
        self.subject, self.results = subject, results
        known = list(next(iter(manifest["tests"].values()), {}))
        self.held_against = subject
        if subject not in known:
            if manifest["target"] == "model":
                names = ", ".join(known)
                raise pytest.UsageError(f"no prediction for {subject}; there are some for {names}")
            self.held_against = known[-1]
        self.expected = {name: t[self.held_against] for name, t in manifest["tests"].items()}
        self.seen: dict[str, dict[str, Any]] = {}
        self.reasons: dict[str, str] = {}

    @staticmethod
    def _name(nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        return f"{Path(path).name}::{test}"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Note a test that the engine gives nothing to compare with: that is no failure of the engine."""
        yield
        if call.excinfo is not None and call.excinfo.typename == "NotComparable":
            self.reasons[self._name(item.nodeid)] = str(call.excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = self._name(report.nodeid)
        if report.when == "call" or report.outcome != "passed":
            outcome = {"passed": "passes", "failed": "fails"}.get(report.outcome, report.outcome)
            if report.when != "call" and report.outcome == "failed":
                outcome = "error"
            if name in self.reasons:
                outcome = NOT_COMPARABLE
            observed = dict(report.user_properties).get("observed")
            self.seen[name] = {"outcome": outcome, "observed": observed}

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A failure that was predicted, depths and all, is counted apart from the others."""
        name = self._name(report.nodeid)
        if report.when != "call" or not report.failed:
            return None
        if name in self.reasons:
            return NOT_COMPARABLE, "n", NOT_COMPARABLE.upper()
        if self.seen.get(name) == self.expected.get(name):
            return "red as predicted", "r", "RED AS PREDICTED"
        return None

    def surprises(self) -> dict[str, str]:
        """What was not as predicted, not run or not predicted, by test; what cannot be compared is none."""
        found = {}
        for name, expected in self.expected.items():
            seen = self.seen.get(name, {"outcome": "not run", "observed": None})
            if seen != expected and name not in self.reasons:
                found[name] = f"predicted {_said(expected)}, was {_said(seen)}"
        unknown = [name for name in self.seen if name not in self.expected]
        return found | dict.fromkeys(unknown, "nothing was predicted")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        if len(self.reasons) == len(self.expected):
            session.exitstatus = 3
        else:
            session.exitstatus = 1 if self.surprises() or not self.seen else 0
        if self.results is not None:
            self.results.parent.mkdir(parents=True, exist_ok=True)
            self.results.write_text(json.dumps(self.document(), indent=2) + "\n", encoding="utf-8")

    def document(self) -> dict[str, Any]:
        """What was seen, test by test, as JSON."""
        surprises = self.surprises()
        return {
            "schema": RESULTS_SCHEMA,
            "subject": self.subject,
            "held_against": self.held_against,
            "tests": {
                name: {**self.seen.get(name, {"outcome": "not run", "observed": None})}
                | {"as_predicted": name not in surprises and name not in self.reasons}
                for name in self.expected
            },
        }

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write, surprises = terminalreporter.write_line, self.surprises()
        terminalreporter.section(f"gridproof predictions for {self.subject}")
        word = "SURPRISE"
        if self.held_against != self.subject:
            word = "DRIFT"
            write(f"{self.subject} is not modelled; it is held against {self.held_against}")
        red = sum(e["outcome"] == "fails" for e in self.expected.values())
        write(f"{len(self.expected)} predicted: {red} red, {len(self.expected) - red} green")
        for name, reason in self.reasons.items():
            write(f"NOT COMPARABLE {name}: {reason}")
        for name, what in surprises.items():
            write(f"{word} {name}: {what}")
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
