"""`gridproof replay`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from generators.cases.file_format import Case, read_cases, text_of
from generators.common.errors import BadInput, NothingToDo
from generators.emit.jobs import NotReplayed, ReplayJob, named
from generators.emit.write import design_of
from generators.engines import engine_of
from gpu_checks.choices import RECURRENCES
from gridproof.console import Output, progress
from gridproof.reports.replay import Row, Skipped, replay_document, replay_table, summary
from spec.engine import Design, design_named, part


def run(
    output: Output,
    paths: tuple[Path, ...],
    device: str | None,
    dtype: str,
    recurrence: str | None,
    form: str,
    require_gpu: bool,
) -> int:
    """Replay the cases; return the exit code."""
    if not paths:
        raise NothingToDo("no CASES given; gridproof search --out FILE writes some")
    if require_gpu and device == "cpu":
        raise BadInput("--require-gpu and --device cpu exclude each other; give one of them")
    jobs, skipped = _jobs(_designed(paths), _recurrences(recurrence))
    device = _device(device, require_gpu)
    rows, contradicted = _replayed(output, jobs, device, dtype)
    if form == "json":
        output.raw(text_of(replay_document(rows, [*skipped, *contradicted], device, dtype)))
    else:
        _print(output, rows, skipped, contradicted, device, dtype)
    if not rows:
        return NothingToDo.exit_code
    return int(bool(contradicted) or not all(row.replayed.as_predicted for row in rows))


def _print(
    output: Output,
    rows: Sequence[Row],
    skipped: Sequence[Skipped],
    contradicted: Sequence[Skipped],
    device: str,
    dtype: str,
) -> None:
    from gpu_checks.devices import described

    if rows:
        output.rich(replay_table(rows))
    for skip in skipped:
        output.line(f"skipped {skip.what}: {skip.why}")
    for skip in contradicted:
        output.line(f"contradicted {skip.what}: {skip.why}")
    output.line(summary(rows, skipped, contradicted, described(device), dtype))


def _device(device: str | None, require_gpu: bool) -> str:
    try:
        from gpu_checks import devices
    except ImportError:
        raise NothingToDo(
            "torch is not installed, so nothing was replayed; 'pip install gridproof[replay]' brings it"
        ) from None
    try:
        chosen = devices.chosen(device, require_gpu)
    except devices.NoDevice as error:
        raise NothingToDo(f"{error}; nothing was replayed") from None
    devices.repeatable(chosen)
    return chosen


def _recurrences(values: str | None) -> tuple[str, ...]:
    if values is None:
        return RECURRENCES
    names = tuple(dict.fromkeys(name.strip() for name in values.split(",") if name.strip()))
    for name in names:
        if name not in RECURRENCES:
            raise BadInput(
                f"--recurrence {name!r} is unknown; accepted are {', '.join(RECURRENCES)}"
            )
    if not names:
        raise NothingToDo("--recurrence names no recurrence; nothing was replayed")
    return names


def _designed(paths: Sequence[Path]) -> list[tuple[str, Case, Design]]:
    """The cases of all files, each once under its name, with the design they break."""
    found: list[tuple[Case, str]] = []
    for path in paths:
        file = read_cases(path)
        design_of(file, str(path))
        found += [(case, file.design) for case in file.cases]
    return [(name, case, design_named(of)) for name, (case, of) in named(found).items()]


def _jobs(
    cases: Iterable[tuple[str, Case, Design]], recurrences: Sequence[str]
) -> tuple[dict[str, list[ReplayJob]], list[Skipped]]:
    """What to replay on each recurrence, and what not; a case that names no recurrence is replayed on all."""
    jobs: dict[str, list[ReplayJob]] = {name: [] for name in recurrences}
    skipped = []
    for name, case, design in cases:
        try:
            job = engine_of(design).emit.replay_job(name, case, design)
            wanted = [recurrence for recurrence in recurrences if recurrence in job.recurrences]
            if not wanted:
                raise NotReplayed(f"it is a case of {', '.join(job.recurrences)} alone")
        except NotReplayed as why:
            skipped.append(Skipped(name, str(why)))
            continue
        for recurrence in wanted:
            jobs[recurrence].append(job)
    return {name: wanted for name, wanted in jobs.items() if wanted}, skipped


def _replayed(
    output: Output, jobs: Mapping[str, Sequence[ReplayJob]], device: str, dtype: str
) -> tuple[list[Row], list[Skipped]]:
    """Every case on every recurrence it is of, and the cases whose trace does not end as they say."""
    from gpu_checks.devices import DTYPES
    from gpu_checks.recurrences import RECURRENCES as known

    rows, contradicted = [], []
    with progress(output, "replaying") as update:
        for number, (name, wanted) in enumerate(jobs.items()):
            update(name, number, len(jobs))
            for engine in dict.fromkeys(job.design.engine for job in wanted):
                theirs = [job for job in wanted if job.design.engine == engine]
                checks = part(engine, "gpu_checks")
                found = checks.replay(known[name], theirs, DTYPES[dtype], device)
                rows += [Row(case, name, one) for case, one in found.replays]
                contradicted += [
                    Skipped(f"{case} on {name}", why) for case, why in found.contradicted.items()
                ]
    return rows, contradicted
