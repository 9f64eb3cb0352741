"""`prove` and `designs` with a second engine beside SGLang, which has one theorem and no second method."""

import json
from dataclasses import dataclass

import pytest

from spec import engine as registry
from spec.engine import Engine, Field
from spec.numbers import divides
from spec.theorem import Library, Setting, Statement


@dataclass(frozen=True)
class Blocks:
    """The configuration of an engine whose hits are whole blocks (tokens)."""

    block: int = 16
    backend: str = "flash"


@dataclass(frozen=True)
class Rules:
    """Its only design: a hit is cut to whole blocks."""

    engine = "toy"
    name: str = "toy-1.0"
    release: str = "1.0"
    guards: tuple = ()

    def hit(self, c, tokens):
        return tokens // c.block * c.block

    def summary(self):
        return {"hit": "whole blocks"}


def a_hit_is_whole_blocks(design, c, tokens):
    """A hit is whole blocks, and at least one block if the prompt has one."""
    hit = design.hit(c, tokens)
    return Statement(
        {"the_prompt_is_a_block": tokens >= c.block}, divides(c.block, hit) == (hit >= c.block)
    )


def toy(*states):
    """An engine with these theorems."""
    one = Engine(
        name="toy",
        releases=("1.0",),
        fields=(
            Field("block", int, 16, "tokens of a block", "tokens", 1, symbolic=True),
            Field("backend", str, "flash", "attention backend"),
        ),
        configuration=Blocks,
        design={"toy-1.0": Rules()}.__getitem__,
        proposals={},
        geometry=lambda design, c: {"block": c.block},
        library=lambda: library,
    )
    library = Library(Setting(one, realistic=({"block": 16},), right=Rules()))
    for state in states:
        library.theorem("blocks")(state)
    return one


@pytest.fixture
def beside(monkeypatch):
    """Registers an engine beside SGLang."""

    def register(engine):
        sglang = registry.part("sglang", "spec")
        monkeypatch.setitem(registry.PACKAGES, "toy", "nowhere")
        monkeypatch.setattr(registry, "part", lambda name, room: {"toy": engine}.get(name, sglang))

    return register


def proved(run):
    return [(t["engine"], t["id"], t["verdict"]) for t in json.loads(run.out)["theorems"]]


def test_an_engine_is_proved_alone_and_needs_no_second_method(gridproof, beside):
    beside(toy(a_hit_is_whole_blocks))
    run = gridproof("prove", "--engine", "toy", "--format", "json")
    assert run.code == 0
    assert proved(run) == [("toy", "a_hit_is_whole_blocks", "proved")]
    assert "second_method" not in json.loads(run.out)
    (theorem,) = json.loads(run.out)["theorems"]
    assert theorem["symbolic"] == ["block", "tokens"]
    assert [h["status"] for h in theorem["hypotheses"]] == ["necessary"]


def test_without_an_engine_the_theorems_of_all_are_known(gridproof, beside):
    beside(toy(a_hit_is_whole_blocks))
    run = gridproof("prove", "--family", "blocks", "--family", "insert", "--format", "json")
    assert run.code == 0 and {engine for engine, _, _ in proved(run)} == {"sglang", "toy"}
    run = gridproof("prove", "--engine", "toy", "--family", "insert")
    assert run.code == 2 and "the families are blocks" in run.err


def test_two_engines_cannot_have_a_theorem_of_one_name(gridproof, beside):
    def decode_checkpoint_lands_on_a_node(design, c, tokens):
        """Another claim under a name that SGLang has."""
        return Statement({}, design.hit(c, tokens) <= tokens)

    beside(toy(decode_checkpoint_lands_on_a_node))
    run = gridproof("prove", "--family", "blocks")
    assert run.code == 70 and "two engines have a theorem" in run.err


@pytest.mark.parametrize("command", ["prove", "designs"])
def test_an_unknown_engine_is_refused_with_those_there_are(gridproof, command):
    run = gridproof(command, "--engine", "steam")
    assert run.code == 2 and not run.out
    assert "--engine: unknown engine 'steam': the modelled ones are sglang" in run.err


def test_designs_are_listed_by_engine(gridproof, beside):
    beside(toy())
    documents = [
        json.loads(gridproof("designs", *engine, "--format", "json").out)["designs"]
        for engine in ((), ("--engine", "toy"))
    ]
    assert [{d["engine"] for d in designs} for designs in documents] == [
        {"sglang", "toy"},
        {"toy"},
    ]
    text = gridproof("designs", "--engine", "toy").out
    assert "whole blocks" in text and "proposals" not in text


def test_proofs_of_one_engine_leave_those_of_another(gridproof, beside, tmp_path):
    pytest.importorskip("cvc5")
    beside(toy(a_hit_is_whole_blocks))
    proofs, other = ("--proofs", str(tmp_path)), "every_snapshot_step_is_a_flush_step"
    assert gridproof("prove", "--engine", "sglang", "--theorem", other, *proofs).code == 0
    assert gridproof("prove", "--engine", "toy", *proofs).code == 0
    names = {path.name for path in tmp_path.glob("*.cpc")}
    assert names == {f"{other}.cpc", "a_hit_is_whole_blocks.cpc"}
