"""`gridproof emit`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from generators.cases import read_cases
from generators.errors import BadInput, NothingToDo, Vacuous
from gridproof import files
from gridproof.console import Output


def _case_paths(cases: tuple[Path, ...], out: Path) -> list[Path]:
    if cases:
        return list(cases)
    kept = sorted((out / "cases").glob("*.json"))
    if not kept:
        raise NothingToDo(f"no CASES given and none kept in {out / 'cases'}")
    return kept


def _kept_tier(out: Path) -> str | None:
    """The tier that the tests in a folder were emitted with, so that they are made again as they are."""
    from generators import manifest

    try:
        return manifest.read(out / "sglang" / "manifest.json").tier
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run(
    output: Output,
    cases: tuple[Path, ...],
    targets: tuple[str, ...],
    out: Path,
    tier: str | None,
    only_check: bool,
) -> int:
    """Write the tests, or compare them with what is there; return the exit code."""
    if "replay" in targets:
        raise NothingToDo("the replay target is not part of this version; model and sglang are")
    paths = _case_paths(cases, out)
    if len({path.name for path in paths}) != len(paths):
        raise BadInput("two of the CASES have the same file name; rename one of them")
    case_files = {path.name: read_cases(path) for path in paths}
    from generators import emit

    chosen = tier or _kept_tier(out) or emit.CASES
    written = emit.folder(case_files, targets or emit.TARGETS, chosen)
    stale = _stale(out, set(written), targets or emit.TARGETS)
    if only_check:
        return _compare(output, out, written, stale)
    files.check_writable(out / path for path in written)
    for path, text in written.items():
        files.write(out / path, text)
    for path in stale:
        path.unlink()
    output.line(f"{len(written)} files in {out}")
    return 0


def _stale(out: Path, written: set[Path], targets: tuple[str, ...]) -> list[Path]:
    """Files that an earlier run wrote, by the hash in its manifest, and that this one does not."""
    found = []
    for target in targets:
        try:
            manifest = json.loads((out / target / "manifest.json").read_text(encoding="utf-8"))
            hashes = dict(manifest["files"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for name, digest in hashes.items():
            path = Path(target) / str(name)
            if path in written or path.name != name or not (out / path).is_file():
                continue
            if hashlib.sha256((out / path).read_bytes()).hexdigest() == digest:
                found.append(out / path)
    return found


def _compare(output: Output, out: Path, written: dict[Path, str], stale: list[Path]) -> int:
    differ = []
    for path, text in written.items():
        try:
            same = (out / path).read_text(encoding="utf-8") == text
        except (OSError, UnicodeDecodeError):
            same = False
        if not same:
            differ.append(out / path)
    for path in differ + stale:
        output.line(f"out of date: {path}")
    if differ or stale:
        raise Vacuous(f"{len(differ + stale)} emitted files are out of date; run emit again")
    output.line(f"{len(written)} files in {out} are up to date")
    return 0
