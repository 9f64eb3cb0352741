"""What an emitted test will observe under a design: computed with the rules that are proved and searched."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from generators.sglang.emit import stories
from spec.sglang.checkpoints import decode_checkpoint, extend_checkpoint, verify_checkpoint
from spec.sglang.releases import Design
from spec.sglang.rules import grids


def configuration(values: dict[str, Any]) -> Any:
    """A case's configuration as the rules read it."""
    return SimpleNamespace(**values)


def decode_snapshots(design: Design, c: Any, prompt: int, stop: int) -> list[int]:
    """Lengths (tokens) from above `prompt` up to `stop` at which decode takes a snapshot."""
    grid = design.grid("decode", c)
    first = (prompt // grid + 1) * grid
    return [n for n in range(first, stop + 1, grid) if decode_checkpoint(design, c, n).saved]


def follower_after_decode(design: Design, c: Any, prompt: int, stop: int) -> dict[str, int | None]:
    """The node and state (tokens) given to a follower of a request that decoded from `prompt` to `stop`.

    Only the last snapshot is inserted, when the request finishes.
    """
    snapshots = [decode_checkpoint(design, c, n) for n in decode_snapshots(design, c, prompt, stop)]
    return stories.follower(design, c, snapshots[-1:])


def extend(design: Design, c: Any, prefix: int, end: int) -> dict[str, Any]:
    """What an extend donates: recorded depth and state (tokens), and whether an assertion stops it."""
    checkpoint = extend_checkpoint(design, c, prefix, end)
    if checkpoint.fault:
        return {"donated": None, "state": None, "fault": True}
    if not checkpoint.saved:
        return {"donated": None, "state": None, "fault": False}
    return {
        "donated": int(checkpoint.recorded),
        "state": int(checkpoint.state),
        "fault": False,
    }


def follower_after_extend(design: Design, c: Any, prefix: int, end: int) -> dict[str, Any] | str:
    """The node and state (tokens) given to a follower of a chunked prefill; `fault` where an assertion stops it."""
    chunks = [(0, prefix), (prefix, end)] if prefix else [(0, end)]
    checkpoints = [extend_checkpoint(design, c, *chunk) for chunk in chunks]
    if any(checkpoint.fault for checkpoint in checkpoints):
        return "fault"
    return stories.follower(
        design, c, [checkpoint for checkpoint in checkpoints if checkpoint.saved]
    )


def verify_snapshot(design: Design, c: Any, pre: int, accepted: int) -> int | None:
    """Tokens consumed by the state that a verify saves, or None where it saves none."""
    checkpoint = verify_checkpoint(design, c, pre, accepted)
    return int(checkpoint.state) if checkpoint.saved else None


def tree_page(c: Any) -> int:
    """Tokens a node of the tree is a multiple of."""
    return int(grids.tree_page(c))
