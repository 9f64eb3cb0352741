"""The toy engine: cache hits are whole blocks, and a state is kept on a grid of tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spec.engine import Engine, Field
from spec.numbers import divides, lcm
from spec.theorem import Library, Setting, Statement


@dataclass(frozen=True)
class Blocks:
    """The configuration: tokens of a block, tokens between two kept states."""

    block: int = 16
    keep: int = 16


def as_asked(c):
    """The grid of kept states (tokens) of release 1.0."""
    return c.keep


def on_blocks(c):
    """The grid of kept states (tokens) of release 2.0."""
    return lcm(c.keep, c.block)


def node(c, tokens):
    """The prefix (tokens) that a state is cached under."""
    return tokens // c.block * c.block


@dataclass(frozen=True)
class Rules:
    """A release: its rule for the grid of kept states."""

    release: str
    grid: Callable[[Any], Any]
    engine = "toy"
    guards = ()

    @property
    def name(self):
        return f"toy-{self.release}"

    def summary(self):
        return {"keep": self.grid.__name__}


DESIGNS = {d.name: d for d in (Rules("1.0", as_asked), Rules("2.0", on_blocks))}
ENGINE = Engine(
    name="toy",
    releases=("1.0", "2.0"),
    fields=(
        Field("block", int, 16, "tokens of a block", "tokens", 1, symbolic=True, short="block"),
        Field("keep", int, 16, "tokens between states", "tokens", 1, symbolic=True, short="keep"),
    ),
    configuration=Blocks,
    design=DESIGNS.__getitem__,
    proposals={},
    geometry=lambda design, c: {"block": c.block, "grid": design.grid(c)},
    library=lambda: LIBRARY,
)
LIBRARY = Library(Setting(ENGINE, realistic=({"block": 16, "keep": 16},), right=DESIGNS["toy-2.0"]))


@LIBRARY.theorem("keep", refuted_by=("toy-1.0",))
def a_kept_state_is_cached_under_its_own_length(design, c, tokens):
    """A state that is kept is cached under a prefix of as many tokens."""
    return Statement(
        {"a_state_is_kept": divides(design.grid(c), tokens)}, node(c, tokens) == tokens
    )
