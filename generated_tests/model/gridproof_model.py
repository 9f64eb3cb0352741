"""A serving engine reduced to counting tokens: what a request leaves to one that follows it.

Set GRIDPROOF_DESIGN to the design to be tested; left out, it is sglang-0.5.23.
"""

import math
import os
from dataclasses import dataclass, field

DESIGN = os.environ.get("GRIDPROOF_DESIGN", "sglang-0.5.23")


@dataclass(frozen=True)
class Configuration:
    """What a launch decides; `dcp_size` in ranks, all else in tokens."""

    page_size: int
    dcp_size: int
    mamba_track_interval: int
    mamba_chunk_size: int

    @property
    def tree_page(self):
        """Tokens a node of the radix tree is a multiple of."""
        return self.page_size * self.dcp_size

    @property
    def checkpoint_grid(self):
        """The least number of tokens that is whole tree pages and whole chunks."""
        return math.lcm(self.tree_page, max(self.mamba_chunk_size, self.page_size))

    @property
    def track_grid(self):
        """The least number of tokens that is whole intervals as well."""
        return math.lcm(self.checkpoint_grid, self.mamba_track_interval)


@dataclass
class State:
    """A recurrent state that knows no more of itself than how many tokens it has consumed."""

    consumed: int = 0

    def step(self, tokens):
        """Consume that many tokens."""
        self.consumed += tokens

    def snapshot(self):
        """A copy that later steps leave alone."""
        return State(self.consumed)


@dataclass
class Tree:
    """A radix tree whose nodes lie at whole pages; a node that has a state keeps it."""

    page: int
    states: dict = field(default_factory=dict)

    def insert(self, depth, state):
        """Hang a state on the node that its recorded depth is cut to; none below a page."""
        node = depth // self.page * self.page
        if node:
            self.states.setdefault(node, state)

    def match(self, length):
        """The deepest node with a state within a length, and a copy of its state."""
        within = [node for node in self.states if node <= length]
        if not within:
            return 0, State()
        return max(within), self.states[max(within)].snapshot()


def decode(prompt, stop, grid):
    """Decode one token at a time; the snapshots taken at multiples of a grid, by recorded depth."""
    state, snapshots = State(prompt), {}
    for length in range(prompt + 1, stop + 1):
        state.step(1)
        if length % grid == 0:
            snapshots[length] = state.snapshot()
    return snapshots


def verify(before, accepted, grid):
    """Accept draft tokens at once; the state saved at the last multiple of a grid, if any."""
    state, saved = State(before), None
    for length in range(before + 1, before + accepted + 1):
        state.step(1)
        if length % grid == 0:
            saved = state.snapshot()
    return saved


def follower(tree, length):
    """Resume from the tree and consume the rest: the node, and the tokens consumed in all."""
    node, state = tree.match(length)
    state.step(length - node)
    return node, state.consumed
