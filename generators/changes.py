"""Changes to the flags of a launch: what may be tried, and the words of the launch with a change made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from generators.flags import LARGEST, field_of
from generators.judgements import Judgement
from generators.launch import Launch
from generators.words import Word
from spec.sglang.configuration import Configuration
from spec.sglang.rules import grids

Flags = Mapping[str, str]
INTERVAL, CHUNKED, PAGE = "--mamba-track-interval", "--chunked-prefill-size", "--page-size"
STRATEGY, NO_OVERLAP, DCP = (
    "--mamba-radix-cache-strategy",
    "--disable-overlap-schedule",
    "--dcp-size",
)


def _at_least(least: int, step: int) -> int:
    """The smallest multiple of `step` that is not below `least`."""
    return -(-least // step) * step


def _intervals(c: Configuration) -> list[Flags]:
    """Intervals on the grids, the nearest first (tokens)."""
    least = max(c.mamba_track_interval, c.speculative_num_draft_tokens)
    if c.recurrence == "mamba2":
        least = max(least, c.mamba_chunk_size)
    steps = (c.page_size, grids.tree_page(c), grids.checkpoint_grid(c))
    found = [_at_least(least, step) for step in steps]
    found.append(math.lcm(grids.tree_page(c), c.mamba_track_interval))
    others = (n for n in dict.fromkeys(found) if n != c.mamba_track_interval)
    return [{INTERVAL: str(n)} for n in others if n <= LARGEST]


def _prefills(c: Configuration) -> list[Flags]:
    size = c.chunked_prefill_size
    whole = [_at_least(size, c.page_size)] if size and size > 0 and size % c.page_size else []
    return [{CHUNKED: str(n)} for n in [*whole, -1] if n != size]


def _strategies(c: Configuration) -> list[Flags]:
    named = [s for s in ("extra_buffer", "extra_buffer_lazy") if s != c.strategy]
    lazily: list[Flags] = [{STRATEGY: s} for s in named]
    # Without the overlap scheduler the engine's own choice of a strategy may be another one.
    without = [{NO_OVERLAP: ""}, {NO_OVERLAP: "", STRATEGY: "extra_buffer"}]
    return [*lazily, *without] if c.overlap else lazily


def _spaced(c: Configuration) -> list[Flags]:
    """The nearest interval (tokens) that two verifies in a row cannot pass twice."""
    least = _at_least(
        max(c.mamba_track_interval, 2 * c.speculative_num_draft_tokens), grids.checkpoint_grid(c)
    )
    fits = c.speculates and c.mamba_track_interval < least <= LARGEST
    return [{INTERVAL: str(least)}] if fits else []


def _ranks(c: Configuration) -> list[Flags]:
    """Ranks that divide the tensor-parallel ones, where they do not."""
    if c.tp_size is None or c.tp_size % c.dcp_size == 0:
        return []
    return [{DCP: str(math.gcd(c.tp_size, c.dcp_size))}]


def _pages(c: Configuration) -> list[Flags]:
    """Pages that divide the model's chunk: one that the present page is a multiple of, then one token."""
    fitting = dict.fromkeys((math.gcd(c.page_size, c.mamba_chunk_size), 1))
    return [{PAGE: str(n)} for n in fitting if n != c.page_size]


def _pairs(first: Iterable[Flags], second: Sequence[Flags]) -> list[Flags]:
    """Every change of the first kind with every one of the second."""
    return [_joined(pair) for pair in itertools.product(first, second)]


def _that_start(c: Configuration) -> list[Flags]:
    """Changes for what a guard refuses, fewer flags first; the page is left as it is where that is enough."""
    kinds = ([{}, *_intervals(c)], [{}, *_prefills(c)], [{}, *_strategies(c)], [{}, *_ranks(c)])
    combined = [_joined(changes) for changes in itertools.product(*kinds)]
    few = sorted((flags for flags in combined if flags), key=len)
    return [*few, *_pages(c), *_pairs(_pages(c), _prefills(c))]


def _joined(changes: Iterable[Flags]) -> dict[str, str]:
    return {flag: value for change in changes for flag, value in change.items()}


def candidates(judgement: Judgement) -> Iterator[Flags]:
    """Changes that may mend what was found, the mildest first; each mechanism that is wrong has its own."""
    c, readers = judgement.configuration, judgement.readers
    if judgement.verdict == "rejected":
        yield from _that_start(c)
        return
    prefills, pages = _prefills(c), _pages(c)
    groups: list[list[Flags]] = []
    if "unsafe" in (readers.get("decode"), readers.get("verify")):
        groups.append(_intervals(c))
    if readers.get("extend") == "unsafe":
        groups.append([*prefills, *pages, *_pairs(pages, prefills)])
    if readers.get("slots") == "unsafe":
        groups.append([*_spaced(c), *_strategies(c)])
    if judgement.verdict == "inert":
        groups.append(pages)
    for combination in itertools.product(*groups) if groups else ():
        yield _joined(combination)


def changed(launch: Launch, flags: Flags) -> list[Word]:
    """The words of a launch with these flags set: in place where they stand, else at the end."""
    words = list(launch.words)
    for flag, value in flags.items():
        setting = launch.settings.get(field_of(flag))
        if setting is None:
            words += [Word(flag), Word(value)] if value else [Word(flag)]
        else:
            words = [w if w is not setting.holder else setting.holding(value) for w in words]
    return words
