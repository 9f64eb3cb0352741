"""A decode checkpoint is inserted at its own depth; on the raw interval it is exactly when the tree page divides that."""

from spec.numbers import both, choose, divides, either, gcd, negation
from spec.sglang import checkpoints
from spec.sglang.checkpoints import decode_checkpoint, node_of
from spec.sglang.releases import current
from spec.sglang.rules import decode, extend, grids, insert, slots
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("decode", refuted_by=("sglang-0.5.17", "sglang-0.5.18"))
def decode_checkpoint_lands_on_a_node(design, c, seq_len):
    """A decode checkpoint is inserted at the node whose depth is exactly the tokens that its state has consumed."""
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


# Completeness beside safety, and what the cache chunk in the track grid is for.


@theorem("decode")
def a_snapshot_is_taken_of_every_depth_on_all_grids(design, c, seq_len):
    """A decode step that reaches a depth on tree page, cache chunk and interval takes a snapshot of that depth."""
    checkpoint = decode_checkpoint(design, c, seq_len)
    return Statement(
        {
            "the_depth_is_on_the_tree_page": divides(grids.tree_page(c), seq_len),
            "the_depth_is_on_the_cache_chunk": divides(grids.cache_chunk_size(c), seq_len),
            "the_depth_is_on_the_interval": divides(grids.track_interval(c), seq_len),
        },
        both(checkpoint.saved, checkpoint.recorded == seq_len),
    )


@theorem("decode", refuted_by=("sglang-0.5.17", "sglang-0.5.18"))
def a_later_extend_from_a_decode_checkpoint_misses_no_depth(design, c, prefix, tokens, depth):
    """An absolute extend that starts at a decode checkpoint donates each depth on the checkpoint grid, or a later one."""
    end, grid = prefix + tokens, grids.checkpoint_grid(c)
    return Statement(
        {
            "the_prefix_is_a_decode_checkpoint": decode_checkpoint(design, c, prefix).saved,
            "the_depth_is_on_the_grid": divides(grid, depth),
            "the_depth_lies_beyond_the_prefix": depth > prefix,
            "the_depth_is_reached": depth <= end,
        },
        both(
            extend.absolute_donates(grid, grids.cache_chunk_size(c), prefix, end),
            extend.absolute_depth(grid, prefix, end) >= depth,
        ),
    )


# The raw interval of 0.5.17 and 0.5.18: what is wrong, and by how much.


@theorem("decode", proved_for="sglang-0.5.18")
def a_state_below_one_tree_page_is_not_cached(design, c, seq_len):
    """A snapshot before the first tree page is full is not inserted at any node, so that no request can match it."""
    checkpoint = decode_checkpoint(design, c, seq_len)
    return Statement(
        {"the_depth_is_below_the_tree_page": seq_len < grids.tree_page(c)},
        both(
            node_of(design, c, checkpoint) == 0,
            negation(checkpoints.misplaced(design, c, checkpoint)),
        ),
    )


@theorem("decode", proved_for="sglang-0.5.18")
def beyond_the_first_page_a_raw_checkpoint_has_the_wrong_prefix_exactly_off_the_tree_page(
    design, c, seq_len
):
    """From the first full tree page on, a snapshot on the raw interval is inserted under a wrong prefix exactly if the
    tree page does not divide its depth."""
    page, checkpoint = grids.tree_page(c), decode_checkpoint(design, c, seq_len)
    off_the_page = negation(divides(page, seq_len))
    return Statement(
        {"a_tree_page_is_full": seq_len >= page},
        checkpoints.misplaced(design, c, checkpoint)
        == both(divides(grids.track_interval(c), seq_len), off_the_page),
    )


