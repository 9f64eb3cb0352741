"""Every flag of the engine is classified by what it has to do with recurrent states.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.  A release with a new flag fails here until it
stands in a group of `generators/sglang/launch/flags.toml`.
"""

import argparse
import tomllib
from pathlib import Path

import pytest

from generators.launch import formats
from generators.launch.commands import launches
from generators.launch.launch import read_words
from generators.sglang.launch import options
from generators.sglang.launch.flag_classes import engine_flags, flag_groups, flags_of, meant_by
from tests.engines.sglang.comparison import engine

resolved = pytest.importorskip("tests.engines.sglang.resolved")

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


PUBLISHED = tomllib.loads(
    (Path(__file__).parents[2] / "data/commands.toml").read_text(encoding="utf-8")
)["command"]


def words_of(command):
    (item,) = formats.items("a.sh", command + "\n", Path("a.sh"))
    ((engine_name, words),) = launches(item.words)
    return read_words(engine_name, words), [word.text for word in words]


@pytest.mark.parametrize(
    "command", sorted({c["command"] for c in PUBLISHED}), ids=lambda text: text[-60:]
)
def test_a_published_command_is_refused_where_the_parser_of_the_release_exits(command):
    launch, words = words_of(command)
    if not options_are_strict(words):
        pytest.skip("a wrapper reads the flags first, or a shell fills in values")
    behind = words[2:] if words[:2] == ["sglang", "serve"] else words[1:]
    release = engine.release()
    objections = [options.objection(*one, release) for one in launch.facts.contested]
    try:
        resolved.parsed(behind)
    except resolved.Refused as error:
        assert any(objections), error
    else:
        assert not any(objections), objections


def options_are_strict(words):
    starts = words[:1] == ["sglang.launch_server"] or words[:2] == ["sglang", "serve"]
    return starts and "--config" not in words and not any("$" in word for word in words)


def test_every_choice_and_number_that_the_release_refuses_is_refused():
    release = engine.release()
    for action in resolved.parser()._actions:
        flag = next((o for o in action.option_strings if o.startswith("--")), None)
        if flag is None or action.nargs == 0 or flag in ("--help", "--config"):
            continue
        for value in ("64", "0.5", "none-such", *sorted(map(str, action.choices or ()))[:40]):
            try:
                resolved.parser()._get_values(action, [value])
            except (argparse.ArgumentError, SystemExit):
                known = options.objection(flag, (value,), release)
                kind = getattr(action.type, "__name__", "str")
                assert known or kind not in ("int", "float", "str"), (flag, value)
            except Exception:
                continue
            else:
                assert options.objection(flag, (value,), release) is None, (flag, value)
