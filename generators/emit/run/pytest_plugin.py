"""A pytest plugin that holds a run of emitted tests against the manifest of what was predicted of them::

    pytest -p generators.emit.run.pytest_plugin --predictions FOLDER/manifest.json FOLDER

The run succeeds exactly when every test of the manifest was run, passed or failed as predicted and observed what was predicted.
A release that is not modelled is held against the newest that is; every difference is then drift.

- ``--subject NAME`` names the release or design under test, else it is the installed release;
- ``--source DIR`` tests the engine in a source tree instead of an installed one;
- ``--tier TIER`` leaves out the tests of larger tiers;
- ``--results FILE`` keeps what was seen, for `generators.emit.run.release_table`.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from generators.emit.manifest import RESULTS_SCHEMA, TIERS, Manifest, constants, read

NOT_COMPARABLE = "not comparable"
MOST_NAMED = 5  # tests that were not run


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gridproof")
    group.addoption(
        "--predictions", type=Path, help="manifest of predictions to hold the run against"
    )
    group.addoption(
        "--subject", help="release or design under test; default: the installed release"
    )
    group.addoption("--source", type=Path, help="test the engine in this source tree")
    group.addoption("--tier", choices=TIERS, help="leave out the tests of larger tiers")
    group.addoption("--results", type=Path, help="write what was seen to this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--predictions")
    if path is None:
        return
    try:
        manifest = read(path)
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"{path}: not a manifest ({error})") from None
    results = config.getoption("--results")
    if results is not None:
        _writable(results)
    source = config.getoption("--source")
    found = _in_source(manifest.target, source) if source else None
    subject = config.getoption("--subject") or found or _installed(manifest.target)
    plugin = Predictions(manifest, subject, config.getoption("--tier"), results)
    config.pluginmanager.register(plugin, "gridproof-predictions")


def _writable(path: Path) -> None:
    """Refuse before the run what could not be written after it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise pytest.UsageError(f"--results {path}: cannot be written ({error.strerror})") from None


def _installed(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package).partition("+")[0]
    except PackageNotFoundError:
        raise pytest.UsageError(
            f"{package} is not installed; name the subject by --subject, or a tree by --source"
        ) from None


def _in_source(package: str, tree: Path) -> str:
    """Put the engine of a source tree first on the path; its release, or `source` where it gives none."""
    root = next((r for r in (tree, tree / "python") if (r / package / "srt").is_dir()), None)
    if root is None:
        raise pytest.UsageError(f"{tree}: holds no {package} package, nor does its folder python")
    sys.path.insert(0, str(root.resolve()))
    importlib.invalidate_caches()
    for name in ("_version.py", "version.py"):
        path = root / package / name
        found = path.is_file() and re.search(r"""version__ = .*?["'](\d[\w.]*)""", path.read_text())
        if found:
            return found[1].partition("+")[0]
    return "source"


