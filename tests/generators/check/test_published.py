"""Every published configuration has, for every release, the verdict of the rules run on plain numbers."""

import math

import pytest

from generators.check.published import configurations, verdicts
from spec.sglang.checkpoints import (
    decode_checkpoint,
    extend_checkpoint,
    misplaced,
    verify_checkpoint,
)
from spec.sglang.releases import DESIGNS, RELEASES
from spec.sglang.rules import grids

ALL = list(configurations())


def wrong_decode(design, c):
    """A depth within two common periods of the grids at which decode misplaces a state."""
    grid = int(design.grid("decode", c))
    end = 2 * math.lcm(grid, grids.tree_page(c))
    return any(
        misplaced(design, c, decode_checkpoint(design, c, n)) for n in range(grid, end, grid)
    )


def wrong_verify(design, c):
    grid = int(design.grid("verify", c))
    end = 2 * math.lcm(grid, grids.tree_page(c))
    return any(
        misplaced(design, c, verify_checkpoint(design, c, n - 1, 1)) for n in range(grid, end, grid)
    )


def wrong_extend(design, c):
    """An extend over a few grid steps, from prefixes around pages and chunks, that is misplaced or stopped."""
    page, chunk, grid = grids.tree_page(c), grids.cache_chunk_size(c), int(design.grid("extend", c))
    # Pieces of a prompt end on the page of one rank; no published launch mixes decode steps with them.
    step = page if c.chunked_prefill_size == -1 else c.page_size
    near = {
        0,
        1,
        c.page_size,
        c.mamba_chunk_size,
        chunk,
        page,
        page + 1,
        page + c.mamba_chunk_size,
        page + chunk,
    }
    for prefix in (p for p in near if p % step == 0):
        for length in (grid, grid + 1, grid + c.mamba_chunk_size, 2 * grid, page + chunk + 1):
            checkpoint = extend_checkpoint(design, c, prefix, prefix + length)
            if checkpoint.fault or misplaced(design, c, checkpoint):
                return True
    return False


def modelled(design, launch):
    """Verdict and readers, slots left out, by running the rules; None where nothing is said by them."""
    c = launch.configuration
    since = launch.facts and launch.facts.model.since
    if launch.unmodelled or (since and RELEASES.index(design.release) < RELEASES.index(since)):
        return None
    if not all(guard.accepts(c) for guard in design.guards):
        return "rejected", {}
    if c.strategy == "no_buffer":
        return None
    readers = {"decode": wrong_decode(design, c), "extend": wrong_extend(design, c)}
    if c.speculates:
        readers["verify"] = wrong_verify(design, c)
    return ("unsafe" if any(readers.values()) else "safe"), readers


def test_there_are_all_of_them():
    assert len(ALL) == 53 and len({one.id for one in ALL}) == 53


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.id)
def test_the_verdicts_are_those_of_the_model(one):
    for release, judgement in verdicts(one).items():
        expected = modelled(DESIGNS[f"sglang-{release}"], one.launch)
        if expected is None:
            assert judgement.verdict == "not_modelled", release
            continue
        verdict, readers = expected
        beyond = {producer for flag in one.launch.facts.beyond for producer in flag.producers}
        for reader, wrong in readers.items():
            right = "not_modelled" if reader in beyond else "safe"
            assert judgement.producers[reader] == ("unsafe" if wrong else right), (release, reader)
        # The slots are judged by other rules; what the grids decide is never made better by them.
        if verdict == "safe" and beyond:
            verdict = "not_modelled"
        assert judgement.verdict == verdict or (
            verdict != "unsafe" and judgement.producers["slots"] == "unsafe"
        )
