"""Every flag of the engine is classified by what it has to do with recurrent states.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.  A release with a new flag fails here until it
stands in a group of `generators/sglang/launch/flags.toml`.
"""

import argparse

import pytest

from generators.sglang.launch.flag_classes import engine_flags, flag_groups, flags_of, meant_by
from tests.engines.sglang.comparison import engine

ServerArgs = pytest.importorskip("sglang.srt.server_args").ServerArgs


@pytest.fixture(scope="module")
def actions():
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return [a for a in parser._actions if not isinstance(a, argparse._HelpAction)]


def test_every_flag_of_the_release_stands_in_a_group(actions):
    spelled = {option for action in actions for option in action.option_strings}
    assert len(spelled) > 400
    assert spelled - set(engine_flags()) == set(), engine.release()


def test_the_flags_of_a_release_are_those_that_it_has(actions):
    spelled = {option for action in actions for option in action.option_strings}
    assert flags_of(engine.release()) == spelled


def test_a_beginning_of_flags_stands_for_one_where_the_parser_takes_it(actions):
    """argparse completes a beginning that one flag of the release has, and refuses any other."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    ServerArgs.add_cli_args(parser)
    spelled = {option for action in actions for option in action.option_strings}
    for beginning in ("--tp", "--dcp", "--page", "--mamba", "--model", "--dp", "--none-such"):
        taken = parser._get_option_tuples(beginning) if beginning not in spelled else [beginning]
        assert len(taken) == len(meant_by(beginning, engine.release())), beginning


def test_the_switches_are_those_of_the_release(actions):
    switches = {o for a in actions for o in a.option_strings if a.nargs == 0}
    spelled = {option for action in actions for option in action.option_strings}
    assert {flag for flag in spelled if engine_flags()[flag]} == switches


def test_every_default_of_the_release_is_harmless(actions):
    """A launch that names no flag reaches nothing that is not modelled, nor does one that repeats a default."""
    defaults = {o: a.default for a in actions for o in a.option_strings}
    for group in flag_groups():
        for flag in (*group.flags, *group.switches):
            if group.producers and defaults.get(flag) not in (None, False, argparse.SUPPRESS):
                assert not group.takes_effect(defaults[flag]), (flag, defaults[flag])
