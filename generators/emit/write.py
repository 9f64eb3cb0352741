"""Writes pytest files for the cases found, and the manifest of what they are predicted to do on each release."""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from generators.cases import wording
from generators.cases.codes import code_named
from generators.cases.file_format import Case, CaseFile, spelled, text_of
from generators.common.errors import BadInput
from generators.emit import python_source
from generators.emit.manifest import Manifest, PredictedTest
from generators.emit.mechanism import (
    CASES,
    ENGINE,
    MODEL,
    Check,
    Emitted,
    TestGroup,
    emitted,
    takes,
)
from generators.engines import Engine, engine, engine_of
from spec.engine import DEFAULT, PACKAGES, Design, UnknownDesign, design_named

REPLAY = "replay"
MOST_TOKENS = 200_000


def targets() -> tuple[str, ...]:
    """What tests can be written for: the rules themselves, each engine, and replays on numbers."""
    return (MODEL, *PACKAGES, REPLAY)


def _environment(of: Engine) -> jinja2.Environment:
    packages = ("generators.emit", of.emit.package)
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(p, "templates") for p in packages]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["literal"] = python_source.literal
    environment.filters["param"] = partial(_param, len(of.emit.configuration_fields))
    environment.filters["signature"] = lambda group: python_source.signature(
        group.name, [*group.checks[0].arguments, "record_property"]
    )
    environment.filters["listed"] = lambda names: python_source.listed(names, 4)
    return environment


def _param(positional: int, check: Check) -> str:
    """A run of a test as an item of parametrize's list."""
    arguments = [
        python_source.configuration(value, positional)
        if name == "configuration"
        else python_source.literal(value)
        for name, value in check.arguments.items()
    ]
    return python_source.item(
        "pytest.param", [*arguments, f"id={python_source.literal(check.id)}"], 8
    )


def subjects(target: str) -> dict[str, Design]:
    """What tests of a target are run on, by name: releases (and proposals on the newest) or designs."""
    if target == MODEL:
        return _designs(engine(DEFAULT))
    of = engine(target)
    released = {design.release: design for design in _designs(of).values()}
    return {**released, **{p.subject: p.design for p in of.emit.proposed}}


def _designs(of: Engine) -> dict[str, Design]:
    """The modelled releases of an engine, by the name of their design."""
    designs = [of.model.released(release) for release in of.model.releases]
    return {design.name: design for design in designs}


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


def _outcomes(target: str, found: Emitted, predicted: Predicted) -> list[str]:
    """For each test: how many of its runs fail, and on which subjects."""
    order, rows = list(subjects(target)), []
    for group in found.groups:
        runs = [predicted[_named(found, group, check)] for check in group.checks]
        rows.append(f"  {group.name}: {len(runs)} run{'s' if len(runs) > 1 else ''}")
        by_outcome: dict[str, list[str]] = {}
        for subject in order:
            outcomes = [run.by_subject[subject]["outcome"] for run in runs]
            failing, lacking = outcomes.count("fails"), outcomes.count("not comparable")
            parts = [f"{failing} fail{'s' if failing == 1 else ''}"] if failing else []
            parts += [f"{lacking} not comparable"] if lacking else []
            by_outcome.setdefault(", ".join(parts) or "all pass", []).append(subject)
        rows += [f"    {what}: {_span(names, order)}" for what, names in by_outcome.items()]
    return rows


def _guarded(case: Case) -> str:
    """A case in the head of an emitted file."""
    return f"{case.code} {case.id}: {wording.consequence(case)}"


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
    """The text of one emitted file."""
    template = environment.get_template(f"{target}_{found.mechanism.name}.py.j2")
    command = f"gridproof emit --target {target}" + (f" --tier {tier}" if tier != CASES else "")
    return template.render(
        cases=[_wrapped(_guarded(case)) for case in found.cases],
        codes=[
            _wrapped(f"{code.id} {code.name}: {code.means}")
            for code in (code_named(c) for c in dict.fromkeys(case.code for case in found.cases))
        ],
        outcomes=_outcomes(target, found, predicted),
        command=command,
        groups=found.groups,
        configurations=lambda groups: _configurations(groups).items(),
        constant=_constant,
        facts=lambda checks, design: _facts(checks, design).items(),
        designs=list(subjects(MODEL).values()),
    )


def _mends(test: PredictedTest, subject: str, newest: str) -> bool:
    """Whether a proposal makes a test pass that the newest release fails."""
    mended = test.by_subject.get(subject, {}).get("outcome")
    return mended == "passes" and test.by_subject[newest]["outcome"] == "fails"