@theorem("decode", proved_for="sglang-0.5.18")
def one_of_two_successive_raw_checkpoints_has_the_wrong_prefix(design, c, k):
    """Where the tree page does not divide the interval, of two successive checkpoints beyond it one gets a wrong
    prefix."""
    interval, page = grids.track_interval(c), grids.tree_page(c)
    depth = interval * k
    first, second = (decode_checkpoint(design, c, n) for n in (depth, depth + interval))
    return Statement(
        {
            "the_tree_page_does_not_divide_the_interval": negation(divides(page, interval)),
            "the_first_lies_beyond_one_tree_page": depth >= page,
        },
        either(checkpoints.misplaced(design, c, first), checkpoints.misplaced(design, c, second)),
    )


@theorem("decode", proved_for="sglang-0.5.18")
def a_raw_checkpoint_replays_its_remainder_by_the_tree_page(design, c, k, seq_len):
    """The k-th raw snapshot is taken, and a request that matches it consumes (k times interval) mod tree page tokens
    twice."""
    checkpoint = decode_checkpoint(design, c, seq_len)
    replayed = checkpoint.state - node_of(design, c, checkpoint)
    return Statement(
        {"it_is_the_k_th_multiple_of_the_interval": seq_len == grids.track_interval(c) * k},
        both(checkpoint.saved, replayed == seq_len % grids.tree_page(c)),
    )


@theorem("decode", proved_for="sglang-0.5.18")
def a_raw_checkpoint_replays_at_most_the_tree_page_less_what_both_share(design, c, seq_len):
    """No raw snapshot replays more tokens than the tree page less its greatest common divisor with the interval,
    and one that lies this divisor short of the next node replays exactly as many."""
    checkpoint, page = decode_checkpoint(design, c, seq_len), grids.tree_page(c)
    left, shared = (
        page - (checkpoint.state - node_of(design, c, checkpoint)),
        gcd(grids.track_interval(c), page),
    )
    return Statement(
        {"a_snapshot_is_taken": checkpoint.saved},
        both(left >= shared, (left == shared) == divides(page, seq_len + shared)),
    )


@theorem("decode", proved_for="sglang-0.5.18")
def raw_checkpoints_paired_over_a_period_replay_one_tree_page(design, c, k):
    """The k-th raw snapshot from the start of a period and the k-th from its end replay one tree page together, so
    that the mean over the wrong ones is half a tree page."""
    interval, page = grids.track_interval(c), grids.tree_page(c)
    first = k * interval
    whole = grids.period(c, interval) * interval
    second = whole - first
    nodes = [node_of(design, c, decode_checkpoint(design, c, n)) for n in (first, second)]
    return Statement(
        {"the_number_is_within_the_period": k < grids.period(c, interval)},
        both(
            whole - nodes[0] - page == nodes[1],
            (first - nodes[0]) + (second - nodes[1]) == page,
        ),
    )


# What a result knows of the step that it completes.


@theorem("decode", least={"lookahead": 0})
def the_mask_handed_on_is_the_mask_of_the_next_step(design, c, seq_len, lookahead):
    """A remainder one short of the grid means that the next step is a boundary, and exactly then a result with a step
    ahead swaps."""
    grid = design.grid("decode", c)
    handed_on = decode.next_step_snapshots(grid, seq_len)
    return Statement(
        {"a_step_was_launched_ahead": lookahead > 0},
        both(
            handed_on == decode_checkpoint(design, c, seq_len + 1).saved,
            handed_on == slots.swap_follows_the_lookahead(grid, seq_len, lookahead),
        ),
    )


@theorem("decode", refuted_by=("sglang-0.5.17",), least={"lookahead": 0})
def a_result_labels_the_depth_of_its_own_snapshot(design, c, seq_len, lookahead, committed):
    """Whatever was launched ahead, the result of a step labels the depth that its snapshot's state has consumed, and no
    depth where no snapshot was taken."""
    checkpoint = decode_checkpoint(design, c, seq_len)
    label = current(design.label)(design.grid("decode", c), seq_len, lookahead)
    return Statement(
        {"the_steps_ahead_are_committed_as_well": committed == seq_len + lookahead},
        both(
            label == choose(checkpoint.saved, checkpoint.state, slots.NO_DEPTH),
            decode.completed_length(committed, lookahead) == seq_len,
        ),
    )
