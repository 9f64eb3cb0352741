"""Batches: two extends in one batch, the states that are copied for each and the convolution windows beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Predicate, Space
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, numbers, on
from spec.numbers import Truth, both, divides, implies
from spec.sglang.checkpoints import extend_checkpoint
from spec.sglang.releases import CURRENT, Design, current
from spec.sglang.rules import extend, grids

NAMES = ("first_prefix", "first_end", "second_prefix", "second_end")
OTHERS = -2  # the state of another request


def _row(design: Design, c: Any, extends: Sequence[tuple[int, int]], number: int) -> Any:
    """What one of two extends donates and the depths that its state and window have then; `fault` where it stops."""
    prefix, end = extends[number]
    checkpoint = extend_checkpoint(design, c, prefix, end)
    if checkpoint.fault:
        return "fault"
    if not checkpoint.saved:
        return {"donated": None, "state": None, "window": None}
    stride, chunk = int(current(design.extend_row_stride)(c)), int(c.mamba_chunk_size)
    tracked = int(extend.tracked_length(stride, prefix, end, checkpoint.recorded))
    window = extend.window_depth(grids.cache_chunk_size(c), prefix, tracked)
    state = end
    if not divides(stride, tracked - prefix):
        before = extends[0][1] - extends[0][0] if number else 0
        row = int(extend.row_in_batch(stride, before, prefix, tracked))
        row -= int(extend.rows_written(chunk, before))
        own = 0 <= row < extend.rows_written(chunk, end - prefix)
        state = prefix + row * chunk if own else OTHERS
    return {"donated": int(checkpoint.recorded), "state": int(state), "window": int(window)}


def _rows(design: Design, c: Any, extends: Sequence[tuple[int, int]]) -> Any:
    rows = [_row(design, c, extends, number) for number in range(len(extends))]
    return "fault" if "fault" in rows else rows


def _each_its_own(seen: Any) -> bool:
    """Whether each state, and the window beside it, has consumed just the depth that is donated."""
    if seen == "fault":
        return False
    return all(row["donated"] == row["state"] == row["window"] for row in seen)


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c = expectations.configuration(launch)
        lengths = [n[name] for name in NAMES]
        extends = [(lengths[0], lengths[1]), (lengths[2], lengths[3])]
        words = "-then-".join(f"from{prefix}-to{end}" for prefix, end in extends)
        checks.append(
            Check(
                f"{spelled(launch)}-{words}",
                {"configuration": numbers(launch), "extends": extends},
                on(_rows, c, extends),
                _each_its_own,
                tier=instance.tier,
            )
        )
    return {"test_each_extend_of_a_batch_donates_its_own_state_and_window": checks}


def _donates(which: str) -> Callable[..., Truth]:
    def predicate(c: Any, **n: Any) -> Truth:
        return extend_checkpoint(CURRENT, c, n[f"{which}_prefix"], n[f"{which}_end"]).wanted

    return predicate


def _reads_a_row(which: str) -> Callable[..., Truth]:
    """Whether such an extend donates the state of a row, and not its last one."""

    def predicate(c: Any, **n: Any) -> Truth:
        prefix, end = n[f"{which}_prefix"], n[f"{which}_end"]
        checkpoint = extend_checkpoint(CURRENT, c, prefix, end)
        stride = current(CURRENT.extend_row_stride)(c)
        forced = extend.forces_intermediate(stride, prefix, end, checkpoint.recorded)
        return both(checkpoint.wanted, forced)

    return predicate


CHUNK_FACTS: dict[str, Predicate] = {
    **spaces.FACTS,
    "the_page_divides_the_cache_chunk": lambda c, **_: divides(
        c.page_size, grids.cache_chunk_size(c)
    ),
    "a_tree_page_in_the_cache_chunk_leaves_that_unchanged": lambda c, **_: implies(
        divides(grids.tree_page(c), grids.cache_chunk_size(c)),
        grids.checkpoint_grid(c) == grids.cache_chunk_size(c),
    ),
}
CONFIGURATIONS = [
    dict(zip(("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size"), v, strict=True))
    for v in ((16, 1, 256, 64), (128, 1, 256, 64), (64, 2, 256, 64), (128, 2, 256, 64))
]
_STARTS = Instance(  # extends from different prefixes, each of which reads a row
    CONFIGURATIONS[1],
    {"first_prefix": 64, "first_end": 300, "second_prefix": 0, "second_end": 320},
    "tiny",
)
MECHANISM = Mechanism(
    "batches",
    _groups,
    space=Space(
        "batches",
        CONFIGURATIONS,
        {
            "first_prefix": (0, 64, 128),
            "first_end": (10, 64, 130, 192, 200, 256, 300, 320, 400),
            "second_prefix": (0, 64, 128, 256),
            "second_end": (50, 128, 140, 256, 320, 330, 512, 520),
        },
        {
            **spaces.ACCEPTED,
            "the_first_computes_tokens": lambda c, **n: n["first_end"] > n["first_prefix"],
            "the_second_computes_tokens": lambda c, **n: n["second_end"] > n["second_prefix"],
        },
        {
            "dcp_widens_the_page": spaces.dcp_widens_the_page,
            "page_is_above_the_chunk": spaces.page_is_above_the_chunk,
            "the_first_donates": _donates("first"),
            "the_first_reads_a_row": _reads_a_row("first"),
            "the_first_ends_on_the_model_chunk": lambda c, **n: divides(
                c.mamba_chunk_size, n["first_end"] - n["first_prefix"]
            ),
            "the_second_donates": _donates("second"),
            "the_second_reads_a_row": _reads_a_row("second"),
        },
        CHUNK_FACTS,
    ),
    known=(_STARTS,),
)
