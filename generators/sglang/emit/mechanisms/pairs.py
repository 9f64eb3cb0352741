"""Pairs: one verify of two requests, and the state that it saves for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import spaces, verify
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, numbers, on
from spec.numbers import Truth, both
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.sglang.rules import verify as rules


def _saved(design: Design, c: Any, rows: Sequence[tuple[int, int]]) -> list[int | None]:
    return [expectations.verify_snapshot(design, c, *row) for row in rows]


def _each_saves(c: Any, rows: Sequence[tuple[int, int]]) -> Callable[[Any], bool]:
    page, grid = int(grids.tree_page(c)), int(grids.track_grid(c))
    right = [verify.saves_what_it_should(page, grid, *row) for row in rows]
    return lambda seen: all(passes(saved) for passes, saved in zip(right, seen, strict=True))


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c = expectations.configuration(launch)
        rows = [(n["first"], n["first_accepts"]), (n["second"], n["second_accepts"])]
        words = "-then-".join(f"from{pre}-accept{accepted}" for pre, accepted in rows)
        checks.append(
            Check(
                f"{spelled(launch)}-{words}",
                {
                    "configuration": numbers(launch),
                    "rows": rows,
                    "draft_tokens": c.speculative_num_draft_tokens,
                },
                on(_saved, c, rows),
                _each_saves(c, rows),
                tier=instance.tier,
            )
        )
    return {"test_a_verify_of_two_requests_saves_the_state_of_each": checks}


def _crosses(which: str) -> Callable[..., Truth]:
    return lambda c, **n: rules.crosses(grids.track_grid(c), n[which], n[f"{which}_accepts"])


_DRAFT_TOKENS = 8
_LENGTHS = (100, 191, 250, 255, 508, 763)
_SIZES = (1, 4, 8)
_NAMES = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")
MECHANISM = Mechanism(
    "pairs",
    _groups,
    space=Space(
        "pairs",
        [
            {
                **dict(zip(_NAMES, values, strict=True)),
                "speculative_num_draft_tokens": _DRAFT_TOKENS,
            }
            for values in ((64, 1, 256, 64), (64, 8, 256, 64), (16, 3, 48, 64))
        ],
        {
            "first": _LENGTHS,
            "first_accepts": _SIZES,
            "second": _LENGTHS,
            "second_accepts": _SIZES,
        },
        {
            **spaces.ACCEPTED,
            "only_draft_tokens_are_accepted": lambda c, **n: both(
                *(
                    n[name] <= c.speculative_num_draft_tokens
                    for name in ("first_accepts", "second_accepts")
                )
            ),
        },
        {
            "dcp_widens_the_page": spaces.dcp_widens_the_page,
            "the_first_crosses": _crosses("first"),
            "the_second_crosses": _crosses("second"),
            "they_accept_alike": lambda c, **n: n["first_accepts"] == n["second_accepts"],
            "they_start_alike": lambda c, **n: n["first"] == n["second"],
        },
    ),
)
