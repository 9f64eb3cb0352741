"""`gridproof replay`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from generators.cases import Case, read_cases, text_of
from generators.errors import BadInput, NothingToDo
from gpu_checks.names import RECURRENCES
from gridproof.console import Output, progress
from gridproof.replays import (
    ALIGNED,
    ONE_OFF,
    NotReplayed,
    Row,
    Skipped,
    replay_document,
    replay_table,
    resume_depths,
    summary,
)


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
    cases = [case for path in paths for case in read_cases(path).cases]
    cases = list({case.id: case for case in cases}.values())
    names = _recurrences(recurrence)
    jobs, skipped = _jobs(cases, names)
    device = _device(device, require_gpu)
    rows = list(_rows(output, jobs, device, dtype))
    if form == "json":
        output.raw(text_of(replay_document(rows, skipped, device, dtype)))
    else:
        _print(output, rows, skipped, device, dtype)
    if not rows:
        return NothingToDo.exit_code
    return int(not all(row.as_predicted for row in rows))


def _print(
    output: Output, rows: Sequence[Row], skipped: Sequence[Skipped], device: str, dtype: str
) -> None:
    if rows:
        output.rich(replay_table(rows))
    for skip in skipped:
        output.line(f"skipped {skip.what}: {skip.why}")
    from gpu_checks.devices import described

    output.line(summary(rows, skipped, described(device), dtype))


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


# For each recurrence the depths (node, state) of every case that is replayed on it.
Jobs = dict[str, dict[str, tuple[int, int]]]


def _jobs(cases: Sequence[Case], names: Sequence[str]) -> tuple[Jobs, list[Skipped]]:
    """What to replay, and what not; a case that names no recurrence is replayed on all."""
    jobs: Jobs = {name: {} for name in names}
    skipped = []
    for case in cases:
        own = case.configuration["recurrence"]
        try:
            depths = resume_depths(case)
            if own not in (None, *names):
                raise NotReplayed(f"it is a case of {own} alone")
        except NotReplayed as why:
            skipped.append(Skipped(case.id, str(why)))
            continue
        for name in names if own is None else (own,):
            jobs[name][case.id] = depths
    return {name: depths for name, depths in jobs.items() if depths}, skipped


def _rows(output: Output, jobs: Jobs, device: str, dtype: str) -> Iterator[Row]:
    """Every case on every recurrence it is of, in each phase, and the controls beside them."""
    from gpu_checks.devices import DTYPES
    from gpu_checks.pairs import Pair, controls, replay
    from gpu_checks.recurrences import RECURRENCES as known

    with progress(output, "replaying") as update:
        for number, (name, depths) in enumerate(jobs.items()):
            update(name, number, len(jobs))
            pairs = {case: Pair(*both) for case, both in depths.items()}
            beside = controls(min(pair.node for pair in pairs.values()))
            pairs |= dict(zip((ALIGNED, ONE_OFF), beside, strict=True))
            found = replay(known[name], pairs.values(), dtype=DTYPES[dtype], device=device)
            for what, pair in pairs.items():
                yield from (Row(what, name, one) for one in found if one.pair == pair)
