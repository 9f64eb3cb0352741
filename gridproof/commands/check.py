"""`gridproof check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generators.cases.codes import ASSUMED
from generators.cases.file_format import text_of
from generators.check import apply_fix, waivers
from generators.check.findings import Finding, Judgement, findings_document
from generators.check.session import Judging
from generators.check.sources import STANDARD_INPUT, Found, LaunchReader, Progress, Target
from generators.common.errors import BadInput, NothingToDo
from generators.launch import formats
from generators.launch.launch import given_values
from gridproof import files
from gridproof.console import Output, progress
from gridproof.reports import check
from spec import engine as registry


@dataclass(frozen=True)
class Options:
    """The options of one run of `check`."""

    engine: str | None
    all_releases: bool
    context_length: int | None
    settings: tuple[str, ...]
    config: Path | None
    min_severity: str
    form: str
    fix: bool
    write: bool
    unsafe_fixes: bool
    allow_none: bool
    waivers: Any


def run(
    output: Output, options: Options, paths: Sequence[Path], command: Sequence[str] | None
) -> int:
    """Judge what was given for one release or all, print the findings, return the exit code."""
    _refuse_contradictions(options, paths)
    asked = _release_asked_for(options.engine)
    with progress(output, "reading") as reads:
        found = _read(options, paths, command, reads)
    judging = Judging(options.context_length)
    judged = []
    with progress(output, "judging") as judges:
        for number, target in enumerate(found.targets):
            judges(target.source, number, len(found.targets))
            judged.append((target, _judgements(judging, target, asked, options)))
    judgements = [j for _, of_target in judged for j in of_target]
    findings = _all_findings(found, judgements, options)
    shown = [f for f in findings if _is_shown(f, options.min_severity)]
    for reason in found.skipped:
        output.note(f"skipped: {reason}")
    if options.form == "text":
        _print(output, judged, shown, options)
    else:
        _write_document(output, judgements, shown, options.form)
    if options.fix:
        _fix(output, judged, found, options)
    left = [f for f in findings if f.waived is None]
    unparsed = (f for f in left if (f.source, f.line, f.message) in found.unparsed)
    if refused := [*found.refused, *(f"{f.source}: {f.message}" for f in unparsed)]:
        raise BadInput("; ".join(refused))
    if options.form == "sarif":
        return 0
    return 1 if {f.severity for f in left} & {"warning", "error"} else 0


def _refuse_contradictions(options: Options, paths: Sequence[Path]) -> None:
    if options.all_releases and options.engine is not None:
        raise BadInput(
            "--engine is for one release and --all-releases for all of them; give one of the two"
        )
    if options.fix and options.all_releases:
        raise BadInput("--fix corrects a launch for one release; give --engine, not --all-releases")
    if (options.write or options.unsafe_fixes) and not options.fix:
        raise BadInput("--write and --unsafe-fixes only work with --fix; give --fix as well")
    if options.write and Path(STANDARD_INPUT) in paths:
        raise BadInput("--write: standard input cannot be changed; leave --write out")


def _read(
    options: Options, paths: Sequence[Path], command: Sequence[str] | None, reads: Progress
) -> Found:
    if command is not None and not command:
        raise NothingToDo("no launch command given; write it after '--'")
    if command is None and not paths:
        raise NothingToDo("no launch command and no file given; write a command after '--'")
    found, reader = Found(), LaunchReader(given_values(options.settings), options.config)
    if command is not None:
        reader.of_command(command, found)
    reader.of_paths(paths, found, reads)
    if not (found.targets or found.findings or found.waivers):
        if found.refused:
            raise BadInput("; ".join(found.refused))
        if not options.allow_none:
            raise NothingToDo("no launch command was found in what was given")
    return found


def _judgements(judging: Judging, target: Target, asked: Any, options: Options) -> list[Judgement]:
    """The judgements of a target: for all releases, or for the one that was asked for, is pinned or is the newest.

    `asked`: a design, which launches of other engines pass over.
    """
    name, launch = target.launch.engine, target.launch
    if name not in registry.PACKAGES:
        return [judging.judge(None, launch, target.source, target.line)]
    engine = registry.engine(name)
    if options.all_releases:
        designs = [engine.released(release) for release in engine.releases]
    elif asked is not None and asked.engine == name:
        designs = [asked]
    elif target.pinned is not None:
        return [_of_pinned(judging, target, engine)]
    else:
        designs = [engine.released(engine.newest)]
    return [judging.judge(d, launch, target.source, target.line) for d in designs]


def _release_asked_for(requirement: str | None) -> Any:
    """The design that --engine names, None where it is left out."""
    if requirement is None:
        return None
    try:
        return registry.design_of_requirement(requirement)
    except registry.UnknownDesign as error:
        raise BadInput(str(error)) from None


def _of_pinned(judging: Judging, target: Target, engine: registry.Engine) -> Judgement:
    pinned, launch = target.pinned, target.launch
    assert pinned is not None
    if pinned.release in engine.releases:
        design = engine.released(pinned.release)
        return judging.judge(design, launch, target.source, target.line)
    reason = (
        f"not checked: release {pinned.release} ({pinned.where}) is not modelled; the modelled ones are "
        f"{engine.releases[0]} to {engine.newest}"
    )
    launch = replace(launch, unmodelled=launch.unmodelled or reason)
    newest = engine.released(engine.newest)
    judgement = judging.judge(newest, launch, target.source, target.line)
    requirement = engine.requirement(pinned.release)
    # Known faults are those of modelled releases.
    findings = (replace(f, engine=requirement) for f in judgement.findings if not f.code.known)
    return replace(judgement, engine=requirement, findings=tuple(findings))


def _all_findings(found: Found, judgements: list[Judgement], options: Options) -> list[Finding]:
    """The findings of judgements and files, with the waivers applied."""
    raw = [*found.findings, *(f for j in judgements for f in j.findings)]
    given = [*found.waivers, *waivers.in_settings("pyproject.toml", options.waivers or [])]
    return waivers.applied(raw, given, found.places)


def _is_shown(finding: Finding, least: str) -> bool:
    return check.SEVERITIES.index(finding.severity) >= check.SEVERITIES.index(least)


def _write_document(
    output: Output, judgements: list[Judgement], shown: list[Finding], form: str
) -> None:
    unwaived = [f for f in shown if f.waived is None]
    if form == "json":
        output.raw(text_of(findings_document(judgements, unwaived)))
    elif form == "sarif":
        output.raw(text_of(check.sarif(shown)))
    else:
        for line in check.github(unwaived, len(judgements)):
            output.raw(f"{line}\n")


def _print(
    output: Output,
    judged: list[tuple[Target, list[Judgement]]],
    shown: list[Finding],
    options: Options,
) -> None:
    waiting = [f for f in shown if f.waived is None]
    ids = {id(f) for f in waiting}
    for target, judgements in judged:
        if options.all_releases:
            output.line(check.place(target.source, target.line) or "command")
            output.rich(check.rows(judgements))
            continue
        for judgement in judgements:
            pinned = target.pinned if options.engine is None else None
            check.print_judgement(output, judgement, pinned.where if pinned else None)
            _print_findings(output, judgement, ids)
    for finding in waiting:
        if finding.engine == "-":
            check.print_finding(output, finding, placed=True)
    count = sum(f.waived is not None for f in shown)
    if count:
        output.line(f"{count} waived")
    if len(judged) > 1:
        output.line(check.counted(waiting, sum(len(js) for _, js in judged)))


def _print_findings(output: Output, judgement: Judgement, waiting: set[int]) -> None:
    mine = [f for f in judgement.findings if id(f) in waiting]
    for finding in mine:
        apart = finding.line is not None and finding.line != judgement.line
        check.print_finding(output, finding, placed=apart)
    check.print_advice(output, mine)
    upgrade = next((f.upgrade for f in mine if f.upgrade), None)
    mended = next((f for f in mine if f.fix), None)
    if upgrade is not None and (mended is None or not upgrade["flags"]):
        check.print_upgrade(output, upgrade)
    if mended is not None and mended.fix is not None:
        check.print_fix(output, mended.fix)
        for other in mended.alternatives:
            check.print_fix(output, other, is_further=True)
        if upgrade is not None and upgrade["flags"]:
            check.print_upgrade(output, upgrade, is_further=True)


def _fix(
    output: Output,
    judged: list[tuple[Target, list[Judgement]]],
    found: Found,
    options: Options,
) -> None:
    """Print the corrected commands, or change the files that they stand in."""
    say = output.line if options.form == "text" else output.note
    edits: dict[str, list[apply_fix.Edit]] = {}
    for target, judgements in judged:
        fix = next((f.fix for f in judgements[0].findings if f.fix and f.waived is None), None)
        flags = apply_fix.wanted(fix, options.unsafe_fixes)
        where = check.place(target.source, target.line) or "command"
        if flags is None:
            if upgrade := next((f.upgrade for f in judgements[0].findings if f.upgrade), None):
                shown = check.shown_flags(upgrade["flags"]) or "the same flags"
                say(f"{where}: safe on {upgrade['engine']} with {shown}; nothing is changed")
            elif any(f.code == ASSUMED for f in judgements[0].findings):
                say(f"{where}: the model is assumed, so no flags are offered; nothing is changed")
            elif judgements[0].verdict in ("unsafe", "rejected", "inert"):
                say(f"{where}: no fix is known that theorems cover; nothing is changed")
            continue
        if options.write and target.source in found.texts:
            changes = apply_fix.edits(target, flags, found.texts[target.source])
            if changes is not None:
                edits.setdefault(target.source, []).extend(changes)
                continue
            say(f"{where}: cannot be changed in place; the corrected command is")
        say(apply_fix.command(target, flags))
    files.check_writable(map(Path, edits))
    for source, changes in edits.items():
        text = apply_fix.edited(found.texts[source], changes)
        if not _has_the_same_launches(source, found.texts[source], text):
            say(f"{source}: not changed, as its launches could not be found again afterwards")
            continue
        _rewrite(Path(source), text)
        say(f"{source}: changed")


def _has_the_same_launches(source: str, before: str, after: str) -> bool:
    """Whether as many commands are found in a text as before it was changed, and nothing new is wrong with it."""
    counts = []
    for text in (before, after):
        items = list(formats.items(source, text, Path(source)))
        problems = sum(isinstance(item, formats.Problem) for item in items)
        counts.append((len(items) - problems, problems))
    return counts[0] == counts[1]


def _rewrite(path: Path, text: str) -> None:
    had_mark = path.read_bytes().startswith(b"\xef\xbb\xbf")
    files.write(path, ("\ufeff" if had_mark else "") + text)
