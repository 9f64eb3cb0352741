"""A decode checkpoint hangs on the node of its own depth, and the raw interval does so exactly when the tree page divides it."""

from spec.numbers import divides
from spec.sglang.checkpoints import decode_checkpoint, node_of
from spec.sglang.rules import decode, grids, insert
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("decode", refuted_by=("sglang-0.5.17", "sglang-0.5.18"))
def decode_checkpoint_lands_on_a_node(design, c, seq_len):
    """A decode checkpoint is hung on the node of exactly the depth that its state has consumed."""
    checkpoint = decode_checkpoint(design, c, seq_len)
    return Statement(
        {"a_snapshot_is_taken": checkpoint.saved},
        node_of(design, c, checkpoint) == checkpoint.state,
    )


@theorem("decode")
def a_raw_interval_is_safe_if_the_tree_page_divides_it(design, c, seq_len):
    """Where the tree page divides the interval, every checkpoint on the raw interval lands on a node."""
    return Statement(
        {
            "the_tree_page_divides_the_interval": divides(
                grids.tree_page(c), c.mamba_track_interval
            ),
            "a_snapshot_is_taken": decode.snapshot_step(grids.track_interval(c), seq_len),
        },
        insert.node_depth(grids.tree_page(c), seq_len, seq_len) == seq_len,
    )


@theorem("decode")
def a_raw_interval_is_safe_only_if_the_tree_page_divides_it(design, c):
    """Where even the first checkpoint on the raw interval lands on a node, the tree page divides the interval."""
    interval = grids.track_interval(c)
    node = insert.node_depth(grids.tree_page(c), interval, interval)
    return Statement(
        {"the_first_checkpoint_lands_on_a_node": node == interval},
        divides(grids.tree_page(c), c.mamba_track_interval),
    )
