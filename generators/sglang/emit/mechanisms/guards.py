"""Start-up guards: which launches the engine refuses."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Predicate, Space
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import (
    Check,
    Mechanism,
    NotComparable,
    completed,
    numbers,
    on,
)
from spec.engine import Guard
from spec.sglang.configuration import STRATEGIES
from spec.sglang.guards import (
    PREFILL_COVERS_A_CACHE_CHUNK,
    interval_covers_draft_tokens,
)
from spec.sglang.releases import CURRENT, DESIGNS, Design

_NUMBERS = (
    # page, dcp, interval, chunk
    *((64, 8, 256, 64), (64, 1, 256, 64), (1, 1, 256, 64), (1, 8, 256, 64), (64, 8, 256, 128)),
    *((64, 1, 320, 96), (64, 1, 96, 64), (64, 8, 96, 64), (1, 1, 32, 64), (1, 8, 32, 64)),
    *((64, 1, 96, 96), (64, 8, 96, 96), (64, 8, 32, 64), (64, 1, 32, 64), (64, 1, 48, 96)),
    *((64, 8, 48, 96), (16, 1, 48, 64), (16, 8, 48, 64), (64, 1, 64, 96), (64, 8, 64, 96)),
    *((64, 1, 32, 96), (64, 8, 32, 96), (64, 1, 96, 128), (64, 8, 96, 128), (64, 1, 64, 128)),
    (64, 8, 48, 64),
)
_FIELDS = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")


def _configurations() -> Iterator[dict[str, Any]]:
    """Launches of every strategy, with and without each of the other settings that a guard reads."""
    settings = itertools.product(
        (True, False),  # the page is given
        ("gdn", "mamba2"),
        ((0, None), (40, "EAGLE"), (40, "DFLASH")),
        (8, 6),
        (-1, 96),
        STRATEGIES,
        (True, False),
    )
    for given, recurrence, (drafts, algorithm), tp_size, prefill, strategy, overlap in settings:
        for values in _NUMBERS:
            yield {
                **dict(zip(_FIELDS, values, strict=True)),
                "speculative_num_draft_tokens": drafts,
                "speculative_algorithm": algorithm,
                "strategy": strategy,
                "overlap": overlap,
                "page_size_given": given,
                "recurrence": recurrence,
                "tp_size": tp_size,
                "chunked_prefill_size": prefill,
            }


def outcome(design: Design, c: Any) -> str:
    return "starts" if all(guard.accepts(c) for guard in design.guards) else "refused"


def _name(launch: Mapping[str, Any]) -> str:
    """A launch as a test's id: what differs from the defaults is spelled."""
    words = [spelled(launch), launch["strategy"].replace("_", "-")]
    words += [] if launch["overlap"] else ["without-overlap"]
    words += [] if launch["page_size_given"] else ["page-not-given"]
    if algorithm := launch["speculative_algorithm"]:
        words.append(f"{algorithm.lower()}{launch['speculative_num_draft_tokens']}")
    words.append(f"{launch['recurrence']}-tp{launch['tp_size']}")
    if launch["chunked_prefill_size"] > 0:
        words.append(f"prefill{launch['chunked_prefill_size']}")
    return "-".join(words)


def _check(instance: Instance) -> Check:
    launch = completed(instance.configuration)
    c = expectations.configuration(launch)
    fits = outcome(CURRENT, c)
    return Check(
        _name(launch),
        {
            "configuration": {**numbers(launch), "strategy": c.strategy, "overlap": c.overlap},
            "page_size_given": c.page_size_given,
            "draft_tokens": c.speculative_num_draft_tokens,
            "algorithm": launch["speculative_algorithm"],
            "recurrence": c.recurrence,
            "tp_size": c.tp_size,
            "chunked_prefill_size": c.chunked_prefill_size,
            "fits": fits == "starts",
        },
        on(outcome, c),
        lambda observed: observed == fits,
        tier=instance.tier,
    )


# Refused by 0.5.17 alone.
_LAZY_DFLASH = Instance(
    next(
        launch
        for launch in _configurations()
        if launch["strategy"] == "extra_buffer_lazy"
        and launch["speculative_algorithm"] == "DFLASH"
        and all(guard.accepts(SimpleNamespace(**launch)) for guard in CURRENT.guards)
    ),
    {},
    "tiny",
)


_DEFAULT = {
    **spaces.DEFAULTS,
    "speculative_num_draft_tokens": 0,
    "speculative_algorithm": None,
    "recurrence": "gdn",
    "tp_size": 8,
    "chunked_prefill_size": -1,
}
# Each is refused by one guard alone.
_REFUSED = (
    {**_DEFAULT, "strategy": "extra_buffer_lazy", "overlap": False},
    {**_DEFAULT, "mamba_track_interval": 96},
    {**_DEFAULT, "dcp_size": 8, "tp_size": 6},
)
# Files of guards that are reached when the weights have been loaded.
_BEHIND_THE_WEIGHTS = ("mem_cache/", "layers/")


