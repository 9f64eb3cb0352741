"""How often a finished request leaves a state on the wrong node under the default flags: fault 1 of docs/found.md.

A boundary is a length that the decode grid divides.  The step at boundary `b` writes a slot; the step at the next one
writes the same slot, unless exactly one swap lies between their launches: that of the result at `b - 1`, where the step at
`b` was launched ahead of it, or that of the result at `b`, where nothing was.  So the slot is written over if these two
results differ in whether a step was launched ahead, and, where the step at `b` is the request's first, if the result
at `b` had one.  What is donated is wrong if the request ends in between: at the result of length `b + grid - 1`, with the
step at `b + grid` launched ahead of it.
Source of the rule: `swap_follows_the_lookahead` (SGLang 0.5.18 to 0.5.23, eager slots, overlap, no speculation).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """What is assumed of requests: prompts alike over all lengths modulo the grid, decode steps geometric.

    `grid`: tokens between decode checkpoints; `mean_steps`: decode steps of a request; `nothing_ahead`: share of results
    that are processed with no later step of their request launched, each independently of the others.
    """

    grid: int
    mean_steps: float
    nothing_ahead: float

    @property
    def goes_on(self) -> float:
        """The chance that a request has one step more."""
        return 1 - 1 / self.mean_steps

    @property
    def passes_a_boundary(self) -> float:
        """The chance that a request passes a boundary in decode."""
        return (1 - self.goes_on**self.grid) * self.mean_steps / self.grid

    @property
    def leaves_a_wrong_state(self) -> float:
        """The chance that what a request donates at its end was written over."""
        ahead = 1 - self.nothing_ahead
        differ = 2 * self.nothing_ahead * ahead
        # Of each residue of the prompt one number of steps in a grid's worth ends at such a length; the
        # first of all these, `grid` steps after a prompt that ends just before a boundary, is the exception above.
        ends_there = self.goes_on ** (self.grid - 1) / self.grid
        first = ends_there / self.mean_steps
        return ahead * (differ * (ends_there - first) + ahead * first)

    @property
    def one_in(self) -> float:
        """Requests that pass a boundary, for each that leaves a wrong state."""
        return self.passes_a_boundary / self.leaves_a_wrong_state
