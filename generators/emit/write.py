"""Writes pytest files for the cases found, and the manifest of what they are predicted to do on each release."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from generators.cases.codes import code_named
from generators.cases.file_format import Case, CaseFile, spelled, text_of
from generators.common.errors import BadInput
from generators.emit import python_source, replay_tests
from generators.emit.manifest import Manifest, PredictedTest
from generators.emit.replay_tests import MOST_DRAFT_TOKENS
from generators.sglang.codes import VERIFY_GRID
from generators.sglang.emit.mechanisms import MECHANISMS, emitted, takes
from generators.sglang.emit.mechanisms.base import (
    CASES,
    CONFIGURATION_FIELDS,
    Check,
    Emitted,
    TestGroup,
)
from generators.sglang.emit.retelling import design_of
from spec.sglang.proposals import with_insert_guard
from spec.sglang.releases import CURRENT, DESIGNS, Design

SUPPORT = {"model": "gridproof_model.py", "sglang": "gridproof_sglang.py"}
REPLAY = "replay"
TARGETS = (*SUPPORT, REPLAY)
GUARDED = f"{CURRENT.release}+insert-guard"
PATCH = f"insert_guard-{CURRENT.release}.patch"
MOST_TOKENS = 200_000


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader(f"generators.{room}", "templates")
                for room in ("emit", "sglang.emit")
            ]
        ),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["literal"] = python_source.literal
    environment.filters["param"] = _param
    environment.filters["signature"] = lambda group: python_source.signature(
        group.name, [*group.checks[0].arguments, "record_property"]
    )
    environment.filters["listed"] = lambda names: python_source.listed(names, 4)
    return environment


def _param(check: Check) -> str:
    """A run of a test as an item of parametrize's list."""
    arguments = [
        python_source.configuration(value, len(CONFIGURATION_FIELDS))
        if name == "configuration"
        else python_source.literal(value)
        for name, value in check.arguments.items()
    ]
    return python_source.item(
        "pytest.param", [*arguments, f"id={python_source.literal(check.id)}"], 8
    )


def subjects(target: str) -> dict[str, Design]:
    """What tests of a target are run on, by name: releases (and a proposal on the newest) or designs."""
    if target == "model":
        return dict(DESIGNS)
    return {
        **{design.release: design for design in DESIGNS.values()},
        GUARDED: with_insert_guard(CURRENT),
    }


def _span(names: Sequence[str], order: Sequence[str]) -> str:
    """Subjects in words; several in a row as `first to last`."""
    runs: list[list[str]] = []
    for name in names:
        if runs and order.index(name) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{r[0]} to {r[-1]}" if len(r) > 1 else r[0] for r in runs)


Predicted = dict[str, PredictedTest]


def _named(found: Emitted, group: TestGroup, check: Check) -> str:
    return f"test_{found.mechanism.name}.py::{group.name}[{check.id}]"


def _predictions(target: str, found: Sequence[Emitted]) -> Predicted:
    """What every test is predicted to do on every subject."""
    designs = subjects(target)
    return {
        _named(f, group, check): PredictedTest(
            check.tier, {name: check.predicted(design) for name, design in designs.items()}
        )
        for f in found
        for group in f.groups
        for check in group.checks
    }


def _colours(target: str, found: Emitted, predicted: Predicted) -> list[str]:
    """For each test: how many of its runs fail, and on which subjects."""
    order, rows = list(subjects(target)), []
    for group in found.groups:
        runs = [predicted[_named(found, group, check)] for check in group.checks]
        rows.append(f"  {group.name}: {len(runs)} run{'s' if len(runs) > 1 else ''}")
        by_colour: dict[str, list[str]] = {}
        for subject in order:
            outcomes = [run.by_subject[subject]["outcome"] for run in runs]
            red, lacking = outcomes.count("fails"), outcomes.count("not comparable")
            parts = [f"{red} red"] if red else []
            parts += [f"{lacking} not comparable"] if lacking else []
            by_colour.setdefault(", ".join(parts) or "all green", []).append(subject)
        rows += [f"    {what}: {_span(names, order)}" for what, names in by_colour.items()]
    return rows


def _guarded(case: Case) -> str:
    depths = case.depths
    if case.outcome == "fault":
        what = f"an assertion of the engine at {case.trace[-1].seq_len} tokens"
    else:
        consumed = depths["state"]
        state = "a state that nobody wrote" if consumed is None else f"a state of {consumed} tokens"
        what = f"{state} on the node of depth {depths['node']}"
    return f"{case.code} {case.id}: {what}"


def _constant(check: Check) -> str:
    """The name of a check's configuration in an emitted file of the model target."""
    return spelled(check.arguments["configuration"]).upper().replace("-", "_")


def _configurations(groups: Sequence[TestGroup]) -> dict[str, dict[str, Any]]:
    """Every configuration of a file by its name there."""
    return {_constant(c): c.arguments["configuration"] for group in groups for c in group.checks}


def _facts(checks: Sequence[Check], design: Design) -> dict[str, Any]:
    """For each configuration, by its name, the numbers that the model target needs to know of a design."""
    return {_constant(check): check.facts(design) for check in checks}


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 96, initial_indent="  ", subsequent_indent="    ")


