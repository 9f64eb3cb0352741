"""The toy engine for the jobs of `generators`."""

from dataclasses import dataclass, replace
from itertools import pairwise

from generators.cases.codes import Code, Example
from generators.cases.file_format import Case, Event, spelled
from generators.check.findings import Judged
from generators.emit.mechanism import ENGINE as ENGINES_OWN
from generators.emit.mechanism import Check, Mechanism
from generators.engines import Checking, Emitting, Explaining, Launching, NoRules, Searching
from generators.launch.launch import Launch, Setting
from generators.search.configurations import GridSurvey, WrongCheckpoint
from spec.numbers import both, gcd
from spec.transition_system import Wrong
from tests.toy.spec.engine import DESIGNS, Blocks, node
from tests.toy.spec.engine import ENGINE as MODEL

OFF_THE_BLOCK = Code(
    "GP901",
    "off-the-block",
    "a state is kept at a length that no block ends at",
    remedy="--keep as large as a block",
    example=Example("toy==1.0", "toyd run --keep 8", "toyd run --keep 16"),
    producer="keep",
    about=("keep",),
    fixes=lambda design, launch: [{"--keep": str(launch.configuration.block)}],
)


def copied(c, tokens):
    """The outcome, the one event and the depths (tokens) of a state that is kept at a length."""
    at = int(node(c, tokens))
    event = Event("copy", tokens, tokens, snapshot_depth=tokens, node_depth=at)
    depths = {"state": tokens, "node": at, "replayed": tokens - at}
    return WrongCheckpoint("misplaced", (event,), depths)


class Keep:
    """The producer: a state at every multiple of the grid."""

    name, code = "keep", OFF_THE_BLOCK

    def breaks(self, design, c):
        grid = design.grid(c)
        period = c.block // gcd(grid, c.block)
        return both(period > 1), period

    def find(self, design, c):
        grid = int(design.grid(c))
        wrong = (n for n in range(grid, grid * c.block + 1, grid) if node(c, n) != n)
        tokens = next(wrong, None)
        return None if tokens is None else copied(c, tokens)


@dataclass(frozen=True)
class Copy:
    """A move: the request grows to so many tokens."""

    tokens: int
    reaches = True

    def earlier(self, tokens):
        return replace(self, tokens=self.tokens - tokens)


class Life:
    """A request whose state is its length."""

    untried = ()

    def __init__(self, design, c):
        self.grid, self.c = int(design.grid(c)), c

    def start(self):
        return 0

    def starts(self):
        yield (), 0

    def ways(self, tokens):
        yield None, ("at", tokens % (self.grid * self.c.block))

    def successors(self, tokens, way):
        yield Copy(tokens + self.grid), tokens + self.grid

    def special(self, tokens, move):
        return None

    def wrong(self, tokens):
        kept = tokens and tokens % self.grid == 0
        return (
            Wrong(OFF_THE_BLOCK, tokens, tokens)
            if kept and node(self.c, tokens) != tokens
            else None
        )

    def judged(self, tokens):
        return tokens

    def is_end(self, move):
        return False

    def is_possible(self, tokens, move):
        return move.tokens > tokens

    def apply(self, tokens, move):
        return move.tokens


@dataclass(frozen=True)
class Class:
    """One way in which an order goes wrong: there is one."""

    code: Code

    def holds(self, other):
        return False


class Search(Searching):
    decided_first = ("block", "keep")
    design_rules = NoRules()

    def surveys(self, design, domain, guards):
        return [GridSurvey(design, Keep())]

    def matters(self, trace, failure_class):
        return frozenset(MODEL.field_names)

    def signature(self, design, c):
        return [c.block, c.keep]

    def life(self, design, c, mixes):
        return Life(design, c)

    def class_of(self, design, c, trace):
        return Class(trace.kind)

    def order_case(self, design, values, trace, failure_class, members):
        found, requirement = (
            copied(Blocks(**values), trace.ending),
            MODEL.requirement(design.release),
        )
        values = {**values, "engine": requirement}
        return Case(
            f"keep-order-{spelled(values)}",
            *(
                OFF_THE_BLOCK.id,
                found.outcome,
                values,
                found.trace,
                found.depths,
                {"cause": "alone"},
            ),
            members,
        )


class Reads(Launching):
    commands = (("toyd", "run"),)
    settable = ("block",)

    def resolve(self, words, *, given, config=None, resolved=False):
        settings = {
            flag.text.removeprefix("--"): Setting(int(value.text), flag, value)
            for flag, value in pairwise(words)
            if flag.text in ("--block", "--keep")
        }
        values = {name: setting.value for name, setting in settings.items()} | dict(given)
        reading = {"given": given}
        return Launch(
            *("toy", tuple(words), Blocks(**values), dict.fromkeys(values, "flag")),
            settings=settings,
            reading=reading,
        )


class Judges(Checking):
    def producers(self, launch):
        return ("keep",)

    def judged(self, design, launch, broken, *, alone, known):
        c = launch.configuration
        found = Keep().find(design, c)
        if found is None:
            theorems = ("a_kept_state_is_cached_under_its_own_length",)
            return Judged({"keep": "safe"}, theorems=theorems, smallest_cached=c.block)
        case = Case("keep", OFF_THE_BLOCK.id, found.outcome, {}, found.trace, found.depths, {})
        return Judged({"keep": "unsafe"}, (case,), smallest_cached=c.block)


def _groups(cases, instances):
    def check(case):
        c, tokens = MODEL.configuration_of(case.configuration), case.depths["state"]
        numbers = {"block": c.block, "keep": c.keep}
        return Check(
            f"{spelled(case.configuration)}-to{tokens}",
            {"configuration": numbers, "tokens": tokens},
            lambda design: int(node(c, tokens)) if tokens % int(design.grid(c)) == 0 else None,
            lambda observed: observed in (None, tokens),
        )

    return {"test_a_kept_state_is_cached_under_its_own_length": [check(case) for case in cases]}


class Emit(Emitting):
    mechanisms = (Mechanism("keep", _groups, (OFF_THE_BLOCK,)),)
    package = "tests.toy.generators"
    configuration_fields = ("block", "keep")
    support = {ENGINES_OWN: "gridproof_toy.py"}


class Explain(Explaining):
    def grids(self, case):
        c = MODEL.configuration_of(case.configuration)
        return (("block", c.block), ("grid", DESIGNS["toy-1.0"].grid(c)))


class Toy:
    name, model, codes = "toy", MODEL, (OFF_THE_BLOCK,)
    search, launch, check, emit, explain = Search(), Reads(), Judges(), Emit(), Explain()


ENGINE = Toy()
