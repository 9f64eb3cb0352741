"""Lets ethos, a checker from outside the project, read the proofs that `gridproof prove --proofs DIR` wrote::

    python -m gridproof.outside_checker DIR --checker ETHOS --cvc5 CVC5

`ETHOS` is the executable, `CVC5` a checkout of cvc5's source, which has the calculus. Each proof must be accepted, and
three spoilt copies of each must not be: one without an assertion that it assumes, one without its last step, and one
whose conclusion is another.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from generators.common.errors import BadInput, Inconclusive, NothingToDo, UserError, read_text

CALCULUS = Path("proofs", "eo", "cpc", "Cpc.eo")  # in a checkout of cvc5
OPTION = "--require-proof-of-false"
SECONDS = 600  # of one run of the checker, the longest proof taking less than one


@dataclass(frozen=True)
class Checker:
    """The checker's executable and the calculus it reads proofs in."""

    program: Path
    calculus: Path

    def accepts(self, proof: Path) -> tuple[bool, str]:
        """Whether it accepts that a proof derives `false` from its reference file alone, and the last line it printed."""
        command = [str(self.program), f"--include={self.calculus}", OPTION, proof.name]
        run = _run(command, proof.parent)
        printed = (run.stdout + run.stderr).strip()
        last = (printed.splitlines() or ["nothing"])[-1]
        return run.returncode == 0 and printed == "correct", last


def _run(command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    except OSError as error:
        raise BadInput(f"{command[0]}: cannot be run ({error.strerror})") from None
    except subprocess.TimeoutExpired:
        raise Inconclusive(f"{command[-1]}: not decided within {SECONDS} seconds") from None


def checker_at(program: Path, cvc5: Path) -> Checker:
    """The checker with the calculus of a checkout; raises `BadInput` where either cannot be used."""
    calculus = (cvc5 / CALCULUS).resolve()
    if not calculus.is_file():
        raise BadInput(f"--cvc5: {cvc5} has no file {CALCULUS}, as a checkout of cvc5 does")
    run = _run([str(program.resolve()), "--help"])
    if OPTION not in run.stdout + run.stderr:
        raise BadInput(
            f"--checker: {program} does not know {OPTION}; ethos has it from commit 0b1a6dd on, behind its tag 0.2.3"
        )
    return Checker(program.resolve(), calculus)


def without_an_assertion(proof: str, reference: str) -> tuple[str, str]:
    """The reference file lacks an assertion that the proof assumes."""
    assertions = [m.start() for m in re.finditer(r"^\(assert\b", reference, re.MULTILINE)]
    end = reference.index("(check-sat)")
    # One assertion fewer than the proof assumes is left.
    left = len(re.findall(r"^\(assume ", proof, re.MULTILINE)) - 1
    return proof, reference[: [*assertions, end][left]] + reference[end:]


def without_its_last_step(proof: str, reference: str) -> tuple[str, str]:
    """The proof ends before it derives `false`."""
    return proof[: proof.rindex("(step ")], reference


def with_another_conclusion(proof: str, reference: str) -> tuple[str, str]:
    """The last step claims a conclusion that its rule does not give."""
    last = proof.rindex("(step ")
    return proof[:last] + re.sub(r"\bfalse\b", "true", proof[last:], count=1), reference


Spoiling = Callable[[str, str], tuple[str, str]]
SPOILINGS: dict[str, Spoiling] = {
    "an assertion dropped": without_an_assertion,
    "the last step removed": without_its_last_step,
    "the conclusion altered": with_another_conclusion,
}


def proofs_in(folder: Path) -> list[Path]:
    """All proofs in a folder and the folders in it."""
    found = sorted(folder.rglob("*.cpc"))
    if not found:
        raise NothingToDo(
            f"{folder}: holds no proofs; 'gridproof prove --proofs {folder}' writes them"
        )
    return found


def _spoilt(checker: Checker, proof: Path, spoiling: Spoiling) -> bool:
    """Whether a spoilt copy of a proof is accepted."""
    before = read_text(proof), read_text(proof.with_suffix(".smt2"))
    after = spoiling(*before)
    if after == before:
        raise BadInput(f"{proof}: cannot be spoilt, as it is no proof that gridproof wrote")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, proof.name)
        for path, text in zip((copy, copy.with_suffix(".smt2")), after, strict=True):
            path.write_text(text, encoding="utf-8")
        return checker.accepts(copy)[0]


def _faults(checker: Checker, proof: Path) -> Iterator[str]:
    accepted, printed = checker.accepts(proof)
    if not accepted:
        yield f"rejected: {printed}"
        return
    for what, spoiling in SPOILINGS.items():
        if _spoilt(checker, proof, spoiling):
            yield f"accepted with {what}"


def faults(checker: Checker, proofs: Iterable[Path], jobs: int) -> dict[Path, list[str]]:
    """What is wrong with each proof: that it is rejected, or which spoilt copies of it are accepted."""
    proofs = list(proofs)
    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(lambda proof: list(_faults(checker, proof)), proofs))
    return dict(zip(proofs, found, strict=True))


def report(folder: Path, found: dict[Path, list[str]]) -> int:
    """Print each fault with its proof; the exit code."""
    for proof, wrong in found.items():
        for fault in wrong:
            print(f"{proof.relative_to(folder)}: {fault}")
    rejected = [
        proof for proof, wrong in found.items() if wrong and wrong[0].startswith("rejected")
    ]
    accepted = len(found) - len(rejected)
    print(f"accepted: {accepted} of {len(found)} proofs")
    spoilt, passed = accepted * len(SPOILINGS), sum(map(len, found.values())) - len(rejected)
    print(f"spoilt copies rejected: {spoilt - passed} of {spoilt} ({', '.join(SPOILINGS)})")
    return 1 if any(found.values()) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the proofs of a folder; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gridproof.outside_checker")
    parser.add_argument("folder", type=Path, help="what 'gridproof prove --proofs' wrote")
    parser.add_argument("--checker", type=Path, required=True, help="the executable of ethos")
    parser.add_argument("--cvc5", type=Path, required=True, help="a checkout of cvc5's source")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    given = parser.parse_args(arguments)
    try:
        checker = checker_at(given.checker, given.cvc5)
        found = faults(checker, proofs_in(given.folder), max(1, given.jobs))
        return report(given.folder, found)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