def _module(
    environment: jinja2.Environment, target: str, tier: str, found: Emitted, predicted: Predicted
) -> str:
    template = environment.get_template(f"{target}_{found.mechanism.name}.py.j2")
    command = f"gridproof emit --target {target}" + (f" --tier {tier}" if tier != CASES else "")
    return template.render(
        cases=[_wrapped(_guarded(case)) for case in found.cases],
        codes=[
            _wrapped(f"{code.id} {code.name}: {code.means}")
            for code in (code_named(c) for c in dict.fromkeys(case.code for case in found.cases))
        ],
        colours=_colours(target, found, predicted),
        command=command,
        groups=found.groups,
        configurations=lambda groups: _configurations(groups).items(),
        constant=_constant,
        facts=lambda checks, design: _facts(checks, design).items(),
        designs=list(DESIGNS.values()),
    )


def _guard_helps(test: PredictedTest) -> bool:
    """Whether the insert-time guard turns a test green that the newest release fails."""
    guarded = test.by_subject.get(GUARDED, {}).get("outcome")
    return guarded == "passes" and test.by_subject[CURRENT.release]["outcome"] == "fails"


def tests(cases: Sequence[Case], target: str, tier: str = CASES) -> dict[str, str]:
    """The files of one target by name: a module a mechanism, the support modules, the manifest."""
    environment = _environment()
    found = emitted(cases, target, tier)
    predicted = _predictions(target, found)
    files = {
        f"test_{f.mechanism.name}.py": _module(environment, target, tier, f, predicted)
        for f in found
    }
    support = {SUPPORT[target], *(name for f in found for name in f.mechanism.support)}
    for name in sorted(support):
        files[name] = environment.get_template(f"{name}.j2").render(newest=CURRENT.name)
    if any(_guard_helps(test) for test in predicted.values()):
        files[PATCH] = (
            resources.files("generators.sglang.emit.templates").joinpath(PATCH).read_text("utf-8")
        )
    return _with_manifest(target, tier, tuple(subjects(target)), files, predicted)


def _with_manifest(
    target: str,
    tier: str,
    run_on: tuple[str, ...],
    files: dict[str, str],
    predicted: Predicted,
) -> dict[str, str]:
    """The files of a target and the manifest of what their tests are predicted to do."""
    hashes = {name: hashlib.sha256(t.encode()).hexdigest() for name, t in sorted(files.items())}
    return {**files, "manifest.json": Manifest(target, tier, run_on, hashes, predicted).text()}


def replays(case_files: Iterable[CaseFile]) -> dict[str, str]:
    """The files of the replay target by name: a module a family, pytest's options, the manifest; none without a case."""
    files, predicted = replay_tests.modules(_environment(), _designed(case_files))
    if not predicted:
        return {}
    return _with_manifest(REPLAY, CASES, replay_tests.SUBJECTS, files, predicted)


def _designed(case_files: Iterable[CaseFile]) -> list[tuple[Case, str]]:
    return [(case, file.design) for file in case_files for case in file.cases]


def untold(case_files: Sequence[CaseFile], targets: Sequence[str]) -> Iterator[str]:
    """What the targets have no test for, and why: a sentence each."""
    if mechanisms := [m for m in MECHANISMS if set(m.targets) & set(targets)]:
        for case, _ in _designed(case_files):
            if not any(takes(m, case) for m in mechanisms):
                yield f"no test is written for {case.id}: no template tells its events yet"
    if REPLAY in targets:
        for name, why in replay_tests.families(_designed(case_files))[1].items():
            yield f"no replay is written for {name}: {why}"


def _emittable(name: str, case: Case) -> None:
    """Refuse a case whose test could not be run in reasonable time."""
    c = case.configuration
    lengths = [case.trace[-1].seq_len, case.depths["state"] or 0]
    lengths += [c[f] for f in CONFIGURATION_FIELDS]
    if max(lengths) > MOST_TOKENS:
        raise BadInput(
            f"{name}: case {case.id} needs {max(lengths):,} tokens; a test is emitted for at most "
            f"{MOST_TOKENS:,}"
        )
    drafts = c["speculative_num_draft_tokens"] or 0
    if case.code == VERIFY_GRID.id and not 1 <= drafts <= MOST_DRAFT_TOKENS:
        raise BadInput(
            f"{name}: case {case.id} verifies {drafts} draft tokens; accepted are 1 to {MOST_DRAFT_TOKENS}"
        )


def folder(
    case_files: dict[str, CaseFile], targets: Sequence[str], tier: str = CASES
) -> dict[Path, str]:
    """Everything `emit` writes below its out folder: the case files it was made from, and each target's tests."""
    written = {
        Path("cases") / name: text_of(case_file.document())
        for name, case_file in sorted(case_files.items())
    }
    for name, case_file in case_files.items():
        design_of(case_file, name)
        for case in case_file.cases:
            _emittable(name, case)
    in_order = [case_file for _, case_file in sorted(case_files.items())]
    cases = [case for case_file in in_order for case in case_file.cases]
    for target in targets:
        found = replays(in_order) if target == REPLAY else tests(cases, target, tier)
        for name, text in found.items():
            written[Path(target) / name] = text
    return written
