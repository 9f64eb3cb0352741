"""Ownership: which of several requests' states a node holds, and that no slot of a state is lost or held twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Predicate, Space
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
    """Two requests that run side by side; the second has computed what it shares, or what it donates."""
    second = trees.Insert(n["shared"], max(n["shared"], n["second"]), n["second"])
    return [trees.Insert(0, n["key"], n["first"], n["previous"]), second]


def _given(
    design: Design, c: Any, core: str, requests: Sequence[trees.Insert], follower: int
) -> dict[str, int | None]:
    if core not in design.tree_cores:
        raise NotComparable
    return {**trees.given_among(design, c, requests, follower), "lost": 0}


def _of_the_first_donor(requests: Sequence[trees.Insert]) -> Callable[[Any], bool]:
    """Whether a state is given with the prefix that it consumed, of the first that tracked it, and no slot is lost."""

    def passes(seen: Any) -> bool:
        donors = (n for n, r in enumerate(requests, 1) if seen["node"] in (r.donated, r.previous))
        right = seen["node"] == (seen["state"] or 0) and seen["lost"] == 0
        return right and (not seen["node"] or seen["of"] == next(donors))

    return passes


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, n = completed(instance.configuration), dict(instance.lengths)
        c, requests = expectations.configuration(launch), _requests(n)
        for core in trees_mechanism.CORES:
            words = [f"{name}{value}" for name, value in n.items()]
            checks.append(
                Check(
                    f"{spelled(launch)}-{core}-{'-'.join(words)}",
                    {
                        "configuration": numbers(launch),
                        "core": core,
                        "requests": [tuple(vars(r).values()) for r in requests],
                        "shared": n["follower"],
                    },
                    on(_given, c, core, requests, n["follower"]),
                    _of_the_first_donor(requests),
                    tier=instance.tier,
                )
            )
    return {"test_a_node_keeps_the_state_of_its_first_donor_and_no_slot_is_lost": checks}


def _reaches(name: str) -> Predicate:
    return lambda c, **n: n["follower"] >= n[name]


MECHANISM = Mechanism(
    "ownership",
    _groups,
    space=Space(
        "ownership",
        trees_mechanism.SMALL,
        {
            "key": (64, 100, 128, 192, 256),
            "first": (64, 96, 128, 192, 256, 320),
            "previous": (0, 48, 64, 96, 128),
            "shared": (0, 64, 96, 128, 192, 256),
            "second": (64, 96, 128, 192, 256, 320),
            "follower": (32, 64, 96, 128, 192, 256),
        },
        {
            **spaces.ACCEPTED,
            "each_depth_is_a_nodes": lambda c, **n: both(
                *(divides(grids.tree_page(c), n[name]) for name in ("first", "previous", "second"))
            ),
            "the_earlier_depth_lies_before": lambda c, **n: n["previous"] < n["first"],
            "the_second_shares_tokens_of_the_first": lambda c, **n: n["shared"] <= n["key"],
            "the_follower_shares_tokens_of_the_first": lambda c, **n: n["follower"] <= n["key"],
        },
        {
            "dcp_widens_the_page": spaces.dcp_widens_the_page,
            "the_key_reaches_the_depth": lambda c, **n: n["first"] <= n["key"],
            "an_earlier_depth_is_known": lambda c, **n: n["previous"] > 0,
            "both_donate_the_same_depth": lambda c, **n: n["first"] == n["second"],
            "the_second_donates_what_it_shares": lambda c, **n: n["second"] <= n["shared"],
            "the_follower_reaches_the_firsts_depth": _reaches("first"),
            "the_follower_reaches_the_seconds_depth": _reaches("second"),
        },
    ),
    support=("gridproof_sglang_tree.py",),
)
