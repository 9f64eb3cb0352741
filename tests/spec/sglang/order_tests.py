"""The tests of the order of events, as calls: which of them fails with a mutant in place."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tests.spec.sglang import test_inductions, test_scheduler, test_trace_runner
from tests.spec.sglang.mutants import Mutant

LIVES = 60


def _calls(module) -> Iterator[tuple[str, Callable[[], None]]]:
    """The tests of a module, each with every value of its parameters."""
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        marks = [m for m in getattr(test, "pytestmark", ()) if m.name == "parametrize"]
        cases = itertools.product(*(_named(*mark.args[:2]) for mark in marks))
        yield name, partial(_all, test, [{k: v for one in case for k, v in one} for case in cases])


def _named(names, values) -> list[tuple[tuple[str, object], ...]]:
    names = [names] if isinstance(names, str) else list(names)
    return [tuple(zip(names, [v] if len(names) == 1 else v, strict=True)) for v in values]


def _all(test: Callable[..., None], cases: list[dict[str, object]]) -> None:
    for case in cases:
        test(**case)


def _lives() -> None:
    test_inductions.random_lives(31, LIVES)


_QUICK = {**dict(_calls(test_scheduler)), **dict(_calls(test_trace_runner))}
_LONG = _QUICK.pop("test_verifies_that_are_passed_over_change_nothing")
TESTS: dict[str, Callable[[], None]] = {
    **_QUICK,
    "test_verifies_that_are_passed_over_change_nothing": _LONG,
    "test_each_event_of_any_order_is_covered_by_a_theorem_whose_premises_hold": _lives,
}


def failing(mutant: Mutant, names: Iterable[str] = TESTS) -> tuple[str, ...]:
    """The first of these tests that fails with a mutant in place."""
    with mutant.in_place():
        return tuple(itertools.islice((name for name in names if _fails(TESTS[name])), 1))


def _fails(test: Callable[[], None]) -> bool:
    try:
        test()
    except BaseException:
        return True
    return False
