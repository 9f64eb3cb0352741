"""The codes of what can be wrong with a checkpoint or a launch command, each with one sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A finding code: stable identifier, name, what it means, the theorem that excludes it in a right design."""

    id: str
    name: str
    means: str
    theorem: str | None = None


REJECTED = Code("GP001", "rejected", "the release refuses to start with this configuration", None)
INERT = Code(
    "GP002",
    "inert",
    "the shortest prefix that can ever be reused is longer than the context",
    None,
)
NOT_MODELLED = Code("GP003", "not-modelled", "gridproof has no rules for this configuration", None)
SPARSER = Code(
    "GP004",
    "sparser",
    "decode checkpoints are further apart than the interval that was asked for",
    "every_track_depth_is_a_multiple_of_all_three_grids",
)
DECODE_GRID = Code(
    "GP101",
    "decode-grid",
    "a decode checkpoint is hung on a node of another depth: the tree cannot name the depths decode snapshots at",
    "decode_checkpoint_lands_on_a_node",
)
VERIFY_GRID = Code(
    "GP102",
    "verify-grid",
    "a verify checkpoint is hung on a node of another depth: the tree cannot name the depths verify saves at",
    "verify_checkpoint_lands_on_a_node",
)
EXTEND_PREFIX = Code(
    "GP201",
    "extend-prefix",
    "an extend that starts off the tree page donates a depth counted from its prefix, which no node has",
    "an_extend_under_dcp_lands_on_a_node",
)
EXTEND_GRID = Code(
    "GP202",
    "extend-grid",
    "an extend donates on a grid that the tree page does not divide, so its state hangs on another depth",
    "an_extend_under_dcp_lands_on_a_node",
)
EXTEND_ROW = Code(
    "GP203",
    "extend-row",
    "an extend reads an intermediate state of another depth than the one it records",
    "the_row_read_is_the_row_of_the_recorded_depth",
)
EXTEND_ASSERTION = Code(
    "GP204",
    "extend-assertion",
    "an engine assertion stops the scheduler when an extend starts off the cache chunk",
    "the_extend_assertion_never_fires",
)
FLUSH = Code(
    "GP301",
    "flush-nesting",
    "a snapshot is taken at a step that does not flush, so it misses the pending tokens",
    "every_snapshot_step_is_a_flush_step",
)

SLOT_SWAP = Code(
    "GP401",
    "slot-swap",
    "under the overlap scheduler the slot of a decode checkpoint can be overwritten before it is donated "
    "(docs/found.md); which launches and requests get there is not judged by this version",
    "a_boundary_swaps_the_slots_exactly_once",
)

CODES = {
    code.id: code
    for code in (
        REJECTED,
        INERT,
        NOT_MODELLED,
        SPARSER,
        DECODE_GRID,
        VERIFY_GRID,
        EXTEND_PREFIX,
        EXTEND_GRID,
        EXTEND_ROW,
        EXTEND_ASSERTION,
        FLUSH,
        SLOT_SWAP,
    )
}
