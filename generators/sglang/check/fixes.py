"""Changes to flags that may mend a launch, the mildest first: one function for each kind of finding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from generators.cases.codes import Flags
from generators.launch.launch import Launch
from generators.sglang.check.conditions import mixes
from generators.sglang.launch import options
from generators.sglang.launch.flag_classes import meant_by
from generators.sglang.launch.flags import LARGEST, spelling_of
from spec.sglang.configuration import Configuration
from spec.sglang.releases import Design
from spec.sglang.rules import grids

INTERVAL, CHUNKED, PAGE = "--mamba-track-interval", "--chunked-prefill-size", "--page-size"
STRATEGY, NO_OVERLAP, DCP = (
    "--mamba-radix-cache-strategy",
    "--disable-overlap-schedule",
    "--dcp-size",
)
MIXED, WRITE_POLICY = "--enable-mixed-chunk", "--hicache-write-policy"
LAZY = "extra_buffer_lazy"
# What a change costs, by flag, and by value where that matters.
LAZY_COST = (
    "slots are then allocated while requests run: if the pool of states is too small (--max-mamba-cache-size, "
    "--mem-fraction-static), it runs out and the server stops with 'Can not alloc mamba cache'"
)
_COSTS: dict[tuple[str, str | None], str] = {
    (STRATEGY, LAZY): LAZY_COST,
    (STRATEGY, "extra_buffer"): "every running request holds two more slots of the pool of states",
    (
        NO_OVERLAP,
        "",
    ): "decode steps become slower, as the scheduler no longer works while the GPU does",
    (MIXED, None): "decode steps wait for each piece of a prompt",
    (WRITE_POLICY, "write_through"): "every cached state is copied to host memory at once",
    ("--enable-hierarchical-cache", None): "evicted prefixes are computed again",
    (
        "--hicache-storage-backend",
        None,
    ): "prefixes of other servers and earlier runs are computed again",
    ("--enable-streaming-session", None): "each turn sends its whole prompt",
}
_COSTS_OF_ANY = {
    INTERVAL: "decode checkpoints are further apart, so that a hit computes more tokens again",
    CHUNKED: "each step of a prefill takes as many tokens, and as much memory, as it says",
    PAGE: "prefixes are matched in pages of another size, and attention backends may want one of their own",
    DCP: "each rank holds another share of the cached tokens",
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
    """Chunks of whole pages, and of a whole cache chunk; never a prompt in one piece, which may be longer than memory allows."""
    size = c.chunked_prefill_size
    if size is None or size < 1:
        return []
    least = max(size, grids.cache_chunk_size(c))
    whole = (_at_least(size, c.page_size), _at_least(least, c.page_size))
    return [{CHUNKED: str(n)} for n in dict.fromkeys(whole) if n != size]


def _without(launch: Launch, *fields: str) -> list[Flags]:
    """The launch without those of these flags that it has, one more of them each time."""
    flags = [spelling_of(name) for name in fields if name in launch.settings]
    return [dict.fromkeys(flags[: n + 1]) for n in range(len(flags))]


def _strategies(c: Configuration) -> list[Flags]:
    named = [s for s in ("extra_buffer", LAZY) if s != c.strategy]
    lazily: list[Flags] = [{STRATEGY: s} for s in named]
    # Without the overlap scheduler the engine's own choice of a strategy may be another one.
    without = [{NO_OVERLAP: ""}, {NO_OVERLAP: "", STRATEGY: "extra_buffer"}]
    return [*lazily, *without] if c.overlap else lazily


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


def _joined(changes: Iterable[Flags]) -> dict[str, str | None]:
    return {flag: value for change in changes for flag, value in change.items()}


def cost(flags: Flags) -> str | None:
    """What changing these flags costs, as clauses; None where nothing is known."""
    found = (
        _COSTS.get((flag, value)) or (_COSTS_OF_ANY.get(flag) if value is not None else None)
        for flag, value in flags.items()
    )
    return "; ".join(text for text in found if text) or None


def renamed(design: Design, launch: Launch) -> list[Flags]:
    """Flags that are gone under the names that the release has for them, alone and with other strategies."""
    new: dict[str, str | None] = {}
    for spelling, values in launch.facts.contested:
        to = options.successor(spelling, design.release)
        if to is not None and not meant_by(spelling, design.release):
            new |= {to: values[0] if values else "", spelling: None}
    if not new:
        return []
    return [new, *_pairs([new], _strategies(launch.configuration))]


def intervals(design: Design, launch: Launch) -> list[Flags]:
    """Intervals on the grids, the nearest first."""
    return _intervals(launch.configuration)


def cuts(design: Design, launch: Launch) -> list[Flags]:
    """Changes for a prompt that is cut off the page or off the model's chunk."""
    c = launch.configuration
    unmixed: list[Flags] = [{MIXED: None}] if mixes(design, launch) else []
    whole_chunks: list[Flags] = []
    if c.page_size < c.mamba_chunk_size:
        whole_chunks.append({PAGE: str(c.mamba_chunk_size)})
    others = [*_pages(c), *whole_chunks]
    return [*unmixed, *others, *_pairs(unmixed, others)]


def slots(design: Design, launch: Launch) -> list[Flags]:
    """The nearest interval that two verifies in a row cannot pass twice, then other strategies."""
    c = launch.configuration
    least = max(c.mamba_track_interval, 2 * c.speculative_num_draft_tokens)
    least = _at_least(least, grids.checkpoint_grid(c))
    fits = c.speculates and c.mamba_track_interval < least <= LARGEST
    spaced: list[Flags] = [{INTERVAL: str(least)}] if fits else []
    return [*spaced, *_strategies(c)]


def pages(design: Design, launch: Launch) -> list[Flags]:
    """Smaller pages."""
    return _pages(launch.configuration)


def that_start(design: Design, launch: Launch) -> list[Flags]:
    """Changes for what a guard refuses, fewer flags first; the page is left as it is where that is enough."""
    c = launch.configuration
    kinds = ([{}, *_intervals(c)], [{}, *_prefills(c)], [{}, *_strategies(c)], [{}, *_ranks(c)])
    combined = [_joined(changes) for changes in itertools.product(*kinds)]
    few = sorted((flags for flags in combined if flags), key=len)
    return [*few, *_pages(c), *_pairs(_pages(c), _prefills(c))]


def without_host(design: Design, launch: Launch) -> list[Flags]:
    """A milder write policy, then the launch without its storage backend and its hierarchical cache."""
    milder: list[Flags] = []
    if launch.value("hicache_write_policy") == "write_back":
        milder.append({WRITE_POLICY: "write_through"})
    return [*milder, *_without(launch, "hicache_storage_backend", "enable_hierarchical_cache")]


def without_sessions(design: Design, launch: Launch) -> list[Flags]:
    """The launch without streaming sessions."""
    return _without(launch, "enable_streaming_session")
