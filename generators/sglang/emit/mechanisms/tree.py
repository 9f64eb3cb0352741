"""Tree: which node a donated state hangs on, what a follower is given, splits, existing states, short keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, trees
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import (
    Check,
    Mechanism,
    NotComparable,
    completed,
    lands,
    numbers,
    on,
)
from spec.numbers import both, divides, implies
from spec.sglang.releases import Design
from spec.sglang.rules import grids, insert

CORES = ("python", "rust")


def _requests(instance: Instance) -> list[trees.Insert]:
    """The one or two finished requests of an instance; the second computes one page beyond what it donates."""
    n = instance.lengths
    found = [trees.Insert(0, n["key"], n["donated"], n["previous"])]
    if n["second"]:
        page = int(grids.tree_page(instance.c))
        found.append(trees.Insert(n["shared"], n["second"] + page, n["second"]))
    return found


def _given(
    design: Design, c: Any, core: str, requests: Sequence[trees.Insert], follower: int
) -> dict[str, Any]:
    if core not in design.tree_cores:
        raise NotComparable
    return trees.given(design, c, requests, follower)


def _follower(*arguments: Any) -> dict[str, Any]:
    given = _given(*arguments)
    return {"node": given["node"], "state": given["state"]}


def _branching(*arguments: Any) -> dict[str, Any]:
    given = _given(*arguments)
    return {"node": given["node"], "branching": given["branching"]}


def _tells(page: int, owed: int) -> Callable[[Any], bool]:
    """Whether a follower is told a depth of whole pages, and of no less than `owed` beyond what it is given."""

    def passes(seen: dict[str, Any]) -> bool:
        told = seen["branching"]
        return (told or seen["node"]) >= owed and (told is None or told % page == 0)

    return passes


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    followers, branching = [], []
    for instance in instances:
        launch, requests = completed(instance.configuration), _requests(instance)
        c, shared = expectations.configuration(launch), instance.lengths["follower"]
        page = int(grids.tree_page(c))
        donated = requests[0].donated
        reached = donated <= min(requests[0].key_length, shared)
        given = donated if divides(page, donated) and reached else 0
        grid, hangs = int(grids.checkpoint_grid(c)), donated <= requests[0].key_length
        owed = min(donated, shared) // grid * grid if divides(page, donated) and hangs else 0
        words = [
            "-".join(f"{name}{value}" for name, value in vars(r).items() if value) for r in requests
        ]
        for core in CORES:
            name = f"{spelled(launch)}-{core}-{'-then-'.join(words)}-follower{shared}"
            arguments = {
                "configuration": numbers(launch),
                "core": core,
                "requests": [tuple(vars(r).values()) for r in requests],
                "shared": shared,
            }
            told = on(_follower, c, core, requests, shared)
            followers.append(Check(name, arguments, told, lands(given), tier=instance.tier))
            told = on(_branching, c, core, requests, shared)
            branching.append(
                Check(
                    name,
                    arguments,
                    told,
                    _tells(page, owed),
                    tier=instance.tier,
                )
            )
    return {
        "test_a_follower_is_given_the_state_of_its_own_prefix": followers,
        "test_a_follower_is_told_to_branch_at_a_depth_that_a_node_can_have": branching,
    }


def _node(c: Any, n: dict[str, Any]) -> Any:
    """Depth (tokens) of the node that the first request donates to."""
    return insert.node_depth(grids.tree_page(c), n["key"], n["donated"])


SMALL = [
    dict(zip(("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size"), v, strict=True))
    for v in (
        (64, 1, 256, 64),
        (16, 1, 256, 64),
        (1, 1, 256, 64),
        (16, 3, 256, 64),
        (64, 2, 256, 64),
    )
]


def _known(configuration: dict[str, int], **lengths: int) -> Instance:
    return Instance(configuration, {"previous": 0, "shared": 0, "second": 0, **lengths}, "tiny")


_KNOWN = (
    # Where neither of the cache chunk (64) and the tree page (48) divides the other, a follower that shares 96 tokens.
    _known(SMALL[3], key=300, donated=192, follower=100),
    # The label has passed the end of the key.
    _known(SMALL[0], key=300, donated=320, previous=128, follower=300),
    # A state that hangs on the node of a lesser depth, and one of that depth donated later.
    _known(
        {**SMALL[0], "dcp_size": 8}, key=1100, donated=768, shared=512, second=512, follower=600
    ),
)
MECHANISM = Mechanism(
    "tree",
    _groups,
    space=Space(
        "tree",
        SMALL,
        {
            "key": (64, 100, 128, 192, 256, 300, 330),
            "donated": (64, 96, 100, 128, 192, 256, 260, 320, 384, 390),
            "previous": (0, 64, 96, 128, 192, 320),
            "shared": (0, 60, 64, 100, 128, 192, 256),
            "second": (0, 64, 128, 192, 256, 320, 384),
            "follower": (50, 64, 96, 100, 128, 192, 256, 300),
        },
        {
            **spaces.ACCEPTED,
            "the_earlier_depth_lies_before": lambda c, **n: n["previous"] < n["donated"],
            "only_a_second_request_shares": lambda c, **n: both(
                n["shared"] <= n["second"], n["shared"] <= n["key"]
            ),
            "a_second_request_donates_a_node_of_its_own_depth": lambda c, **n: divides(
                grids.tree_page(c), n["second"]
            ),
            "it_donates_beyond_what_it_was_given": lambda c, **n: implies(
                n["second"] > 0, n["second"] > n["shared"]
            ),
            "the_follower_shares_tokens_of_the_first": lambda c, **n: n["follower"] <= n["key"],
        },
        {
            "dcp_widens_the_page": spaces.dcp_widens_the_page,
            "the_depth_is_a_nodes": lambda c, **n: divides(grids.tree_page(c), n["donated"]),
            "the_key_reaches_the_depth": lambda c, **n: n["donated"] <= n["key"],
            "an_earlier_depth_is_known": lambda c, **n: n["previous"] > 0,
            "the_key_reaches_the_earlier_depth": lambda c, **n: n["previous"] <= n["key"],
            "a_second_request_comes": lambda c, **n: n["second"] > 0,
            "it_splits_the_first_ones_node": lambda c, **n: both(
                n["shared"] >= grids.tree_page(c), n["shared"] < _node(c, n)
            ),
            "it_stops_in_the_node_at_a_grid": lambda c, **n: both(
                n["follower"] >= grids.checkpoint_grid(c), n["follower"] < _node(c, n)
            ),
            "the_follower_reaches_the_node": lambda c, **n: n["follower"] >= _node(c, n),
        },
    ),
    known=_KNOWN,
)