def tests(cases: Sequence[Case], target: str, tier: str = CASES) -> dict[str, str]:
    """The files of one target by name: a module a mechanism, the support modules, the manifest."""
    of = engine(DEFAULT if target == MODEL else target)
    environment, kind = _environment(of), MODEL if target == MODEL else ENGINE
    found = emitted(of.emit.mechanisms, cases, kind, tier)
    predicted = _predictions(target, found)
    files = {
        f"test_{f.mechanism.name}.py": _module(environment, target, tier, f, predicted)
        for f in found
    }
    support = {of.emit.support[kind], *(name for f in found for name in f.mechanism.support)}
    for name in sorted(support):
        files[name] = _support(environment, of, name)
    for proposal in of.emit.proposed:
        newest = of.model.newest
        if any(_mends(test, proposal.subject, newest) for test in predicted.values()):
            files[proposal.patch] = _kept(of, "templates", proposal.patch)
    return _with_manifest(target, tier, tuple(subjects(target)), files, predicted)


def _support(environment: jinja2.Environment, of: Engine, name: str) -> str:
    """A module that tests import: a driver as it stands, or one made from a template."""
    if resources.files(of.emit.package).joinpath("drivers", name).is_file():
        return _kept(of, "drivers", name)
    newest = of.model.released(of.model.newest)
    return environment.get_template(f"{name}.j2").render(newest=newest.name)


def _kept(of: Engine, folder: str, name: str) -> str:
    return resources.files(of.emit.package).joinpath(folder, name).read_text("utf-8")


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
    of = engine(DEFAULT)
    files, predicted = of.emit.replays(_environment(of), _designed(case_files))
    if not predicted:
        return {}
    return _with_manifest(REPLAY, CASES, of.emit.replay_subjects, files, predicted)


def _designed(case_files: Iterable[CaseFile]) -> list[tuple[Case, str]]:
    return [(case, file.design) for file in case_files for case in file.cases]


def left_out(case_files: Sequence[CaseFile], targets: Sequence[str]) -> Iterator[str]:
    """What the targets have no test for, and why: a sentence each."""
    designed = _designed(case_files)
    kinds = {MODEL if target == MODEL else ENGINE for target in targets if target != REPLAY}
    for case, design in designed if kinds else ():
        mechanisms = engine_of(design_named(design)).emit.mechanisms
        if not any(takes(m, case) for m in mechanisms if kinds & set(m.targets)):
            yield f"no test is written for {case.id}: no template covers this sequence of events"
    if REPLAY in targets:
        for name, why in engine(DEFAULT).emit.not_replayed(designed).items():
            yield f"no replay is written for {name}: {why}"


def design_of(file: CaseFile, where: str) -> Any:
    """The named design that a file of cases was found in; `BadInput` where it is none, as a design file's is not."""
    try:
        return design_named(file.design)
    except UnknownDesign as error:
        raise BadInput(
            f"{where}: {error}; cases found with --design-file cannot be emitted or replayed, only "
            "explained"
        ) from None


def _check_emittable(name: str, case: Case, design: Design) -> None:
    """Refuse a case whose test could not be run in reasonable time."""
    of = engine_of(design)
    lengths = [case.trace[-1].seq_len, case.depths["state"] or 0]
    lengths += [case.configuration[f] or 0 for f in of.emit.configuration_fields]
    if max(lengths) > MOST_TOKENS:
        raise BadInput(
            f"{name}: case {case.id} needs {max(lengths):,} tokens; a test is emitted for at most "
            f"{MOST_TOKENS:,}"
        )
    if (why := of.emit.refused(case)) is not None:
        raise BadInput(f"{name}: case {case.id} {why}")


def folder(
    case_files: dict[str, CaseFile], targets: Sequence[str], tier: str = CASES
) -> dict[Path, str]:
    """Everything `emit` writes below its out folder: the case files it was made from, and each target's tests."""
    written = {
        Path("cases") / name: text_of(case_file.document())
        for name, case_file in sorted(case_files.items())
    }
    for name, case_file in case_files.items():
        design = design_of(case_file, name)
        for case in case_file.cases:
            _check_emittable(name, case, design)
    in_order = [case_file for _, case_file in sorted(case_files.items())]
    cases = [case for case_file in in_order for case in case_file.cases]
    for target in targets:
        found = replays(in_order) if target == REPLAY else tests(cases, target, tier)
        for name, text in found.items():
            written[Path(target) / name] = text
    return written
