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
VERIFY_STEP = Code(
    "GP103",
    "verify-step",
    "a verify saves the state of another draft step than the depth it records",
    "the_saved_verify_step_has_consumed_exactly_the_recorded_depth",
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

SLOT_OVERWRITTEN = Code(
    "GP401",
    "slot-overwritten",
    "a checkpoint was saved rightly, and another state is written into its slot before it is donated",
    "an_eager_finish_donates_the_state_of_its_label",
)
SLOT_LABEL = Code(
    "GP402",
    "slot-label",
    "a slot is donated under a depth that no state was saved for in it",
    "a_result_of_an_eager_step_keeps_the_invariant",
)
KEY_OVERSHOT = Code(
    "GP403",
    "key-overshot",
    "a state has consumed more tokens than the key that it is donated under, and hangs on the shorter key",
    "a_finish_with_a_key_shorter_than_both_labels_donates_nothing",
)

SLOTS = (SLOT_OVERWRITTEN, SLOT_LABEL, KEY_OVERSHOT)
CODES = {
    code.id: code
    for code in (
        REJECTED,
        INERT,
        NOT_MODELLED,
        SPARSER,
        DECODE_GRID,
        VERIFY_GRID,
        VERIFY_STEP,
        EXTEND_PREFIX,
        EXTEND_GRID,
        EXTEND_ROW,
        EXTEND_ASSERTION,
        FLUSH,
        SLOT_OVERWRITTEN,
        SLOT_LABEL,
        KEY_OVERSHOT,
    )
}
