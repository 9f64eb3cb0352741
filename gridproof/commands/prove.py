"""`gridproof prove`."""

from __future__ import annotations

import difflib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from generators.cases.file_format import text_of
from generators.common.errors import BadInput, NothingToDo
from gridproof import files
from gridproof.console import Output, progress
from gridproof.reports import prove
from spec.engine import UnknownDesign, engines
from spec.engine import engine as engine_named

if TYPE_CHECKING:
    from spec.prove import Prover
    from spec.theorem import Theorem


def _theorems(engine: str | None) -> dict[str, Theorem]:
    """The theorems of one engine, or of all of them, by their ids."""
    try:
        asked = engines() if engine is None else (engine_named(engine),)
    except UnknownDesign as error:
        raise BadInput(f"--engine: {error}") from None
    found: dict[str, Theorem] = {}
    for theorem in (theorem for one in asked for theorem in one.library()):
        if found.setdefault(theorem.id, theorem) is not theorem:
            raise ValueError(f"two engines have a theorem {theorem.id}")
    return found


def _selected(
    known: Mapping[str, Theorem], family: tuple[str, ...], names: tuple[str, ...]
) -> list[Theorem]:
    families = dict.fromkeys(theorem.family for theorem in known.values())
    for name in family:
        if name not in families:
            raise BadInput(f"--family: {name!r} is unknown; the families are {', '.join(families)}")
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1) or [n for n in known if name in n]
            hint = f"did you mean {near[0]!r}?" if near else "'gridproof prove' lists them"
            raise BadInput(f"--theorem: {name!r} is unknown; {hint}")
    chosen = [
        theorem
        for theorem in known.values()
        if (not family or theorem.family in family) and (not names or theorem.id in names)
    ]
    if not chosen:
        raise NothingToDo("no theorem is in both the families and the list of names given")
    return chosen


def _prover(solver: str, seeds: int, limit: int):
    from spec.prove import Prover
    from spec.smt import cvc5_solver
    from spec.smt import solver as z3_solver
    from spec.smt.solver import Limits

    limits = Limits(resources=limit)
    z3_name = {"name": "z3", "version": z3_solver.version()}
    try:
        if solver == "z3":
            return Prover(limits, seeds), z3_name, None
        cvc5_name = {"solver": "cvc5", "version": cvc5_solver.version()}
    except cvc5_solver.NoSecondSolver as error:
        raise BadInput(str(error)) from None
    if solver == "both":
        return Prover(limits, seeds, second=cvc5_solver.decide), z3_name, cvc5_name
    named = {"name": "cvc5", "version": cvc5_name["version"]}
    return Prover(limits, seeds, decide=cvc5_solver.decide), named, None


def run(
    output: Output,
    engine: str | None,
    family: tuple[str, ...],
    names: tuple[str, ...],
    solver: str,
    seeds: int,
    limit: int,
    jobs: int | None,
    export: Path | None,
    proofs: Path | None,
    form: str,
) -> int:
    """Prove the chosen theorems, print the report, return the exit code."""
    start = time.perf_counter()
    known = _theorems(engine)
    theorems = _selected(known, family, names)
    prover, solver_name, second = _prover(solver, seeds, limit)
    _check_folders(export, proofs)
    from spec.smt import lemmas

    lemmas.unproved()
    loaded = time.perf_counter()
    from gridproof import parallel_prove

    with progress(output, "prove") as show:
        jobs = jobs or parallel_prove.processes(len(theorems))
        kept = export is not None or proofs is not None
        results = parallel_prove.prove(theorems, prover, min(jobs, len(theorems)), kept, show)
    second_methods = [] if names else _second_methods(output, theorems, prover)
    certificates = _write(output, results, export, proofs, prover.limits)
    if form == "json":
        document = prove.prove_document(results, solver_name, second, certificates, second_methods)
        output.raw(text_of(document))
    elif form == "github":
        for line in prove.github_lines(results, certificates or (), second_methods):
            output.raw(line + "\n")
    else:
        _print(output, results, solver_name, second, loaded - start, bool(names))
        for second_method in second_methods:
            output.line(second_method.line())
        if certificates is not None:
            for line in prove.certificate_lines(certificates, str(proofs)):
                output.line(line)
    return _exit_code(results, certificates or (), second_methods)


