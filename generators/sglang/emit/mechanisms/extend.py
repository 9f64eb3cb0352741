"""Extend: the depth and the state it donates, and what a follower of a prefill in two chunks is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang import codes
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import (
    CASES,
    ENGINE,
    MODEL,
    Check,
    Mechanism,
    completed,
    lands,
    numbers,
    on,
)
from spec.numbers import Truth, divides
from spec.sglang.releases import Design
from spec.sglang.rules import extend, grids

# The lengths of the report that led to the absolute rule (PR 39115): a first chunk of 64 tokens, then 605.
REPORTED = (64, 605)


def _chunks(case: Case) -> tuple[int, int]:
    """Prefix and end (tokens) of the last extend of a case."""
    extends = [e for e in case.trace if e.event == "extend"]
    end = extends[-1].seq_len
    return end - extends[-1].tokens, end


def _donations(design: Design, c: Any, prefix: int, end: int) -> list[tuple[Any, ...]]:
    """Recorded depth, state (tokens) and fault of each chunk of a prefill cut at `prefix`."""
    chunks = [(0, prefix), (prefix, end)] if prefix else [(0, end)]
    return [tuple(expectations.extend(design, c, *chunk).values()) for chunk in chunks]


def _donates_nameable(page: int) -> Callable[[Any], bool]:
    def passes(seen: dict[str, Any]) -> bool:
        right_row = not seen["fault"] and seen["donated"] == seen["state"]
        return right_row and (seen["donated"] or 0) % page == 0

    return passes


def _known(prefix: int, end: int, **configuration: int) -> Instance:
    return Instance({**spaces.DEFAULTS, **configuration}, {"prefix": prefix, "end": end}, "tiny")


_KNOWN = (
    # A prompt of 5,000 tokens whose second chunk ends off the page, as the scheduler cuts it with mixed chunks.
    _known(4031, 5000),
    # The prefix is off the page that DCP widens.
    _known(*REPORTED, dcp_size=8),
    # The prefix is off the chunk, and a row before the last is wanted.
    _known(48, 605, page_size=16, dcp_size=3),
    # The page is longer than the model's chunk.
    _known(0, 200, page_size=128),
)


def _prefills(
    cases: Sequence[Case], instances: Sequence[Instance]
) -> Iterator[tuple[Mapping[str, Any], int, int, str]]:
    """Configuration, prefix, end, tier."""
    for case in cases:
        for prefix, end in (_chunks(case), REPORTED):
            yield case.configuration, prefix, end, CASES
    for instance in instances:
        lengths = instance.lengths
        yield instance.configuration, lengths["prefix"], lengths["end"], instance.tier


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    donated, followers = [], []
    for configuration, prefix, end, tier in _prefills(cases, instances):
        name = f"{spelled(configuration)}-from{prefix}-to{end}"
        c = expectations.configuration(completed(configuration))
        arguments = {"configuration": numbers(configuration), "prefix": prefix, "end": end}
        facts = on(_donations, c, prefix, end)
        observe, nameable = (
            on(expectations.extend, c, prefix, end),
            _donates_nameable(grids.tree_page(c)),
        )
        donated.append(Check(name, arguments, observe, nameable, facts, tier))
        observe = on(expectations.follower_after_extend, c, prefix, end)
        cached = (prefix or end) >= grids.checkpoint_grid(c)
        followers.append(Check(name, arguments, observe, lands(cached), facts, tier))
    return {
        "test_an_extend_donates_a_depth_the_tree_can_name": donated,
        "test_a_follower_of_a_prefill_resumes_where_its_state_stopped": followers,
    }


def _prefix_on(grid: Callable[[Any], Any]) -> Callable[..., Truth]:
    return lambda c, prefix, end: divides(grid(c), prefix)


_LENGTHS = (
    *(
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        8,
        9,
        12,
        63,
        64,
        65,
        127,
        128,
        129,
        192,
        255,
        256,
        257,
        320,
        384,
        511,
        512,
    ),
    *(513, 576, 605, 640, 768, 1023, 1024, 1025, 1100, 1280, 1536, 1600),
)
MECHANISM = Mechanism(
    "extend",
    _groups,
    (codes.EXTEND_PREFIX, codes.EXTEND_GRID, codes.EXTEND_ROW, codes.EXTEND_ASSERTION),
    Space(
        "extend",
        spaces.CONFIGURATIONS,
        {"prefix": _LENGTHS, "end": _LENGTHS[1:]},
        {**spaces.ACCEPTED, "tokens_are_computed": lambda c, prefix, end: end > prefix},
        {
            "dcp_widens_the_page": spaces.dcp_widens_the_page,
            "page_is_above_the_chunk": spaces.page_is_above_the_chunk,
            "starts_on_the_tree_page": _prefix_on(grids.tree_page),
            "starts_on_the_cache_chunk": _prefix_on(grids.cache_chunk_size),
            "starts_on_the_checkpoint_grid": _prefix_on(grids.checkpoint_grid),
            "ends_on_the_checkpoint_grid": lambda c, prefix, end: divides(
                grids.checkpoint_grid(c), end
            ),
            "is_as_long_as_the_checkpoint_grid": lambda c, prefix, end: (
                end - prefix >= grids.checkpoint_grid(c)
            ),
            "passes_the_checkpoint_grid": lambda c, prefix, end: (
                extend.absolute_depth(grids.checkpoint_grid(c), prefix, end) > prefix
            ),
        },
        spaces.FACTS,
    ),
    (MODEL, ENGINE),
    tells=lambda case: case.trace[0].event == "extend",
    known=_KNOWN,
)
