"""Windows: Inkling's draft extend, which writes its convolution window on the raw interval in every release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance
from generators.sglang.emit import expectations
from generators.sglang.emit.mechanisms import verify
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, numbers, on
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.sglang.rules import verify as rules


def window(design: Design, c: Any, pre: int, accepted: int) -> int | None:
    """Position (tokens, from 1) up to which the window written reaches; the token before the boundary's."""
    grid = design.grid("window", c)
    if not rules.crosses(grid, pre, accepted):
        return None
    return int(rules.window_end(grid, pre, accepted))


def _with_the_state(c: Any, pre: int, accepted: int) -> Callable[[Any], bool]:
    crosses = rules.crosses(grids.track_grid(c), pre, accepted)
    return lambda written: (written is not None) == crosses


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for i in instances:
        c, pre, accepted = (
            expectations.configuration(completed(i.configuration)),
            i.lengths["pre"],
            i.lengths["accepted"],
        )
        checks.append(
            Check(
                f"{spelled(i.configuration)}-from{pre}-accept{accepted}",
                {
                    "configuration": numbers(i.configuration),
                    "pre": pre,
                    "accepted": accepted,
                    "draft_tokens": c.speculative_num_draft_tokens,
                },
                on(window, c, pre, accepted),
                _with_the_state(c, pre, accepted),
                tier=i.tier,
            )
        )
    return {"test_a_window_is_written_exactly_at_depths_on_all_grids": checks}


MECHANISM = Mechanism("windows", _groups, space=verify.MECHANISM.space, known=verify.KNOWN)
