"""Nested config: the states of extends where the model's chunk stands in its text config alone, or in both configs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms.base import (
    Check,
    Mechanism,
    NotComparable,
    completed,
    numbers,
    on,
)
from spec.sglang.releases import Design

# An assumption about a checkpoint of the model; its config class itself has 256.
CHUNK = 128  # tokens
WITHOUT_A_CHUNK = 64  # what the engine takes for the chunk of a config that has none
ENDS = (64, 100, 128, 200, 330)
WITHOUT_THE_MODEL = ("0.5.17", "0.5.18", "0.5.19")


def _donated(design: Design, launch: dict[str, Any], end: int, nested: bool) -> dict[str, Any]:
    """Depth and state (tokens) that an extend donates; nested, depths are counted in another chunk than rows."""
    if not nested:
        seen = expectations.extend(design, expectations.configuration(launch), 0, end)
        return {"donated": seen["donated"], "state": seen["state"]}
    if design.release in WITHOUT_THE_MODEL:
        raise NotComparable
    counted = expectations.configuration({**launch, "mamba_chunk_size": WITHOUT_A_CHUNK})
    depth = expectations.extend(design, counted, 0, end)["donated"]
    return {"donated": depth, "state": depth and depth // CHUNK * CHUNK}


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    launch = completed({"page_size": 1, "mamba_chunk_size": CHUNK})
    checks = [
        Check(
            f"{spelled(launch)}-to{end}-{'in-the-text-config' if nested else 'in-both-configs'}",
            {"configuration": numbers(launch), "end": end, "nested": nested},
            on(_donated, launch, end, nested),
            lambda seen: seen["donated"] == seen["state"],
            tier="tiny",
        )
        for nested in (True, False)
        for end in ENDS
    ]
    return {"test_an_extend_donates_the_state_of_the_depth_that_it_records": checks}


MECHANISM = Mechanism("nested", _groups, in_every_tier=True)