class Predictions:
    """Collects which tests of a run pass and fail and compares them with what the manifest says of one subject."""

    def __init__(
        self,
        manifest: Manifest,
        subject: str,
        tier: str | None = None,
        results: Path | None = None,
    ):
        self.subject, self.results = subject, results
        self.held_against = subject
        if subject not in manifest.subjects:
            if manifest.target == "model":
                names = ", ".join(manifest.subjects)
                raise pytest.UsageError(f"no prediction for {subject}; there are some for {names}")
            released = [name for name in manifest.subjects if "+" not in name]
            self.held_against = released[-1]
        allowed = TIERS[: TIERS.index(tier or TIERS[-1]) + 1]
        self.expected = {
            name: test.by_subject[self.held_against]
            for name, test in manifest.tests.items()
            if test.tier in allowed
        }
        self.left_out = set(manifest.tests) - set(self.expected)
        self.seen: dict[str, dict[str, Any]] = {}
        self.reasons: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out the tests of larger tiers."""
        left_out = [item for item in items if self._name(item.nodeid) in self.left_out]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if self._name(item.nodeid) not in self.left_out]

    @staticmethod
    def _name(nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        return f"{Path(path).name}::{test}"

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Note a test that the engine gives nothing to compare with: that is no failure of the engine."""
        # pytest puts an exception of its own in the place of one that skips a test.
        lacks = call.excinfo is not None and call.excinfo.typename == "NotComparable"
        reason = str(call.excinfo.value) if lacks and call.excinfo else None
        report = (yield).get_result()
        if reason is not None:
            # Properties travel with the report where tests run in other processes.
            report.user_properties.append((NOT_COMPARABLE, reason))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name, properties = self._name(report.nodeid), dict(report.user_properties)
        if NOT_COMPARABLE in properties:
            self.reasons[name] = str(properties[NOT_COMPARABLE])
        if report.when == "call" or report.outcome != "passed":
            outcome = {"passed": "passes", "failed": "fails"}.get(report.outcome, report.outcome)
            if report.when != "call" and report.outcome == "failed":
                outcome = "error"
            observed = properties.get("observed")
            if name in self.reasons:
                outcome, observed = NOT_COMPARABLE, None
            self.seen[name] = {"outcome": outcome, "observed": observed}

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A failure that was predicted, depths and all, is counted apart from the others."""
        name = self._name(report.nodeid)
        if report.when == "call" and name in self.reasons:
            return NOT_COMPARABLE, "n", NOT_COMPARABLE.upper()
        if report.when != "call" or not report.failed:
            return None
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
            wrong = self.surprises() or self.not_compared() or not self.seen
            session.exitstatus = 1 if wrong else 0
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
                | {"as_predicted": name not in surprises and self._comparable_as_expected(name)}
                for name in self.expected
            },
        }

    def not_compared(self) -> list[str]:
        """Tests that were predicted to pass or to fail and could not be compared."""
        return [name for name in self.reasons if not self._comparable_as_expected(name)]

    def constants(self) -> dict[str, tuple[int, Any]]:
        """Test functions with several runs that all observed one thing, so that they tell nothing apart."""
        observed = {n: s["observed"] for n, s in self.seen.items() if n not in self.reasons}
        return {name: found for name, found in constants(observed).items() if found[0] > 1}

    def _comparable_as_expected(self, name: str) -> bool:
        expected = self.expected.get(name, {"outcome": NOT_COMPARABLE})
        return name not in self.reasons or expected["outcome"] == NOT_COMPARABLE

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        write, surprises = terminalreporter.write_line, self.surprises()
        terminalreporter.section(f"gridproof predictions for {self.subject}")
        word = "SURPRISE"
        if self.held_against != self.subject:
            word = "DRIFT"
            write(f"{self.subject} is not modelled; it is held against {self.held_against}")
        outcomes = [expected["outcome"] for expected in self.expected.values()]
        red, lacking = outcomes.count("fails"), outcomes.count(NOT_COMPARABLE)
        parts = [f"{red} red", f"{len(outcomes) - red - lacking} green"]
        parts += [f"{lacking} not comparable"] if lacking else []
        write(f"{len(outcomes)} predicted: {', '.join(parts)}")
        for reason, count in Counter(self.reasons.values()).items():
            write(f"NOT COMPARABLE ({count} test{'s' if count > 1 else ''}): {reason}")
        for function, (count, seen) in self.constants().items():
            write(f"OBSERVED NOTHING ELSE {function}: {json.dumps(seen)} in all its {count} runs")
        lacking_unpredicted = self.not_compared()
        if lacking_unpredicted:
            write(f"{len(lacking_unpredicted)} of them were predicted to be comparable")
        idle = [name for name in surprises if name not in self.seen]
        for name, what in surprises.items():
            if name not in idle or len(idle) <= MOST_NAMED:
                write(f"{word} {name}: {what}")
        if len(idle) > MOST_NAMED:
            write(f"{word}: {len(idle)} tests were not run, {idle[0]} the first of them")
        if surprises:
            write(f"{len(surprises)} not as predicted")
        elif lacking_unpredicted:
            pass
        elif red:
            write(
                f"all as predicted: the red ones are the faults of {self.subject} they guard against"
            )
        else:
            write("all as predicted")


def _said(result: dict[str, Any]) -> str:
    return f"{result['outcome']} with {json.dumps(result['observed'])}"
