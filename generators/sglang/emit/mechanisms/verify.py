"""Speculative verify: the step whose state is saved, by each of the workers that have a commit of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang import codes
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import decode, spaces
from generators.sglang.emit.mechanisms.base import (
    CASES,
    ENGINE,
    MODEL,
    Check,
    Mechanism,
    completed,
    numbers,
    on,
    per_configuration,
)
from spec.numbers import Truth, both, divides, implies
from spec.sglang.releases import Design
from spec.sglang.rules import grids, verify

ALGORITHMS = (None, "DSPARK", "DFLASH")


def saves_what_it_should(page: int, grid: int, pre: int, accepted: int) -> Callable[[Any], bool]:
    """Whether the state saved is a node's, and one is saved where a depth on all grids was passed."""

    def passes(saved: int | None) -> bool:
        if saved is None:
            return not verify.crosses(grid, pre, accepted)
        return saved % page == 0

    return passes


def _grid(design: Design, c: Any) -> int:
    return int(design.grid("verify", c))


# A boundary of the interval is passed, between two nodes of the tree and at one.
KNOWN = tuple(
    Instance(
        {**spaces.DEFAULTS, "dcp_size": dcp, "speculative_num_draft_tokens": 8},
        {"pre": pre, "accepted": 1},
        "tiny",
    )
    for dcp, pre in ((8, 767), (1, 255))
)


def _verifies(cases: Sequence[Case], instances: Sequence[Instance]) -> Iterator[tuple]:
    """Configuration, length before, tokens accepted, tier."""
    for case in per_configuration(cases):
        tokens = completed(case.configuration)["speculative_num_draft_tokens"]
        for accepted in sorted({1, (tokens + 1) // 2, tokens}):
            for depth in decode.depths(case):
                yield completed(case.configuration), depth - (accepted + 1) // 2, accepted, CASES
    for instance in instances:
        for algorithm in ALGORITHMS:
            configuration = {**instance.configuration, "speculative_algorithm": algorithm}
            pre, accepted = instance.lengths["pre"], instance.lengths["accepted"]
            yield completed(configuration), pre, accepted, instance.tier


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for configuration, pre, accepted, tier in _verifies(cases, instances):
        c = expectations.configuration(configuration)
        algorithm = c.speculative_algorithm
        worker = f"-{algorithm.lower()}" if algorithm in ALGORITHMS[1:] else ""
        checks.append(
            Check(
                f"{spelled(configuration)}{worker}-from{pre}-accept{accepted}",
                {
                    "configuration": numbers(configuration),
                    "pre": pre,
                    "accepted": accepted,
                    "draft_tokens": c.speculative_num_draft_tokens,
                    "algorithm": algorithm,
                },
                on(expectations.verify_snapshot, c, pre, accepted),
                saves_what_it_should(grids.tree_page(c), grids.track_grid(c), pre, accepted),
                on(_grid, c),
                tier,
            )
        )
    return {"test_a_verify_saves_the_state_of_a_depth_the_tree_can_name": checks}


def _crosses(grid: Callable[[Any], Any]) -> Callable[..., Truth]:
    return lambda c, pre, accepted: verify.crosses(grid(c), pre, accepted)


def _crossed_at_a_point(grid: Callable[[Any], Any]) -> Callable[..., Truth]:
    """What is crossed is crossed at a multiple that lies above the start and not above the end."""

    def fact(c: Any, pre: Any, accepted: Any) -> Truth:
        point = verify.tracking_point(grid(c), pre, accepted)
        return implies(
            verify.crosses(grid(c), pre, accepted), both(point > pre, point <= pre + accepted)
        )

    return fact


GRIDS = {
    "interval": grids.track_interval,
    "tree_page": grids.tree_page,
    "track_grid": grids.track_grid,
}
DRAFT_TOKENS = (8, 4, 2, 1)
MECHANISM = Mechanism(
    "verify",
    _groups,
    (codes.VERIFY_GRID,),
    Space(
        "verify",
        tuple(
            {**c, "speculative_num_draft_tokens": tokens}
            for c in spaces.CONFIGURATIONS
            for tokens in (DRAFT_TOKENS[:1] if c["mamba_track_interval"] >= 64 else DRAFT_TOKENS)
        ),
        {
            "pre": sorted(
                {*range(20), *(64 * k + d for k in range(1, 25) for d in (-9, -8, -4, -1, 0, 1))}
            ),
            "accepted": (1, 2, 3, 5, 8),
        },
        {
            **spaces.ACCEPTED,
            "interval_covers_the_draft_tokens": lambda c, **_: (
                c.mamba_track_interval >= c.speculative_num_draft_tokens
            ),
            "only_draft_tokens_are_accepted": lambda c, pre, accepted: (
                accepted <= c.speculative_num_draft_tokens
            ),
        },
        {
            **spaces.GRID_PREDICATES,
            "one_token_is_accepted": lambda c, pre, accepted: accepted == 1,
            **{f"crosses_the_{name}": _crosses(grid) for name, grid in GRIDS.items()},
            "starts_on_the_track_grid": lambda c, pre, accepted: divides(grids.track_grid(c), pre),
            "ends_on_the_track_grid": lambda c, pre, accepted: divides(
                grids.track_grid(c), pre + accepted
            ),
        },
        {
            **spaces.FACTS,
            **{f"the_{n}_is_crossed_at_a_point": _crossed_at_a_point(g) for n, g in GRIDS.items()},
        },
    ),
    (MODEL, ENGINE),
    known=KNOWN,
)
