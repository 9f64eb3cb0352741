"""Which theorems refute which mutant: a theorem is run with the mutant in place, at rows of integers that it speaks of.

A theorem's rows are drawn the same every time.  `python -m tests.spec.sglang.refuting` writes what is found to
`spec/sglang/theorems/refuted.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from multiprocessing import Pool
from types import CodeType

import numpy

from generators.common.processes import cores
from spec import candidates, worth
from spec.candidates import Batch, Columns
from spec.sglang.theorems import LIBRARY
from spec.theorem import Theorem
from tests.spec.sglang.mutants import EQUIVALENT, OF_ORDERS, OF_RULES, Mutant
from tests.spec.sglang.order_tests import failing

SEEDS, FURTHER_SEEDS, DRAWN = range(6), range(6, 30), 20_000
HELD, ANY = 600, 100  # rows kept of a sample: of those where all hypotheses hold, and of any
ENOUGH = 3000  # rows where all hypotheses hold, in all samples
MUTANTS = (*OF_RULES, *(mutant for mutant, _ in EQUIVALENT))
_LEAST_DRAWN, _MOST_OF_A_LENGTH = 3, 12


def _mixed(draw: numpy.random.RandomState, column, columns: Columns, least: int):
    """A third of the values replaced by those of an earlier parameter or close to them, a third by very small ones."""
    kind = draw.randint(0, 3, DRAWN)
    if columns:
        earlier = numpy.array(list(columns.values()))
        near = earlier[draw.randint(0, len(earlier), DRAWN), numpy.arange(DRAWN)]
        column = numpy.where(kind == 0, near + draw.randint(-2, 3, DRAWN), column)
    column = numpy.where(kind == 1, least + draw.randint(0, _LEAST_DRAWN, DRAWN), column)
    return numpy.maximum(column, least)


def _sample(theorem: Theorem, parameters: Mapping[str, int], seed: int) -> Columns:
    """Rows of small values; of every second seed with configurations and lengths that a person would write."""
    draw, columns = numpy.random.RandomState(seed), Columns()
    written, lengths = seed % 2 == 1, numpy.array(candidates._LENGTHS)
    configurations = theorem.setting.realistic
    chosen = draw.randint(0, len(configurations), DRAWN)
    for name, least in parameters.items():
        field = name in theorem.setting.fields
        if written and field:
            columns[name] = numpy.array([c[name] for c in configurations])[chosen]
            continue
        most = 2 + seed % 4 if field else _MOST_OF_A_LENGTH
        drawn = draw.randint(least, most + 1, DRAWN)
        if written:
            drawn = lengths[draw.randint(0, len(lengths), DRAWN)]
        columns[name] = _mixed(draw, drawn, columns, least)
    return columns


def _rows(theorem: Theorem, parameters: Mapping[str, int]) -> Columns:
    """The rows at which a theorem is looked at: those of its hypotheses, and some where one of them fails."""
    parts, count = [], 0
    for seed in (*SEEDS, *FURTHER_SEEDS):
        if seed not in SEEDS and count >= ENOUGH:
            break
        columns = _sample(theorem, parameters, seed)
        held = numpy.flatnonzero(Batch.rows(theorem, None, columns)._mask(False, None))[:HELD]
        count += len(held)
        for rows in (held, slice(ANY)):
            parts.append({name: column[rows] for name, column in columns.items()})
    return {name: numpy.concatenate([part[name] for part in parts]) for name in parameters}


def _run_by(theorem: Theorem) -> set[CodeType]:
    """The code that a theorem runs."""
    codes: set[CodeType] = set()
    sys.setprofile(lambda frame, event, _: codes.add(frame.f_code) if event == "call" else None)
    try:
        theorem.parameters()
    finally:
        sys.setprofile(None)
    return codes


def counterexample(theorem: Theorem, mutant: Mutant, rows: Columns) -> candidates.Values | None:
    """Integers at which a theorem fails with a mutant in place, and holds without it."""
    with mutant.in_place(), numpy.errstate(all="ignore"):
        further = [name for name in theorem.parameters() if name not in rows]
        count = len(next(iter(rows.values())))
        rows = {**rows, **{name: 1 + numpy.arange(count) % 5 for name in further}}
        found = Batch.rows(theorem, None, rows).first(True)
        if found is None or not candidates.fails_at(theorem, found):
            return None
    return None if candidates.fails_at(theorem, found) else found


def _refuted_by(name: str) -> list[str]:
    """The mutants of rules that a theorem refutes."""
    theorem = LIBRARY[name]
    codes, rows = _run_by(theorem), _rows(theorem, theorem.parameters())
    reached = [mutant for mutant in MUTANTS if mutant.function.__code__ in codes]
    return [mutant.name for mutant in reached if counterexample(theorem, mutant, rows)]


def of_theorems(jobs: int | None = None) -> dict[str, tuple[str, ...]]:
    """The theorems that refute each mutant of a rule, in the library's order; of equivalent ones as well."""
    names = [theorem.id for theorem in LIBRARY]
    with Pool(jobs or cores()) as pool:
        refuted = dict(zip(names, pool.map(_refuted_by, names, chunksize=1), strict=True))
    return {m.name: tuple(n for n in names if m.name in refuted[n]) for m in MUTANTS}


def main() -> None:
    """Write down what refutes each mutant, and say what the theorems are worth."""
    of_rules = of_theorems()
    every = {mutant.name: of_rules[mutant.name] for mutant in OF_RULES}
    every |= {mutant.name: failing(mutant) for mutant in OF_ORDERS}
    LIBRARY.refuted.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    print(worth.summary(every, [theorem.id for theorem in LIBRARY]))
    print("refuted by nothing:", [name for name, by in every.items() if not by])


if __name__ == "__main__":
    main()
