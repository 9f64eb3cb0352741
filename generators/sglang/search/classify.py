"""Why a checkpoint ended wrong: which code it falls under, and what became of its state."""

from __future__ import annotations

from typing import Any

from generators.cases.codes import Code
from generators.sglang import codes
from spec.sglang.checkpoints import Checkpoint, misplaced
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.sglang.scheduler import PROMPT, STEP, VERIFY, Donation, Write

_GRIDS = {STEP: codes.DECODE_GRID, VERIFY: codes.VERIFY_GRID}
_STATES = {PROMPT: codes.EXTEND_ROW, STEP: codes.DECODE_STATE, VERIFY: codes.VERIFY_STEP}


def is_wrong(design: Design, c: Any, checkpoint: Checkpoint) -> bool:
    """Whether a donated checkpoint stops the engine or is attached to a node of another depth than its state has."""
    return bool(checkpoint.fault) or bool(misplaced(design, c, checkpoint))


def code_of(c: Any, donation: Donation) -> Code:
    """The code of a donation that is wrong."""
    checkpoint, writes = donation.checkpoint, donation.writes
    if checkpoint.fault:
        return codes.EXTEND_ASSERTION
    if checkpoint.key_length is not None and checkpoint.recorded > checkpoint.key_length:
        return codes.KEY_OVERSHOT
    booked = [w for w in writes if w.recorded == checkpoint.recorded]
    if checkpoint.state == checkpoint.recorded:
        return _of_the_grid(c, booked)
    if any(w.state == w.recorded for w in booked):
        return codes.SLOT_OVERWRITTEN
    if booked:
        return _STATES[booked[-1].by.kind]
    if any(w.state == w.recorded == checkpoint.state > checkpoint.recorded for w in writes):
        return codes.KEY_OVERSHOT
    return codes.SLOT_LABEL


def _of_the_grid(c: Any, booked: list[Write]) -> Code:
    """The code of a state that is booked under its own depth, to whose node it is not attached."""
    if booked and booked[-1].recorded % int(grids.tree_page(c)) == 0:
        return codes.NODE_DEPTH
    written = booked[-1] if booked else None
    if written is None or written.by.kind != PROMPT:
        return _GRIDS[written.by.kind] if written else codes.SLOT_LABEL
    off_page = written.by.start % int(grids.tree_page(c)) != 0
    return codes.EXTEND_PREFIX if off_page else codes.EXTEND_GRID
