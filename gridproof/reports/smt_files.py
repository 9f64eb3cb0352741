"""Files of obligations: SMT-LIB 2, and beside it cvc5's proof in the form that the checker ethos reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridproof import files
from gridproof.console import Output, progress
from spec.prove import Result
from spec.smt import cvc5_solver, smtlib
from spec.smt.lemmas import LEMMAS
from spec.smt.solver import Limits, Query

LEMMA_FOLDER = "lemmas"


@dataclass(frozen=True)
class Filed:
    """A query to be refuted, and the place of its files in a folder, without a suffix."""

    place: Path
    query: Query

    def file(self, folder: Path, suffix: str) -> Path:
        return folder / self.place.with_name(self.place.name + suffix)

    def write(self, folder: Path) -> Path:
        """Write it as SMT-LIB 2; the file."""
        path = self.file(folder, ".smt2")
        files.write(path, smtlib.text(self.query))
        return path


@dataclass(frozen=True)
class Certificate:
    """cvc5's proof of an obligation: its steps, how many of them are on trust, its size (bytes); no steps: no proof.

    `file` and `reference` are paths in the folder of proofs.
    """

    obligation: str
    file: str
    reference: str
    steps: int
    trusted: int
    size: int

    @property
    def complete(self) -> bool:
        """Whether there is a proof, each step of which can be checked."""
        return self.steps > 0 and not self.trusted

    def fault(self) -> str:
        """What is missing from the proof, in a sentence."""
        if not self.steps:
            return "cvc5 found no proof of it"
        return f"cvc5's proof takes {self.trusted} of {self.steps} steps on trust"


def of_results(results: Iterable[Result]) -> list[Filed]:
    """The obligations of theorems: the queries that were refuted, or left open."""
    return [Filed(Path(q.name), q) for result in results for q in result.queries]


def of_lemmas() -> list[Filed]:
    """The lemmas, instances of which the other obligations assert."""
    return [
        Filed(Path(LEMMA_FOLDER, name.replace(" ", "-")), lemma.query())
        for name, lemma in LEMMAS.items()
    ]


def export(folder: Path, obligations: Iterable[Filed]) -> None:
    """Write each obligation as SMT-LIB 2."""
    for obligation in obligations:
        obligation.write(folder)


def certify(
    output: Output, folder: Path, obligations: Sequence[Filed], limits: Limits
) -> list[Certificate]:
    """Write each obligation and cvc5's proof of it; without a proof, remove the one that an earlier run left."""
    certificates = []
    with progress(output, "proofs") as show:
        for done, obligation in enumerate(obligations):
            show(obligation.query.name, done, len(obligations))
            certificates.append(_certify(folder, obligation, limits))
    return certificates


def _certify(folder: Path, obligation: Filed, limits: Limits) -> Certificate:
    reference, path = obligation.write(folder), obligation.file(folder, ".cpc")
    proof = cvc5_solver.proof(obligation.query, reference.name, limits)
    steps = trusted = size = 0
    if proof is None:
        path.unlink(missing_ok=True)
    else:
        files.write(path, proof.text)
        steps, trusted, size = proof.steps, proof.trusted, len(proof.text)
    return Certificate(
        obligation=obligation.query.name,
        file=str(path.relative_to(folder)),
        reference=str(reference.relative_to(folder)),
        steps=steps,
        trusted=trusted,
        size=size,
    )


def remove_left_over(
    folder: Path, obligations: Iterable[Filed], kept: Collection[str]
) -> list[Path]:
    """Remove the files that an earlier run wrote here and this one would not; their paths.

    A proof and its reference file go together, and only where both read as written here.  The files of the
    obligations stay, and those whose name is in `kept`.
    """
    written = {obligation.file(folder, ".cpc") for obligation in obligations}
    removed: list[Path] = []
    for proof in _proofs_in(folder):
        if proof not in written and proof.stem not in kept:
            for path in (proof, proof.with_suffix(".smt2")):
                files.remove(path)
                removed.append(path)
    return removed


def _proofs_in(folder: Path) -> Iterator[Path]:
    """The proofs in a folder that begin, like the reference file beside each, as this module writes them."""
    for path in sorted([*folder.glob("*.cpc"), *folder.glob(f"{LEMMA_FOLDER}/*.cpc")]):
        reference = path.with_suffix(".smt2")
        names = {path.stem, path.stem.replace("-", " ")}
        if _begins(path, {cvc5_solver.reference_line(reference.name)}) and _begins(
            reference, {smtlib.first_line(name) for name in names}
        ):
            yield path


def _begins(path: Path, lines: Collection[str]) -> bool:
    """Whether the first line of a file is one of these."""
    if not path.is_file():
        return False
    try:
        with path.open(encoding="utf-8") as file:
            return file.readline().rstrip("\n") in lines
    except (OSError, UnicodeDecodeError):
        return False
