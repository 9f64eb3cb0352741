"""Where a scheduler can cut a prompt into pieces, and which faults of an extend such cuts can reach.

The first piece ends on the page, and so does every further one while it takes a whole `--chunked-prefill-size`, which
is whole pages.  A piece after the first ends anywhere where decode steps of other requests take a part of that size
(`--enable-mixed-chunk`), or where less memory than that is left.
Source: SGLang 0.5.17 to 0.5.23, `managers/schedule_policy.py` (`PrefillAdder`), `managers/scheduler.py`,
`managers/scheduler_components/dynamic_chunk_sizer.py` (multiples of the page).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy

from generators.cases.file_format import Event
from generators.launch.launch import Launch
from generators.search.configurations import WrongCheckpoint
from generators.sglang.check.conditions import mixes
from generators.sglang.search.producers import ExtendClass, find_extend
from spec.sglang.checkpoints import extend_checkpoint
from spec.sglang.configuration import Configuration
from spec.sglang.releases import Design
from spec.sglang.rules import cuts, grids

# Releases that fill a chunk to the token on AMD's gfx95, whatever the page.
_EXACT_FILL = ("0.5.20", "0.5.21")
# Tokens: the smallest chunk that the engine chooses by itself.
_SMALLEST_CHUNK = 2048
# Prefixes looked at for a cut on the page, and decoding requests for one off it: the rules repeat long before.
_MOST_PREFIXES = 1 << 12
_MOST_DECODING = 1 << 8


def with_whole_prefixes(design: Design, launch: Launch) -> Configuration:
    """The configuration; where every piece ends on the tree's page, one whose prefixes are whole tree pages."""
    c = launch.configuration
    on_the_tree_page = c.dcp_size == 1 and c.page_size > 1 and not mixes(design, launch)
    return replace(c, chunked_prefill_size=cuts.WHOLE_PROMPTS) if on_the_tree_page else c


def condition(design: Design) -> str:
    """When a piece ends off the page though the flags do not show it, as a clause."""
    exact = ", or where the GPU is an AMD gfx95" if design.release in _EXACT_FILL else ""
    return (
        "where a piece of a prompt ends off the page: with --enable-mixed-chunk, or where memory runs short between two "
        f"pieces{exact}"
    )


def cut(
    design: Design, launch: Launch, failure_class: ExtendClass, found: WrongCheckpoint
) -> tuple[WrongCheckpoint, str | None]:
    """An extend's failure where this scheduler can cut the prompt, and what that takes beside the flags, if anything."""
    c = launch.configuration
    if failure_class.prefix_on_page or c.page_size == 1:
        return found, None
    if (on_the_page := _cut_on_the_page(design, c, failure_class)) is not None:
        return on_the_page, None
    mixed = _cut_in_a_mixed_batch(design, c, failure_class)
    return mixed or found, None if mixes(design, launch) else condition(design)


def _cut_on_the_page(
    design: Design, c: Configuration, failure_class: ExtendClass
) -> WrongCheckpoint | None:
    """The shortest extend that fails in the way of a class from a prefix of whole configured pages."""
    prefixes = numpy.arange(1, min(c.dcp_size, _MOST_PREFIXES) + 1) * c.page_size
    lengths = _around(c, int(design.grid("extend", c)))
    starts, sizes = (a.ravel() for a in numpy.meshgrid(prefixes, lengths, indexing="ij"))
    hit = numpy.broadcast_to(failure_class.matches(design, c, starts, starts + sizes), starts.shape)
    where = numpy.flatnonzero(hit)
    if not len(where):
        return None
    shortest = where[numpy.argmin(starts[where] + sizes[where])]
    return find_extend(
        design, c, failure_class, int(starts[shortest]), int((starts + sizes)[shortest])
    )


def _around(c: Configuration, grid: int) -> numpy.ndarray:
    chunk = int(grids.cache_chunk_size(c))
    near = {m * grid + d for m in (1, 2) for d in (0, 1, c.mamba_chunk_size, chunk)}
    return numpy.array(sorted(near))


def _pieces(c: Configuration) -> Iterator[tuple[int, int]]:
    """Where the first two pieces of a prompt end (tokens) beside so many decoding requests."""
    size = c.chunked_prefill_size or -(-_SMALLEST_CHUNK // c.page_size) * c.page_size
    for decoding in range(1, min(c.page_size, size, _MOST_DECODING)):
        first = cuts.first_cut(c.page_size, size - decoding, 0)
        if first:
            yield first, cuts.next_cut(size - decoding, first)


def _cut_in_a_mixed_batch(
    design: Design, c: Configuration, failure_class: ExtendClass
) -> WrongCheckpoint | None:
    """A prompt whose third piece fails in the way of a class, its chunks shared with as few decoding requests as can be."""
    grid = int(design.grid("extend", c))
    for first, second in _pieces(c):
        for length in _around(c, grid):
            end = second + int(length)
            if failure_class.matches(design, c, second, end):
                found = find_extend(design, c, failure_class, second, end)
                return replace(found, trace=(*_events(design, c, first, second), *found.trace[1:]))
    return None


def _events(design: Design, c: Configuration, first: int, second: int) -> Iterator[Event]:
    for prefix, end in ((0, first), (first, second)):
        checkpoint = extend_checkpoint(design, c, prefix, end)
        depth = int(checkpoint.recorded) if checkpoint.saved else None
        yield Event("extend", end - prefix, end, snapshot_depth=depth)
