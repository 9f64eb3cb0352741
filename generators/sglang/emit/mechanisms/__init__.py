"""The mechanisms that tests are emitted for, one file each: which cases it takes, with which numbers it is tried."""

from __future__ import annotations

from collections.abc import Sequence

from generators.cases.file_format import Case
from generators.emit.predicate_coverage import up_to
from generators.sglang.emit.mechanisms import (
    batches,
    branches,
    chunked,
    decode,
    evictions,
    extend,
    failures,
    flush,
    grids,
    guards,
    host,
    late,
    mixed,
    nested,
    orders,
    ownership,
    pairs,
    results,
    sessions,
    slots,
    tree,
    twins,
    verifies,
    verify,
    windows,
)
from generators.sglang.emit.mechanisms.base import CASES, Emitted, Mechanism, TestGroup, once

MECHANISMS: tuple[Mechanism, ...] = (
    grids.MECHANISM,
    guards.MECHANISM,
    decode.MECHANISM,
    verify.MECHANISM,
    pairs.MECHANISM,
    extend.MECHANISM,
    batches.MECHANISM,
    branches.MECHANISM,
    results.MECHANISM,
    slots.MECHANISM,
    orders.MECHANISM,
    mixed.MECHANISM,
    twins.MECHANISM,
    verifies.MECHANISM,
    failures.MECHANISM,
    late.MECHANISM,
    tree.MECHANISM,
    evictions.MECHANISM,
    ownership.MECHANISM,
    flush.MECHANISM,
    windows.MECHANISM,
    chunked.MECHANISM,
    nested.MECHANISM,
    host.MECHANISM,
    sessions.MECHANISM,
)


def takes(mechanism: Mechanism, case: Case) -> bool:
    """Whether a mechanism has a test for a case."""
    return any(case.code == code.id for code in mechanism.codes) and mechanism.tells(case)


def _emitted(mechanism: Mechanism, cases: Sequence[Case], target: str, tier: str) -> Emitted | None:
    chosen = list({case.id: case for case in cases if takes(mechanism, case)}.values())
    covered = tier != CASES and target == "sglang"
    ranged = up_to(mechanism.space, tier) if covered and mechanism.space else []
    instances = [*mechanism.known, *ranged] if covered else []
    always = covered and mechanism.in_every_tier
    if target not in mechanism.targets or not (chosen or instances or always):
        return None
    groups = mechanism.groups(chosen, instances)
    if target == "model":
        groups = {name: g for name, g in groups.items() if name not in mechanism.engine_only}
    return Emitted(
        mechanism,
        tuple(chosen),
        tuple(TestGroup(name, once(checks)) for name, checks in groups.items() if checks),
    )


def emitted(cases: Sequence[Case], target: str, tier: str) -> list[Emitted]:
    """The files that these cases and this tier call for, one a mechanism.

    `tier`: `cases` for the cases alone, or one of `coverage.TIERS` for instances of the spaces as well.
    """
    found = (_emitted(mechanism, cases, target, tier) for mechanism in MECHANISMS)
    return [emitted for emitted in found if emitted is not None]
