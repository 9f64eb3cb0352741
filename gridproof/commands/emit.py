"""`gridproof emit`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from generators.cases.file_format import read_cases
from generators.common.errors import BadInput, NothingToDo, Vacuous
from generators.emit import manifest
from generators.emit.manifest import Manifest
from gridproof import files
from gridproof.console import Output


def _case_paths(cases: tuple[Path, ...], out: Path) -> list[Path]:
    if cases:
        return list(cases)
    kept = sorted((out / "cases").glob("*.json"))
    if not kept:
        raise NothingToDo(f"no CASES given and none kept in {out / 'cases'}")
    return kept


def _kept(out: Path, targets: tuple[str, ...]) -> dict[str, Manifest]:
    """The manifests in a folder by target; one that cannot be read is refused, for its tests would be left behind."""
    found = {}
    for target in targets:
        path = out / target / "manifest.json"
        if path.exists():
            try:
                found[target] = manifest.read(path)
            except (OSError, ValueError) as error:
                raise BadInput(
                    f"{path}: not a manifest ({error}); restore it, or remove {out / target} to emit afresh"
                ) from None
    return found


def run(
    output: Output,
    cases: tuple[Path, ...],
    targets: tuple[str, ...],
    out: Path,
    tier: str | None,
    only_check: bool,
) -> int:
    """Write the tests, or compare them with what is there; return the exit code."""
    paths = _case_paths(cases, out)
    if len({path.name for path in paths}) != len(paths):
        raise BadInput("two of the CASES have the same file name; rename one of them")
    case_files = {path.name: read_cases(path) for path in paths}
    from generators.emit import write

    targets = targets or write.targets()
    kept = _kept(out, targets)
    tiers = {document.tier for document in kept.values()} - {write.CASES}
    written = write.folder(case_files, targets, tier or min(tiers, default=write.CASES))
    stale = _stale(out, set(written), kept)
    for sentence in write.left_out(list(case_files.values()), targets):
        output.note(sentence)
    if only_check:
        return _compare(output, out, written, stale)
    files.check_writable(out / path for path in written)
    for path, text in written.items():
        files.write(out / path, text)
    for path in stale:
        path.unlink()
    output.line(f"{len(written)} files in {out}")
    return 0


def _stale(out: Path, written: set[Path], kept: dict[str, Manifest]) -> list[Path]:
    """Files that an earlier run wrote, by the hash in its manifest, and that this one does not."""
    found = []
    for target, document in kept.items():
        for name, digest in document.files.items():
            path = Path(target) / str(name)
            outside = path.name != name or path.parent != Path(target)
            if path not in written and not outside and _has_digest(out / path, digest):
                found.append(out / path)
    return found


def _has_digest(path: Path, digest: str) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False


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
