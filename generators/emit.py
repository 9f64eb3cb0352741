"""Writes pytest files for the cases found, and the manifest of what they are predicted to do on each release."""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from generators import manifest
from generators.cases import Case, CaseFile, spelled, text_of
from generators.codes import CODES, VERIFY_GRID
from generators.errors import BadInput
from generators.mechanisms import Check, Emitted, TestGroup, emitted
from spec.sglang.designs import DESIGNS, Design

SUPPORT = {"model": "gridproof_model.py", "sglang": "gridproof_sglang.py"}
TARGETS = tuple(SUPPORT)
MOST_TOKENS = 200_000
MOST_DRAFT_TOKENS = 1_024


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("generators", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["literal"] = literal
    return environment


def literal(value: Any) -> str:
    """A value as Python source, strings in double quotes."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        inner = ", ".join(literal(v) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value)


def _subject(target: str, design: Design) -> str:
    """What a run under test is called: a release of the engine, a design of the model."""
    return design.release if target == "sglang" else design.name


def _prediction(check: Check, design: Design) -> dict[str, Any]:
    observed = check.observe(design)
    return {"outcome": "passes" if check.passes(observed) else "fails", "observed": observed}


def _span(target: str, designs: Sequence[Design]) -> str:
    """Designs in words; several in a row as `first to last`."""
    order = list(DESIGNS.values())
    runs: list[list[Design]] = []
    for design in designs:
        if runs and order.index(design) == order.index(runs[-1][-1]) + 1:
            runs[-1].append(design)
        else:
            runs.append([design])
    names = [[_subject(target, design) for design in run] for run in runs]
    spans = [f"{n[0]} to {n[-1]}" if len(n) > 1 else n[0] for n in names]
    return ", ".join(spans) or "none"


def _colours(target: str, found: Emitted) -> list[str]:
    """For each test and configuration: on which subjects some run of it fails, and on which none does."""
    rows = []
    for group in found.groups:
        rows.append(f"  {group.name}")
        for name in _configurations([group]):
            checks = [check for check in group.checks if _constant(check) == name]
            failing = [
                design
                for design in DESIGNS.values()
                if any(_prediction(c, design)["outcome"] == "fails" for c in checks)
            ]
            green = [design for design in DESIGNS.values() if design not in failing]
            rows.append(f"    {name}")
            rows.append(f"      red: {_span(target, failing)}; green: {_span(target, green)}")
    return rows


def _guarded(case: Case) -> str:
    depths = case.depths
    if case.outcome == "fault":
        what = f"an assertion of the engine at {case.trace[-1].seq_len} tokens"
    else:
        what = f"a state of {depths['state']} tokens on the node of depth {depths['node']}"
    return f"{case.code} {case.id}: {what}"


def _constant(check: Check) -> str:
    """The name of a check's configuration in an emitted file."""
    return spelled(check.arguments["configuration"]).upper().replace("-", "_")


def _configurations(groups: Sequence[TestGroup]) -> dict[str, dict[str, Any]]:
    """Every configuration of a file by its name there."""
    return {_constant(c): c.arguments["configuration"] for group in groups for c in group.checks}


def _facts(checks: Sequence[Check], design: Design) -> dict[str, Any]:
    """For each configuration, by its name, the numbers that the model target needs to know of a design."""
    return {_constant(check): check.facts(design) for check in checks}


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 96, initial_indent="  ", subsequent_indent="    ")


def _module(environment: jinja2.Environment, target: str, found: Emitted) -> str:
    template = environment.get_template(f"{target}_{found.mechanism}.py.j2")
    return template.render(
        cases=[_wrapped(_guarded(case)) for case in found.cases],
        codes=[
            _wrapped(f"{code.id} {code.name}: {code.means}")
            for code in (CODES[c] for c in dict.fromkeys(case.code for case in found.cases))
        ],
        colours=_colours(target, found),
        groups=found.groups,
        configurations=lambda groups: _configurations(groups).items(),
        constant=_constant,
        facts=lambda checks, design: _facts(checks, design).items(),
        designs=list(DESIGNS.values()),
        newest=list(DESIGNS)[-1],
    )


def tests(cases: Sequence[Case], target: str) -> dict[str, str]:
    """The files of one target by name: a module a mechanism, the support module, the manifest."""
    environment = _environment()
    found = emitted(cases)
    files = {f"test_{f.mechanism}.py": _module(environment, target, f) for f in found}
    support = SUPPORT[target]
    files[support] = environment.get_template(f"{support}.j2").render(newest=list(DESIGNS)[-1])
    predicted = {
        f"test_{f.mechanism}.py::{group.name}[{check.id}]": {
            _subject(target, design): _prediction(check, design) for design in DESIGNS.values()
        }
        for f in found
        for group in f.groups
        for check in group.checks
    }
    hashes = {name: hashlib.sha256(t.encode()).hexdigest() for name, t in sorted(files.items())}
    files["manifest.json"] = text_of(
        {"schema": manifest.SCHEMA, "target": target, "files": hashes, "tests": predicted}
    )
    return files


def _emittable(name: str, case: Case) -> None:
    """Refuse a case whose test could not be run in reasonable time."""
    c = case.configuration
    lengths = [case.trace[-1].seq_len, case.depths["state"] or 0]
    lengths += [c[f] for f in ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")]
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


def folder(case_files: dict[str, CaseFile], targets: Sequence[str]) -> dict[Path, str]:
    """Everything `emit` writes below its out folder: the case files it was made from, and each target's tests."""
    written = {
        Path("cases") / name: text_of(case_file.document())
        for name, case_file in sorted(case_files.items())
    }
    for name, case_file in case_files.items():
        if case_file.design.split("+")[0] not in DESIGNS:
            raise BadInput(f"{name}: the design {case_file.design!r} is unknown")
        for case in case_file.cases:
            _emittable(name, case)
    cases = [case for _, case_file in sorted(case_files.items()) for case in case_file.cases]
    for target in targets:
        for name, text in tests(cases, target).items():
            written[Path(target) / name] = text
    return written
