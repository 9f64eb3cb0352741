"""How often a wrong state is left: the closed form against every life of a request, acted out on the rules."""

from functools import cache
from itertools import product
from math import prod

import pytest

from generators.sglang.emit.stories import Story, donations
from spec.sglang.configuration import Configuration
from spec.sglang.fault_frequency import Traffic
from spec.sglang.releases import CURRENT, design_named
from spec.sglang.theorems.library import COMPLETED_SWAP

MOST_STEPS = 9


@cache
def lives(design_name, grid):
    """Whether a boundary is passed and a wrong state left, for each prompt and each order of up to so many results."""
    design = design_named(design_name)
    c = Configuration(page_size=1, dcp_size=1, mamba_chunk_size=1, mamba_track_interval=grid)
    assert design.grid("decode", c) == grid and c.overlap
    found = []
    for prompt, steps in product(range(grid, 2 * grid), range(1, MOST_STEPS + 1)):
        lengths = range(prompt + 1, prompt + steps + 1)
        passes = any(length % grid == 0 for length in lengths)
        for alone in product((False, True), repeat=steps):
            nothing_ahead_of = tuple(n for n, one in zip(lengths, alone, strict=True) if one)
            story = Story(prompt, lengths[-1], nothing_ahead_of, prompt_is_cached=False)
            (last,) = donations(design, c, story)
            found.append((alone, passes, bool(last.saved and last.state != last.recorded)))
    return found


def acted_out(traffic, design_name):
    """The chances that a request passes a boundary and leaves a wrong state, of those of few steps."""
    passing = wrong = 0.0
    for alone, passes, is_wrong in lives(design_name, traffic.grid):
        chance = traffic.goes_on ** (len(alone) - 1) / traffic.mean_steps / traffic.grid
        chance *= prod(traffic.nothing_ahead if one else 1 - traffic.nothing_ahead for one in alone)
        passing += chance * passes
        wrong += chance * is_wrong
    return passing, wrong


@pytest.mark.parametrize("nothing_ahead", [0.0, 0.15, 0.6])
@pytest.mark.parametrize("grid", [2, 3])
def test_the_closed_form_equals_the_rules_over_all_requests(grid, nothing_ahead):
    traffic = Traffic(grid, 1.5, nothing_ahead)
    passing, wrong = acted_out(traffic, CURRENT.name)
    left_out = traffic.goes_on**MOST_STEPS
    assert passing == pytest.approx(traffic.passes_a_boundary, abs=left_out)
    assert wrong == pytest.approx(traffic.leaves_a_wrong_state, abs=left_out)
    assert traffic.leaves_a_wrong_state > 100 * left_out


def test_the_proposed_swap_leaves_no_wrong_state():
    assert acted_out(Traffic(3, 1.5, 0.15), COMPLETED_SWAP)[1] == 0