def _second_methods(
    output: Output, theorems: Sequence[Theorem], prover: Prover
) -> list[prove.SecondResult]:
    """What each engine's second method, if it has one, finds of its newest release, where its family was proved."""
    found = []
    for engine in {theorem.engine.name: theorem.engine for theorem in theorems}.values():
        method = engine.second_method() if engine.second_method is not None else None
        if method is None or not any(
            t.family == method.family and t.engine is engine for t in theorems
        ):
            continue
        design = engine.released(engine.newest)
        with progress(output, method.name) as show:
            show(design.name, 0, 1)
            verdict = method.judge(design, limits=prover.limits, seeds=prover.seeds)
        found.append(prove.SecondResult(method, verdict))
    return found


def _check_folders(export: Path | None, proofs: Path | None) -> None:
    """Refuse, before anything is proved, folders that cannot be written, and proofs without cvc5."""
    from spec.smt import cvc5_solver

    files.check_writable(folder / "any.smt2" for folder in (export, proofs) if folder is not None)
    if proofs is not None:
        try:
            cvc5_solver.version()
        except cvc5_solver.NoSecondSolver as error:
            raise BadInput(f"--proofs: {error}") from None


def _write(output: Output, results, export: Path | None, proofs: Path | None, limits):
    """Write the obligations and cvc5's proofs where asked to; how the proofs turned out, None if not asked."""
    from gridproof.reports import smt_files

    lemmas = smt_files.of_lemmas()
    if export is not None:
        smt_files.export(export, [*smt_files.of_results(results), *lemmas])
    if proofs is None:
        return None
    proved = smt_files.of_results(r for r in results if r.verdict == "proved")
    others = set(_theorems(None)) - {r.theorem.id for r in results}
    return _certify(output, proofs, [*proved, *lemmas], others, limits)


def _certify(output: Output, folder: Path, obligations, kept: set[str], limits):
    """Write the proofs, and remove those of theorems that no longer exist or are no longer proved."""
    from gridproof.reports.smt_files import certify, remove_left_over

    removed = remove_left_over(folder, obligations, kept)
    if removed:
        output.note(f"removed {len(removed)} files of proofs that are no longer written")
    return certify(output, folder, obligations, limits)


def _print(output: Output, results, solver_name, second, start_up: float, detailed: bool) -> None:
    output.rich(prove.prove_table(results))
    output.line()
    for result in results if detailed else ():
        for line in prove.details(result):
            output.line(line)
    for line in prove.explanations(results):
        output.line(line)
    counts = prove.summary(results)
    output.line(
        ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
        + f" for all configurations ({solver_name['name']} {solver_name['version']}"
        + (f", confirmed by {second['solver']} {second['version']}" if second else "")
        + ")"
    )
    building = sum(r.building for r in results)
    choosing = sum(r.choosing for r in results)
    solving, asked = sum(r.solving for r in results), sum(r.asked for r in results)
    output.note(
        f"start-up {start_up:.2f} s, building {building:.2f} s, choosing instances {choosing:.2f} s, "
        f"proving {solving:.3f} s in {asked} queries"
    )


def _exit_code(results, certificates, second_methods) -> int:
    verdicts = {r.verdict for r in results} | {s.verdict.verdict for s in second_methods}
    if "error" in verdicts:
        return 70
    if "vacuous" in verdicts:
        return 5
    open_questions = any(h.status == "unknown" for r in results for h in r.hypotheses)
    doubted = any(r.second_opinion == "unknown" for r in results)
    unchecked = not all(certificate.complete for certificate in certificates)
    if "unknown" in verdicts or open_questions or doubted or unchecked:
        return 4
    return 1 if "refuted" in verdicts else 0
