"""Each one-line mutation of the released 0.5.23 wheel turns an emitted test red that passes on the wheel as it is.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.
"""

import importlib
from dataclasses import replace

import pytest

from generators.emit import manifest
from tests.engines.sglang.comparison import engine
from tests.engines.sglang.mutants import MUTANTS, RELEASE, applied, mutated_source
from tests.engines.sglang.test_mutations import EMITTED, passes, runs

pytestmark = pytest.mark.skipif(
    engine.release() != RELEASE, reason=f"the mutants are lines of sglang {RELEASE}"
)


def run_of(name):
    """The function and the arguments of one run of an emitted test, `FILE::TEST[ID]`."""
    path, _, test = name.partition("::")
    function, _, identifier = test.removesuffix("]").partition("[")
    found = getattr(importlib.import_module(path.removesuffix(".py")), function)
    (mark,) = found.pytestmark
    (number,) = (i for i, run in enumerate(mark.args[1]) if run.id == identifier)
    return found, list(runs(found))[number]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_turns_the_emitted_test_red_that_is_named_for_it(mutant):
    function, arguments = run_of(mutant.noticed_by)
    assert passes(function, arguments)
    with applied(mutant):
        assert not passes(function, arguments)
    assert passes(function, arguments)


def test_at_least_thirty_lines_are_mutated_each_in_its_own_way():
    assert len(MUTANTS) >= 30
    assert len({m.name for m in MUTANTS}) == len(MUTANTS)
    assert len({(m.module, m.function, m.old, m.new) for m in MUTANTS}) == len(MUTANTS)


def test_each_mutant_changes_one_line_of_its_module():
    for mutant in MUTANTS:
        kept = mutated_source(replace(mutant, new=mutant.old)).splitlines()
        changed = mutated_source(mutant).splitlines()
        assert sum(a != b for a, b in zip(kept, changed, strict=True)) == 1, mutant.name


def test_a_mutant_whose_line_is_not_in_the_wheel_is_an_error():
    gone = replace(MUTANTS[0], old="a line that no release has")
    with pytest.raises(ValueError, match="0 times"), applied(gone):
        pass


def test_what_notices_a_mutant_is_committed_and_predicted_to_pass():
    tests = manifest.read(EMITTED / "manifest.json").tests
    for mutant in MUTANTS:
        assert tests[mutant.noticed_by].by_subject[RELEASE]["outcome"] == "passes", mutant.name
