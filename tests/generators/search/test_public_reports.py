"""Every public report that is stated is found again, given only its design, and not in the right one."""

import ast

import pytest

from generators.sglang.search.public_reports import count, faults, unstated
from spec.sglang.releases import design_named

FAULTS = faults()
# Rules that give a state: one which neither looks for its row nor asks the engine's own rule just says what came of it.
STATES = {"extend_state", "decode_state", "verify_saved_step", "flush_state"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_reported_fault_is_found_from_its_design_and_not_in_the_right_one(fault):
    assert fault.found_in(fault.faulty()) is not None
    assert fault.found_in(design_named(fault.right)) is None


def test_every_report_stands_in_the_catalogue_once():
    reports = [page for entry in (*FAULTS, *unstated()) for page in entry.reports]
    assert len(set(reports)) == len(reports) and all(
        page.startswith("https://") for page in reports
    )
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert all(entry.reason for entry in unstated())
    assert count((*FAULTS, *unstated())) == len(reports)


def own_rules(fault):
    """The rules of a fault's own, by name."""
    tree = ast.parse(fault.rules or "")
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def names_read(function):
    nodes = (node for statement in function.body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def is_outcome(rules):
    """Whether rules are seen to state no mechanism: they read nothing that they are given, or just give a state."""
    reads = {
        name: names_read(function) & {argument.arg for argument in function.args.args}
        for name, function in rules.items()
    }
    if not any(reads.values()):
        return True
    asks = {"stride", "extend", "decode", "verify", "flush"}
    return set(rules) <= STATES and not any(names_read(rule) & asks for rule in rules.values())


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_rule_that_says_what_came_of_a_fault_is_not_counted_as_its_mechanism(fault):
    if fault.rules and is_outcome(own_rules(fault)):
        assert fault.cause, "say in `cause` what the report found behind it"
    assert fault.rules or fault.cause is None, "a released design is a mechanism"


@pytest.mark.parametrize(
    "rules",
    [
        "def decode_grid(c):\n    return 16",
        "def swap(grid, seq_len, lookahead):\n    return False",
        "def extend_state(stride, mamba_chunk_size, prefix, end, tracked):\n    return end",
    ],
)
def test_constants_and_given_states_are_seen(rules):
    assert is_outcome({node.name: node for node in ast.parse(rules).body})


def test_a_rule_that_computes_is_no_outcome():
    rules = "def decode_grid(c):\n    return c.mamba_track_interval"
    assert not is_outcome({node.name: node for node in ast.parse(rules).body})
