"""A wrong rule is noticed: each one-line mutant of the rules is refuted by integers on which a theorem fails, each one of
the order of events by a test.

Run with ``pytest tests/spec/sglang/test_rule_mutations.py -s`` to see what the theorems are worth.  The mutants stand in
`mutants.py`, what refutes each of them in `spec/sglang/theorems/refuted.json`; ``python -m tests.spec.sglang.refuting`` writes
that file.  A mutant that is equivalent is shown to be so by the solver.
"""

import inspect
from collections import Counter

import pytest

from spec import worth
from spec.prove import shown
from spec.sglang.theorems import LIBRARY
from tests.spec.sglang import refuting
from tests.spec.sglang.mutants import EQUIVALENT, MODULES, OF_ORDERS, OF_RULES, behind
from tests.spec.sglang.order_tests import TESTS, failing

EVERY = (*OF_RULES, *OF_ORDERS, *(mutant for mutant, _ in EQUIVALENT))


def named(mutants):
    return [pytest.param(mutant, id=mutant.name) for mutant in mutants]


def test_each_mutant_of_a_rule_is_refuted_by_the_theorems_written_down(capsys):
    found, written = refuting.of_theorems(), worth.refuters(LIBRARY)
    assert found == {
        **{mutant.name: written[mutant.name] for mutant in OF_RULES},
        **{mutant.name: () for mutant, _ in EQUIVALENT},
    }
    assert all(found[mutant.name] for mutant in OF_RULES)
    with capsys.disabled():
        print(f"\n{worth.summary(written, [theorem.id for theorem in LIBRARY])}")


@pytest.mark.parametrize("mutant", named(OF_ORDERS))
def test_each_mutant_of_the_order_of_events_is_refuted_by_the_test_written_down(mutant):
    by = worth.refuters(LIBRARY)[mutant.name]
    assert len(by) == 1 and failing(mutant, by) == by


@pytest.mark.parametrize(
    ("mutant", "equivalence"), [pytest.param(*entry, id=entry[0].name) for entry in EQUIVALENT]
)
def test_a_mutant_is_equivalent(mutant, equivalence):
    assert mutant.code() and shown(equivalence)


def test_the_list_of_refuters_names_existing_mutants_theorems_and_tests():
    written = worth.refuters(LIBRARY)
    assert list(written) == [mutant.name for mutant in (*OF_RULES, *OF_ORDERS)]
    refuters = {name for by in written.values() for name in by}
    assert refuters <= {theorem.id for theorem in LIBRARY} | set(TESTS)


def test_every_mutant_is_named_once_and_changes_its_function():
    assert not [name for name, times in Counter(m.name for m in EVERY).items() if times > 1]
    changes = Counter((m.where, m.old, m.new) for m in EVERY)
    assert not [change for change, times in changes.items() if times > 1]
    assert all(m.code() != m.function.__code__ for m in EVERY)


def functions(module):
    """The functions of a module and of its classes, by the names that a mutant gives them."""
    short = module.__name__.rpartition(".")[2]
    own = {n: one for n, one in vars(module).items() if _of(one) == module.__name__}
    yield from (f"{short}.{name}" for name, one in own.items() if inspect.isfunction(one))
    for name, one in own.items():
        if inspect.isclass(one) and not getattr(one, "_is_protocol", False):
            for of_the_class, held in vars(one).items():
                code = getattr(behind(held), "__code__", None)
                if code and code.co_filename == module.__file__:
                    yield f"{short}.{name}.{of_the_class}"


def _of(one) -> str | None:
    return getattr(one, "__module__", None)


def test_every_rule_has_a_mutant():
    mutated = {mutant.where for mutant in EVERY}
    every = {name for module in MODULES.values() for name in functions(module)}
    assert every - mutated == set()
