"""Evictions: what a follower is given after states were evicted and their slots written by others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, trees
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms import tree as trees_mechanism
from generators.sglang.emit.mechanisms.base import (
    Check,
    Mechanism,
    NotComparable,
    completed,
    numbers,
    on,
)
from spec.numbers import both, divides
from spec.sglang.releases import Design
from spec.sglang.rules import grids


def _requests(n: dict[str, int]) -> list[trees.Insert]:
    """Two finished requests, the second of which donates beyond what it shares with the first."""
    first = trees.Insert(0, n["key"], n["first"])
    return [first, trees.Insert(n["shared"], n["second"], n["second"])]


def _given(design: Design, c: Any, core: str, *arguments: Any) -> dict[str, int | None]:
    if core not in design.tree_cores:
        raise NotComparable
    return trees.given_after_eviction(design, c, *arguments)


def _is_its_own(states: int) -> Callable[[Any], bool]:
    """Whether a state is given with the prefix that it consumed, and as many slots were freed as states evicted."""
    return lambda seen: seen["node"] == (seen["state"] or 0) and seen["freed"] == states


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, n = completed(instance.configuration), dict(instance.lengths)
        c, requests = expectations.configuration(launch), _requests(n)
        again, states, shared = bool(n["again"]), n["states"], n["follower"]
        for core in trees_mechanism.CORES:
            words = [f"{name}{value}" for name, value in n.items()]
            checks.append(
                Check(
                    f"{spelled(launch)}-{core}-{'-'.join(words)}",
                    {
                        "configuration": numbers(launch),
                        "core": core,
                        "requests": [tuple(vars(r).values()) for r in requests],
                        "matched_again": again,
                        "states": states,
                        "shared": shared,
                    },
                    on(_given, c, core, requests, again, states, shared),
                    _is_its_own(states),
                    tier=instance.tier,
                )
            )
    return {"test_after_an_eviction_a_request_resumes_from_a_state_that_is_still_kept": checks}


MECHANISM = Mechanism(
    "evictions",
    _groups,
    space=Space(
        "evictions",
        trees_mechanism.SMALL,
        {
            "key": (64, 128, 192, 256),
            "first": (64, 96, 128, 192, 256),
            "shared": (0, 48, 64, 96, 128, 192, 256),
            "second": (64, 96, 128, 192, 256, 320, 384),
            "again": (0, 1),
            "states": (1, 2),
            "follower": (32, 64, 96, 128, 192, 256, 320, 384),
        },
        {
            **spaces.ACCEPTED,
            "both_donate_a_node_of_their_own_depth": lambda c, **n: both(
                divides(grids.tree_page(c), n["first"]), divides(grids.tree_page(c), n["second"])
            ),
            "the_first_ones_key_reaches_its_depth": lambda c, **n: n["first"] <= n["key"],
            "the_second_shares_tokens_of_the_first": lambda c, **n: n["shared"] <= n["key"],
            "the_second_donates_beyond_them": lambda c, **n: n["second"] > n["shared"],
            "the_follower_shares_tokens_of_the_second": lambda c, **n: n["follower"] <= n["second"],
        },
        {
            "dcp_widens_the_page": spaces.dcp_widens_the_page,
            "the_second_goes_on_from_the_first": lambda c, **n: n["shared"] >= n["first"],
            "the_second_splits_the_first_ones_node": lambda c, **n: both(
                n["shared"] >= grids.tree_page(c), n["shared"] < n["first"]
            ),
            "the_first_is_matched_again": lambda c, **n: n["again"] > 0,
            "both_states_are_evicted": lambda c, **n: n["states"] > 1,
            "the_follower_reaches_the_seconds_node": lambda c, **n: n["follower"] >= n["second"],
            "the_follower_reaches_the_firsts_depth": lambda c, **n: n["follower"] >= n["first"],
        },
    ),
    support=("gridproof_sglang_tree.py",),
)
