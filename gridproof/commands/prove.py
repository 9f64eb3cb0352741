"""`gridproof prove`."""

from __future__ import annotations

import difflib
import time
from pathlib import Path

from generators.cases.file_format import text_of
from generators.common.errors import BadInput, NothingToDo
from gridproof import files
from gridproof.console import Output, progress
from gridproof.reports import prove


def _selected(family: tuple[str, ...], names: tuple[str, ...]):
    from spec.sglang.theorems import LIBRARY

    for name in family:
        if name not in LIBRARY.families:
            raise BadInput(
                f"--family: {name!r} is unknown; the families are {', '.join(LIBRARY.families)}"
            )
    for name in names:
        if name not in LIBRARY:
            near = difflib.get_close_matches(name, [t.id for t in LIBRARY], n=1)
            hint = f"did you mean {near[0]!r}?" if near else "'gridproof prove' lists them"
            raise BadInput(f"--theorem: {name!r} is unknown; {hint}")
    chosen = [
        t for t in LIBRARY if (not family or t.family in family) and (not names or t.id in names)
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
    theorems = _selected(family, names)
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
    second_method = _second_method(output, theorems, prover) if not names else None
    certificates = _write(output, results, export, proofs, prover.limits)
    if form == "json":
        document = prove.prove_document(results, solver_name, second, certificates, second_method)
        output.raw(text_of(document))
    elif form == "github":
        for line in prove.github_lines(results, certificates or (), second_method):
            output.raw(line + "\n")
    else:
        _print(output, results, solver_name, second, loaded - start, bool(names))
        if second_method is not None:
            output.line(prove.second_method_line(second_method))
        if certificates is not None:
            for line in prove.certificate_lines(certificates, str(proofs)):
                output.line(line)
    return _exit_code(results, certificates or (), second_method)


def _second_method(output: Output, theorems, prover):
    """What Horn clauses say of requests and nodes under the newest release, where the family `life` is proved."""
    from spec.sglang.drift.verdict import judge
    from spec.sglang.releases import CURRENT

    if not any(theorem.family == "life" for theorem in theorems):
        return None
    with progress(output, "Horn clauses") as show:
        show(CURRENT.name, 0, 1)
        return judge(CURRENT, limits=prover.limits, seeds=prover.seeds)


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
    """Write the obligations and cvc5's proofs of them where asked to; what became of the proofs, None if not asked."""
    from gridproof.reports import smt_files

    lemmas = smt_files.of_lemmas()
    if export is not None:
        smt_files.export(export, [*smt_files.of_results(results), *lemmas])
    if proofs is None:
        return None
    proved = smt_files.of_results(r for r in results if r.verdict == "proved")
    return _certify(output, proofs, [*proved, *lemmas], {r.theorem.id for r in results}, limits)


def _certify(output: Output, folder: Path, smt_files, asked: set[str], limits):
    """Write the proofs, and remove those of theorems that are no more or are no longer proved."""
    from gridproof.reports.smt_files import certify, remove_left_over
    from spec.sglang.theorems import LIBRARY

    removed = remove_left_over(folder, smt_files, {t.id for t in LIBRARY} - asked)
    if removed:
        output.note(f"{len(removed)} files of proofs that are no longer written were removed")
    return certify(output, folder, smt_files, limits)


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


def _exit_code(results, certificates, second_method) -> int:
    verdicts = {r.verdict for r in results}
    if second_method is not None:
        verdicts.add(second_method.verdict)
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
