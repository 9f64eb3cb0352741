"""`check` and `explain` with a second engine beside SGLang: one producer, one event, no slots, no tree, no pages."""

import json
from dataclasses import dataclass
from itertools import pairwise

import pytest

from generators.cases.codes import Code, Example
from generators.cases.file_format import Case, Event
from generators.check.findings import Judged
from generators.engines import Checking, Launching
from generators.launch.launch import Launch, Setting
from spec import engine as registry
from spec.engine import Engine, Field
from tests.gridproof.test_cli import valid


@dataclass(frozen=True)
class Blocks:
    """Hits are whole blocks, and a state is kept every `keep` tokens."""

    block: int = 16
    keep: int = 16


@dataclass(frozen=True)
class Rules:
    """A release; the newer one keeps states on blocks whatever was asked for."""

    release: str
    engine = "toy"
    guards: tuple = ()

    @property
    def name(self):
        return f"toy-{self.release}"


DESIGNS = {design.name: design for design in (Rules("1.0"), Rules("2.0"))}
MODEL = Engine(
    name="toy",
    releases=("1.0", "2.0"),
    fields=(
        Field("block", int, 16, "tokens of a block", "tokens", 1),
        Field("keep", int, 16, "tokens between states", "tokens", 1),
    ),
    configuration=Blocks,
    design=DESIGNS.__getitem__,
    proposals={},
    geometry=lambda design, c: {"block": c.block},
    library=lambda: None,
)


def whole_blocks(design, launch):
    return [{"--keep": str(launch.configuration.block)}]


OFF_THE_BLOCK = Code(
    "GP901",
    "off-the-block",
    "a state is kept at a length that no block ends at",
    remedy="--keep as large as a block",
    example=Example("toy==1.0", "toyd run --keep 8", "toyd run --keep 16"),
    producer="keep",
    about=("keep",),
    fixes=whole_blocks,
)


class Reads(Launching):
    modules = ("toy.server",)
    commands = (("toyd", "run"),)
    settable = ("block",)

    def resolve(self, words, *, given, config=None, resolved=False):
        settings = {
            flag.text.removeprefix("--"): Setting(int(value.text), flag, value)
            for flag, value in pairwise(words)
            if flag.text in ("--block", "--keep")
        }
        values = {name: setting.value for name, setting in settings.items()} | dict(given)
        return Launch(
            "toy",
            tuple(words),
            Blocks(**values),
            dict.fromkeys(values, "flag"),
            settings=settings,
            reading={"given": given},
        )

    def value_of(self, name, text):
        return int(text)


class Judges(Checking):
    def producers(self, launch):
        return ("keep",)

    def judged(self, design, launch, broken, *, alone, known):
        c = launch.configuration
        if design.release == "2.0" or c.keep % c.block == 0:
            return Judged({"keep": "safe"}, theorems=("kept_on_blocks",), smallest_cached=c.block)
        node = c.keep // c.block * c.block
        event = Event("copy", c.keep, c.keep, snapshot_depth=c.keep, node_depth=node)
        depths = {"state": c.keep, "node": node, "replayed": c.keep - node}
        case = Case("x", "GP901", "misplaced", {}, (event,), depths, {})
        return Judged({"keep": "unsafe"}, (case,), smallest_cached=c.block)


class Toy:
    name = "toy"
    model = MODEL
    codes = (OFF_THE_BLOCK,)
    launch = Reads()
    check = Judges()


@pytest.fixture(autouse=True)
def toy(monkeypatch, tmp_path):
    known = registry.part
    parts = {"spec": MODEL, "generators": Toy()}
    monkeypatch.setitem(registry.PACKAGES, "toy", "nowhere")
    monkeypatch.setattr(
        registry, "part", lambda name, room: parts[room] if name == "toy" else known(name, room)
    )
    monkeypatch.chdir(tmp_path)


def test_a_launch_is_judged_by_its_own_engine(gridproof):
    run = gridproof("check", "--format", "json", "--", "toyd", "run", "--block", "8")
    (judged,) = valid(run.out)["configurations"]
    assert run.code == 0 and judged["engine"] == "toy==2.0" and judged["verdict"] == "safe"
    assert judged["configuration"] == {"block": 8, "keep": 16}
    assert judged["geometry"] == {"block": 8} and judged["readers"] == {"keep": "safe"}
    text = gridproof("check", "--", "toyd", "run").out
    assert "keep: safe" in text and "evidence: theorems kept_on_blocks" in text


def test_a_fault_is_found_with_its_fix_and_the_release_that_has_none(gridproof):
    launch = ("--", "python", "-m", "toy.server", "--keep", "40")
    run = gridproof("check", "--engine", "toy==1.0", *launch)
    assert run.code == 1 and "error GP901: a state is kept at a length" in run.out
    assert "the state after 40 tokens is cached under the 32-token prefix" in run.out
    assert "shortest trace: copy 40 tokens (snapshot taken): at node 32" in run.out
    assert "fix (safe): --keep 16" in run.out
    fixed = gridproof("check", "--fix", "--engine", "toy==1.0", *launch).out.splitlines()[-1]
    assert fixed == "python -m toy.server --keep 16"
    assert gridproof("check", "--engine", "toy==1.0", "--", *fixed.split()).code == 0


def test_launches_of_two_engines_stand_in_one_file(gridproof, tmp_path):
    (tmp_path / "a.sh").write_text("toyd run --keep 8\nsglang serve --disable-radix-cache\n")
    (tmp_path / "requirements.txt").write_text("toy==1.0\nsglang==0.5.20\n")
    document = valid(gridproof("check", "--format", "json", "a.sh").out)
    judged = {c["engine"]: c["verdict"] for c in document["configurations"]}
    assert judged == {"toy==1.0": "unsafe", "sglang==0.5.20": "not_modelled"}
    document = valid(gridproof("check", "--format", "json", "--engine", "toy==2.0", "a.sh").out)
    assert [c["engine"] for c in document["configurations"]] == ["toy==2.0", "sglang==0.5.20"]
    every = valid(gridproof("check", "--format", "json", "--all-releases", "a.sh").out)
    engines = [c["engine"] for c in every["configurations"]]
    assert engines[:2] == ["toy==1.0", "toy==2.0"] and len(engines) == 9


def test_a_value_beside_the_command_goes_to_the_engine_that_has_the_field(gridproof):
    launch = ("--", "toyd", "run", "--keep", "8")
    run = gridproof("check", "--engine", "toy==1.0", "--set", "block=4", *launch)
    assert run.code == 0
    assert gridproof("check", "--set", "blocks=4", *launch).code == 2


def test_its_code_is_explained_and_waived_and_a_release_that_is_not_modelled_is_named(
    gridproof, tmp_path
):
    run = gridproof("explain", "GP901")
    assert "gridproof check --engine toy==1.0 -- toyd run --keep 8" in run.out
    (tmp_path / "a.sh").write_text("# gridproof: waive GP901: known\ntoyd run --keep 8\n")
    assert gridproof("check", "--engine", "toy==1.0", "a.sh").code == 0
    (tmp_path / "requirements.txt").write_text("toy==0.9\n")
    (judged,) = json.loads(gridproof("check", "--format", "json", "a.sh").out)["configurations"]
    assert (judged["engine"], judged["verdict"]) == ("toy==0.9", "not_modelled")
