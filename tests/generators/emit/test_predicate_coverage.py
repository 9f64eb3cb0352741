"""Predicate coverage: every combination of a mechanism's predicates has an instance or a proof that there is none."""

from dataclasses import replace

import pytest

from generators.emit import predicate_coverage
from generators.sglang.emit.mechanisms import MECHANISMS
from generators.sglang.emit.mechanisms.spaces import GRID_PREDICATES

SPACES = {m.name: m.space for m in MECHANISMS if m.space is not None}
of_each_space = pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)


def truths(space, instance):
    c, lengths = instance.c, instance.lengths
    return {name: bool(p(c, **lengths)) for name, p in space.predicates.items()}


@of_each_space
def test_every_combination_has_an_instance_or_a_proof_that_there_is_none(space):
    assert predicate_coverage.unproved(space) == []
    met = {tuple(truths(space, i).items()) for i in predicate_coverage.instances(space)}
    excluded = 0
    for combination in range(1 << len(space.predicates)):
        literals = {n: bool(combination >> i & 1) for i, n in enumerate(space.predicates)}
        excluding = any(
            dict(e.literals).items() <= literals.items()
            for e in predicate_coverage.exclusions(space)
        )
        assert excluding != (tuple(literals.items()) in met)
        excluded += excluding
    assert excluded + len(met) == 1 << len(space.predicates)


@of_each_space
def test_instances_are_accepted_as_plain_integers_and_no_two_are_alike(space):
    found = predicate_coverage.instances(space)
    assert len({tuple(truths(space, i).values()) for i in found}) == len(found)
    for instance in found:
        assert all(p(instance.c, **instance.lengths) for p in space.accepted.values())
        assert all(p(instance.c, **instance.lengths) for p in space.facts.values())


@of_each_space
@pytest.mark.parametrize(("tier", "size"), [("tiny", 2), ("small", 3)])
def test_a_tier_has_every_pair_or_every_three_predicates_in_each_way_that_occurs(space, tier, size):
    from itertools import combinations

    def parts(instances):
        return {part for i in instances for part in combinations(truths(space, i).items(), size)}

    assert parts(predicate_coverage.up_to(space, tier)) == parts(
        predicate_coverage.instances(space)
    )


def test_an_instance_that_was_not_looked_for_leaves_an_exclusion_unproved():
    space = SPACES["decode"]
    none = [c for c in space.configurations if c["dcp_size"] == 1]
    blind = replace(space, configurations=none, predicates=dict(GRID_PREDICATES))
    assert "decode: never dcp_widens_the_page" in predicate_coverage.unproved(blind)


def test_a_fact_that_is_false_is_not_proved():
    space = replace(SPACES["decode"], facts={"all is one": lambda c, **_: c.page_size == 1})
    assert "decode: all is one" in predicate_coverage.unproved(space)