def _refused_where(design: Design, c: Any) -> str:
    """Whether the first guard to refuse a launch stands before the weights are loaded."""
    refusing = [guard for guard in design.guards if not guard.accepts(c)]
    behind = all(guard.source.startswith(_BEHIND_THE_WEIGHTS) for guard in refusing)
    return f"{'behind' if behind else 'before'} the weights"


def _early(launch: Mapping[str, Any]) -> Check:
    c = expectations.configuration(completed(launch))
    found = _check(Instance(launch, {}, "tiny"))
    arguments = {name: value for name, value in found.arguments.items() if name != "fits"}
    passes = "before the weights".__eq__
    return replace(found, arguments=arguments, observe=on(_refused_where, c), passes=passes)


_DRAFTS = "speculative_num_draft_tokens"
NGRAM_DRAFTS = 12  # tokens, where none are given


def _draft_tokens(design: Design, c: Any, given: int | None) -> int | None:
    """The draft tokens that NGRAM ends with; the guard compares what is given, before they are set."""
    covered = interval_covers_draft_tokens(SimpleNamespace(**{**vars(c), _DRAFTS: given or 0}))
    return (given or NGRAM_DRAFTS) if covered else None


def _ngram(interval: int, given: int | None) -> Check:
    launch = completed({**_DEFAULT, "page_size": 1, "mamba_track_interval": interval})
    c = expectations.configuration(launch)
    return Check(
        f"{spelled(launch)}-ngram-{given or 'none'}-given",
        {
            "configuration": {**numbers(launch), "strategy": c.strategy, "overlap": c.overlap},
            "algorithm": "NGRAM",
            "draft_tokens": given,
        },
        on(_draft_tokens, c, given),
        lambda tokens: tokens is None or tokens <= interval,
        tier="tiny",
    )


# Page, DCP, prefill chunk (tokens), strategy.
_CUT = (
    *((16, 2, 32, "extra_buffer_lazy"), (16, 2, 48, "extra_buffer"), (128, 2, 128, "extra_buffer")),
    *((16, 2, 64, "extra_buffer_lazy"), (16, 1, 32, "extra_buffer"), (16, 2, -1, "extra_buffer")),
)


def _outcome_where_prompts_are_cut_on_a_grid(design: Design, c: Any) -> str:
    if PREFILL_COVERS_A_CACHE_CHUNK not in design.guards:
        raise NotComparable
    return outcome(design, c)


def _cut(page: int, dcp: int, prefill: int, strategy: str) -> Check:
    """A launch that nothing but its prefill chunk can keep from starting."""
    launch = {**_DEFAULT, "page_size": page, "dcp_size": dcp, "strategy": strategy}
    found = _check(Instance({**launch, "chunked_prefill_size": prefill}, {}, "tiny"))
    c = expectations.configuration(completed({**launch, "chunked_prefill_size": prefill}))
    names = ("configuration", "chunked_prefill_size", "fits")
    arguments = {name: found.arguments[name] for name in names}
    return replace(
        found, arguments=arguments, observe=on(_outcome_where_prompts_are_cut_on_a_grid, c)
    )


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    return {
        "test_a_launch_starts_exactly_when_it_fits": [
            _check(instance) for instance in (_LAZY_DFLASH, *instances)
        ],
        "test_a_launch_that_does_not_fit_is_refused_before_its_weights_are_loaded": [
            _early(launch) for launch in _REFUSED
        ],
        "test_the_interval_covers_the_draft_tokens_that_a_launch_ends_with": [
            _ngram(interval, given) for interval, given in ((8, None), (64, None), (8, 12))
        ],
        "test_a_prefill_chunk_is_refused_in_which_no_prompt_can_be_cut": [
            _cut(*launch) for launch in _CUT
        ],
    }


def _accepts(guard: Guard) -> Predicate:
    return lambda c, **_: guard.accepts(c)


_GUARDS = {guard.name: guard for design in DESIGNS.values() for guard in design.guards}
# What a release may accept because its prompts are cut elsewhere has a test of its own.
_GUARDS.pop(PREFILL_COVERS_A_CACHE_CHUNK.name)
MECHANISM = Mechanism(
    "guards",
    _groups,
    space=Space(
        "guards",
        tuple(_configurations()),
        {},
        {PREFILL_COVERS_A_CACHE_CHUNK.name: _accepts(PREFILL_COVERS_A_CACHE_CHUNK)},
        {name: _accepts(guard) for name, guard in _GUARDS.items()},
    ),
)
