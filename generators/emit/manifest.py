"""The manifest beside emitted tests (what each is predicted to do), and the results of a run held against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "gridproof/manifest/2"
RESULTS_SCHEMA = "gridproof/results/1"
TIERS = ("cases", "tiny", "small", "standard")

Prediction = dict[str, Any]


@dataclass(frozen=True)
class PredictedTest:
    """What a test is predicted to do on each subject (a release or a design), and the smallest tier that has it."""

    tier: str
    by_subject: Mapping[str, Prediction]


@dataclass(frozen=True)
class Manifest:
    """The tests of one target, with the hash of every file that holds them."""

    target: str
    tier: str
    subjects: tuple[str, ...]
    files: Mapping[str, str]
    tests: Mapping[str, PredictedTest]

    def text(self) -> str:
        """The manifest as JSON, one line a prediction; subjects of which the same is predicted share it."""
        head = {
            "schema": SCHEMA,
            "target": self.target,
            "tier": self.tier,
            "subjects": list(self.subjects),
            "files": dict(self.files),
        }
        lines = [json.dumps(head, indent=2).removesuffix("\n}") + ",", '  "tests": {']
        blocks = []
        for name, test in self.tests.items():
            shared: dict[str, list[str]] = {}
            for subject in self.subjects:
                key = json.dumps(test.by_subject[subject])
                shared.setdefault(key, []).append(subject)
            predictions = ",\n".join(
                f'        {{"on": {json.dumps(subjects)}, {key[1:]}'
                for key, subjects in shared.items()
            )
            blocks.append(
                f"    {json.dumps(name)}: {{\n"
                f'      "tier": {json.dumps(test.tier)},\n'
                f'      "predicted": [\n{predictions}\n      ]\n    }}'
            )
        return "\n".join([*lines, ",\n".join(blocks), "  }", "}"]) + "\n"


def constants(observed: Mapping[str, Any]) -> dict[str, tuple[int, Any]]:
    """The test functions all of whose runs observed one thing, with their number and that thing; by run's name."""
    by_function: dict[str, list[Any]] = {}
    for name, seen in observed.items():
        by_function.setdefault(name.partition("[")[0], []).append(seen)
    return {
        function: (len(seen), seen[0])
        for function, seen in by_function.items()
        if all(other == seen[0] for other in seen)
    }


def _is_test(test: Any) -> bool:
    return (
        isinstance(test, dict)
        and test.get("tier") in TIERS
        and isinstance(test.get("predicted"), list)
        and all(
            isinstance(p, dict)
            and isinstance(p.get("on"), list)
            and {"outcome", "observed"} <= set(p)
            for p in test["predicted"]
        )
    )


def parse(data: Any) -> Manifest:
    """A manifest from its JSON; `ValueError` with what is wrong where it is none."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    kinds = {"target": str, "tier": str, "subjects": list, "files": dict, "tests": dict}
    for name, kind in kinds.items():
        if not isinstance(data.get(name), kind):
            raise ValueError(f"its {name} are not as {SCHEMA} has them")
    if data["tier"] not in TIERS:
        raise ValueError(f"its tier is none of {', '.join(TIERS)}")
    if not data["tests"] or not all(map(_is_test, data["tests"].values())):
        raise ValueError(f"its tests are not as {SCHEMA} has them, or there is none")
    tests = {
        name: PredictedTest(
            test["tier"],
            {
                subject: {"outcome": p["outcome"], "observed": p["observed"]}
                for p in test["predicted"]
                for subject in p["on"]
            },
        )
        for name, test in data["tests"].items()
    }
    subjects = tuple(data["subjects"])
    if lacking := [
        name for name, test in tests.items() if not set(subjects) <= set(test.by_subject)
    ]:
        raise ValueError(f"{lacking[0]} has no prediction for some of its subjects")
    return Manifest(data["target"], data["tier"], subjects, data["files"], tests)


def read(path: Path) -> Manifest:
    """The manifest in a file; `ValueError` or `OSError` where there is none."""
    return parse(json.loads(path.read_text(encoding="utf-8")))
