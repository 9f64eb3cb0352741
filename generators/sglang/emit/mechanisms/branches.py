"""Branches: an extend that was told to keep the state of a branching point, and the request that leaves its path there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, trees
from generators.sglang.emit.mechanisms import batches, spaces
from generators.sglang.emit.mechanisms import tree as trees_mechanism
from generators.sglang.emit.mechanisms.base import (
    Check,
    Mechanism,
    NotComparable,
    completed,
    lands,
    numbers,
    on,
)
from spec.numbers import Truth, both, divides
from spec.sglang.checkpoints import Checkpoint, branching_checkpoint, extend_checkpoint
from spec.sglang.radix_tree import Tree
from spec.sglang.releases import CURRENT, Design
from spec.sglang.rules import grids


def kept(design: Design, c: Any, prefix: int, end: int, point: int | None) -> Checkpoint:
    """What an extend donates that was told of a branching point, or of none."""
    ordinary = extend_checkpoint(design, c, prefix, end)
    if point is None or not ordinary.saved:
        return ordinary
    branching = branching_checkpoint(design, c, prefix, end, point)
    return branching if branching.wanted else ordinary


def _donated(design: Design, c: Any, prefix: int, end: int, point: int) -> dict[str, Any] | str:
    """What such an extend donates, the state read for it, and what it would donate without the branch."""
    ordinary = extend_checkpoint(design, c, prefix, end)
    checkpoint = kept(design, c, prefix, end, point)
    if ordinary.fault or checkpoint.fault:
        return "fault"
    if not ordinary.saved:
        return {"ordinary": None, "donated": None, "state": None}
    depths = ordinary.recorded, checkpoint.recorded, checkpoint.state
    return dict(zip(("ordinary", "donated", "state"), map(int, depths), strict=True))


def _branches(chunk: int, prefix: int, point: int) -> Any:
    """Whether the state is that of the depth donated: the branching point's where the extend passes it by a row."""

    def passes(seen: Any) -> bool:
        if seen == "fault" or seen["donated"] != seen["state"]:
            return False
        passed = seen["ordinary"] is not None and prefix < point <= seen["ordinary"]
        return not (passed and divides(chunk, point - prefix)) or seen["donated"] == point

    return passes


def _follower(
    design: Design, c: Any, core: str, first: int, shared: int, end: int
) -> dict[str, Any] | str:
    """What a request is given that leaves the path of two others where the second left the first's."""
    if core not in design.tree_cores:
        raise NotComparable
    requests = [trees.Insert(0, first, first), trees.Insert(shared, end, end)]
    one, two = trees.tokens_of(requests)
    cache = Tree[None](design, c)
    for tokens in (one, two):
        given = cache.match([*tokens, 0])
        checkpoint = kept(design, c, int(given.node.depth), len(tokens), given.branching)
        if checkpoint.fault:
            return "fault"
        cache.insert_checkpoint(tokens, checkpoint)
    return trees.told_of(cache.match([*two[:shared], 0]).node)


def _reachable(c: Any, first: int, shared: int, end: int) -> int:
    """The depth of the node that the second request's branch leaves, 0 where it need not leave one."""
    grid = grids.checkpoint_grid(c)
    point = min(first // grid * grid, shared) // grid * grid
    return point if end >= point + grid else 0


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    donated, followers = [], []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c = expectations.configuration(launch)
        prefix, end, point = n["prefix"], n["end"], n["point"]
        chunk = int(grids.cache_chunk_size(c))
        donated.append(
            Check(
                f"{spelled(launch)}-from{prefix}-to{end}-branch{point}",
                {"configuration": numbers(launch), "prefix": prefix, "end": end, "point": point},
                on(_donated, c, prefix, end, point),
                _branches(chunk, prefix, point),
                tier=instance.tier,
            )
        )
        # The same numbers as a first request, what the second shares with it, and the second's end.
        first, shared = max(end - prefix, point), point
        for core in trees_mechanism.CORES if shared < end else ():
            lengths = {"first": first, "shared": shared, "end": end}
            followers.append(
                Check(
                    f"{spelled(launch)}-{core}-first{first}-shared{shared}-to{end}",
                    {"configuration": numbers(launch), "core": core, **lengths},
                    on(_follower, c, core, first, shared, end),
                    lands(_reachable(c, first, shared, end)),
                    tier=instance.tier,
                )
            )
    return {
        "test_a_branching_extend_donates_the_state_of_its_branching_point": donated,
        "test_a_request_that_leaves_a_path_leaves_its_state_where_it_left": followers,
    }


def _has_a_row(c: Any, prefix: Any, end: Any, point: Any) -> Truth:
    """Whether such an extend donates, and keeps a row for the point before the depth that it would donate."""
    ordinary = extend_checkpoint(CURRENT, c, prefix, end)
    whole_chunks = divides(grids.cache_chunk_size(c), point - prefix)
    return both(ordinary.wanted, point > prefix, point < ordinary.recorded, whole_chunks)


def _known(**lengths: int) -> Instance:
    return Instance(batches.CONFIGURATIONS[0], lengths, "tiny")


_KNOWN = (
    # The requests part within a chunk: the branch is rounded down to where a row is.
    _known(prefix=0, end=130, point=80),
    # They part on a chunk before the depth that the second would donate.
    _known(prefix=0, end=256, point=128),
)
MECHANISM = Mechanism(
    "branches",
    _groups,
    space=Space(
        "branches",
        batches.CONFIGURATIONS,
        {
            "prefix": (0, 64, 128, 256),
            "end": (50, 100, 130, 192, 256, 300, 384, 520, 600),
            "point": (64, 80, 96, 128, 192, 200, 256, 320, 330, 384, 512, 530),
        },
        {
            **spaces.ACCEPTED,
            "it_computes_tokens": lambda c, **n: n["end"] > n["prefix"],
        },
        {
            "dcp_widens_the_page": spaces.dcp_widens_the_page,
            "page_is_above_the_chunk": spaces.page_is_above_the_chunk,
            "it_donates": lambda c, **n: (
                extend_checkpoint(CURRENT, c, n["prefix"], n["end"]).wanted
            ),
            "the_point_lies_beyond_the_prefix": lambda c, **n: n["point"] > n["prefix"],
            "the_point_lies_before_the_end": lambda c, **n: n["point"] < n["end"],
            "a_row_is_kept_for_the_point": _has_a_row,
            "the_point_is_whole_chunks_away": lambda c, **n: divides(
                grids.cache_chunk_size(c), n["point"] - n["prefix"]
            ),
        },
        batches.CHUNK_FACTS,
    ),
    support=("gridproof_sglang_tree.py",),
    known=_KNOWN,
)
