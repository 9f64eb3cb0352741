"""More than a hundred launch commands as people publish them, each with the verdict that follows by hand."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from generators.check.session import Judging
from generators.launch import formats
from generators.launch.commands import launches
from generators.launch.launch import read_words
from spec.sglang.releases import design_named

COMMANDS = tomllib.loads(
    (Path(__file__).parents[3] / "data/commands.toml").read_text(encoding="utf-8")
)["command"]
JUDGING = Judging()


def test_there_are_a_hundred_and_enough_of_them_are_not_accepted():
    published = {c["command"]: c["verdict"] for c in COMMANDS if not c.get("composed")}
    verdicts = Counter(published.values())
    assert len(published) >= 100
    assert verdicts["rejected"] + verdicts["not_modelled"] >= 20
    assert verdicts["safe"] >= 20 and verdicts["unsafe"] >= 3
    assert Counter(c["verdict"] for c in COMMANDS)["unsafe"] >= 10
    assert {c["verdict"] for c in COMMANDS} == {"safe", "unsafe", "rejected", "not_modelled"}
    assert len({(c["command"], c["release"]) for c in COMMANDS}) == len(COMMANDS)
    assert all(c["source"].startswith("https://") and c["because"] for c in COMMANDS)


def verdict(judgement):
    """The verdict but for the slots, of which those derived by hand do not speak, as they do not of removed flags."""
    others = {v for reader, v in judgement.producers.items() if reader not in ("slots", "flush")}
    if judgement.verdict in ("rejected", "not_modelled"):
        return judgement.verdict
    return next((v for v in ("unsafe", "not_modelled") if v in others), "safe")


@pytest.mark.parametrize("entry", COMMANDS, ids=range(len(COMMANDS)))
def test_the_verdict_is_the_one_derived_by_hand(entry):
    (item,) = formats.items("a.sh", entry["command"] + "\n", Path("a.sh"))
    ((engine, words),) = launches(item.words)
    launch = read_words(engine, words)
    # Many were written for releases before 0.5.17; what a parser refuses is held against the engine's own in tests/engines.
    if launch.read is not None:
        launch.read.flags.contested.clear()
    judgement = JUDGING.judge(design_named(f"sglang-{entry['release']}"), launch, "a.sh")
    assert verdict(judgement) == entry["verdict"], (entry["because"], judgement.findings)
