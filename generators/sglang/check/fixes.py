"""Changes to the flags of a launch: what may be tried, and the words of the launch with a change made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from generators.check.findings import Judgement
from generators.launch.words import Word
from generators.sglang.launch.flags import FLAGS, LARGEST, SWITCHES, field_of
from generators.sglang.launch.resolve import Launch
from spec.sglang.configuration import Configuration
from spec.sglang.rules import grids

# A flag with the value it is given; with None it is left out.
Flags = Mapping[str, str | None]
INTERVAL, CHUNKED, PAGE = "--mamba-track-interval", "--chunked-prefill-size", "--page-size"
STRATEGY, NO_OVERLAP, DCP = (
    "--mamba-radix-cache-strategy",
    "--disable-overlap-schedule",
    "--dcp-size",
)
MIXED, WRITE_POLICY = "--enable-mixed-chunk", "--hicache-write-policy"
# What takes a known fault away where no value of a flag does: flags to leave out, by the producer that is wrong.
_LEFT_OUT = {
    "host": ("hicache_storage_backend", "enable_hierarchical_cache"),
    "sessions": ("enable_streaming_session",),
}


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
    """Chunks of whole pages; never a prompt in one piece, which may be longer than memory allows."""
    size = c.chunked_prefill_size
    whole = [_at_least(size, c.page_size)] if size and size > 0 and size % c.page_size else []
    return [{CHUNKED: str(n)} for n in whole]


def _cuts(c: Configuration, mixes: bool) -> list[Flags]:
    """Changes for a prompt that is cut off the page or off the model's chunk, the mildest first."""
    unmixed: list[Flags] = [{MIXED: None}] if mixes else []
    whole_chunks: list[Flags] = []
    if c.page_size < c.mamba_chunk_size:
        whole_chunks.append({PAGE: str(c.mamba_chunk_size)})
    pages = [*_pages(c), *whole_chunks]
    return [*unmixed, *pages, *_pairs(unmixed, pages)]


def _left_out(launch: Launch, producer: str) -> list[Flags]:
    """The launch without the flags by which a producer is wrong, one more of them each time."""
    given = [name for name in _LEFT_OUT[producer] if name in launch.settings]
    flags = [(FLAGS.get(name) or SWITCHES[name])[0] for name in given]
    milder: list[Flags] = []
    if launch.value("hicache_write_policy") == "write_back":
        milder.append({WRITE_POLICY: "write_through"})
    return [*milder, *(dict.fromkeys(flags[: n + 1]) for n in range(len(flags)))]


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


def _joined(changes: Iterable[Flags]) -> dict[str, str | None]:
    return {flag: value for change in changes for flag, value in change.items()}


def candidates(judgement: Judgement, launch: Launch, mixes: bool = False) -> Iterator[Flags]:
    """Changes that may mend what was found, the mildest first; each mechanism that is wrong has its own.

    `mixes`: whether decode steps share batches with pieces of prompts.
    """
    c, readers = judgement.configuration, judgement.readers
    if judgement.verdict == "rejected":
        yield from _that_start(c)
        return
    groups: list[list[Flags]] = []
    if "unsafe" in (readers.get("decode"), readers.get("verify")):
        groups.append(_intervals(c))
    if readers.get("extend") == "unsafe":
        groups.append(_cuts(c, mixes))
    if readers.get("slots") == "unsafe":
        groups.append([*_spaced(c), *_strategies(c)])
    groups += [_left_out(launch, p) for p in _LEFT_OUT if readers.get(p) == "unsafe"]
    if judgement.verdict == "inert":
        groups.append(_pages(c))
    for combination in itertools.product(*groups) if groups else ():
        yield _joined(combination)


def changed(launch: Launch, flags: Flags) -> list[Word]:
    """The words of a launch with these flags set: in place where they stand, else at the end; None takes one out."""
    words = list(launch.words)
    for flag, value in flags.items():
        setting = launch.settings.get(field_of(flag))
        if value is None:
            gone = (setting.flag, setting.holder) if setting else ()
            words = [w for w in words if not any(w is g for g in gone)]
        elif setting is None:
            words += [Word(flag), Word(value)] if value else [Word(flag)]
        else:
            words = [w if w is not setting.holder else setting.holding(value) for w in words]
    return words
