"""An extend on the absolute grid lands on a node; a relative one does so exactly from a prefix on the tree page."""

from spec.numbers import both, divides, implies, negation
from spec.sglang.checkpoints import branching_checkpoint, extend_checkpoint, misplaced, node_of
from spec.sglang.guards import chunk_and_page_fit
from spec.sglang.rules import cuts, extend, grids, insert, lookup
from spec.sglang.theorems.library import before, since, theorem
from spec.theorem import Statement


@theorem("extend", least={"prefix": 0})
def a_prompt_is_cut_on_the_page_if_its_chunks_are_whole_pages(design, c, prefix, chunk, left):
    """The first piece of a prompt ends on the page, whatever is left of a chunk, and so do further ones of whole chunks."""
    page = c.page_size
    return Statement(
        {
            "the_prefix_is_on_the_page": divides(page, prefix),
            "the_chunk_is_whole_pages": divides(page, chunk),
        },
        both(
            divides(page, cuts.first_cut(page, left, prefix)),
            divides(page, cuts.next_cut(chunk, prefix)),
        ),
    )


@theorem("extend", least={"prefix": 0})
def an_absolute_extend_lands_on_a_node(design, c, prefix, tokens):
    """What an extend donates on the absolute grid lies beyond its prefix and is inserted at the node of its own
    depth."""
    end, grid = prefix + tokens, grids.checkpoint_grid(c)
    depth = extend.absolute_depth(grid, prefix, end)
    donates = extend.absolute_donates(grid, grids.cache_chunk_size(c), prefix, end)
    return Statement(
        {"the_extend_donates": donates},
        both(insert.node_depth(grids.tree_page(c), end, depth) == depth, depth > prefix),
    )


@theorem("extend", refuted_by=("sglang-0.5.18", "sglang-0.5.20"), least={"prefix": 0})
def an_extend_under_dcp_lands_on_a_node(design, c, prefix, tokens):
    """Under DCP an extend's donated depth lies beyond its prefix and is one that the tree can name."""
    checkpoint = extend_checkpoint(design, c, prefix, prefix + tokens)
    return Statement(
        {"dcp_is_on": c.dcp_size > 1, "the_extend_donates": checkpoint.saved},
        both(divides(grids.tree_page(c), checkpoint.recorded), checkpoint.recorded > prefix),
    )


@theorem("extend", least={"prefix": 0})
def a_relative_extend_lands_on_a_node_if_its_prefix_does(design, c, prefix, tokens):
    """From a prefix on the tree page, what an extend donates on the relative grid lands on a node, beyond its prefix and
    not beyond its end."""
    end, grid = prefix + tokens, grids.checkpoint_grid(c)
    depth = extend.relative_depth(grid, prefix, end)
    donates = extend.relative_donates(grid, grids.cache_chunk_size(c), prefix, end)
    return Statement(
        {
            "the_prefix_is_on_the_tree_page": divides(grids.tree_page(c), prefix),
            "the_extend_donates": donates,
        },
        both(
            insert.node_depth(grids.tree_page(c), end, depth) == depth, depth > prefix, depth <= end
        ),
    )


@theorem("extend", least={"prefix": 0})
def a_relative_extend_lands_on_a_node_only_if_its_prefix_does(design, c, prefix, tokens):
    """Where an extend on the relative grid lands on a node, its prefix was on the tree page."""
    depth = extend.relative_depth(grids.checkpoint_grid(c), prefix, prefix + tokens)
    node = insert.node_depth(grids.tree_page(c), prefix + tokens, depth)
    return Statement(
        {"the_depth_lands_on_a_node": node == depth}, divides(grids.tree_page(c), prefix)
    )


@theorem("extend", refuted_by=("sglang-0.5.18",), least={"prefix": 0})
def the_extend_assertion_never_fires(design, c, prefix, tokens):
    """No donating extend trips the assertion that guards the read of an intermediate state."""
    checkpoint = extend_checkpoint(design, c, prefix, prefix + tokens)
    return Statement({"the_extend_donates": checkpoint.wanted}, checkpoint.passes)


@theorem("extend", refuted_by=("sglang-0.5.17", "sglang-0.5.18"), least={"prefix": 0})
def the_row_read_is_the_row_of_the_recorded_depth(design, c, prefix, tokens):
    """The state that a donating extend reads has consumed exactly the depth recorded for it."""
    checkpoint = extend_checkpoint(design, c, prefix, prefix + tokens)
    return Statement(
        {
            "the_extend_donates": checkpoint.saved,
            "chunk_and_page_fit": chunk_and_page_fit(c),
            "the_model_chunk_is_above_one_token": c.mamba_chunk_size > 1,
        },
        checkpoint.state == checkpoint.recorded,
    )


@theorem("extend", least={"prefix": 0})
def the_row_read_exists(design, c, prefix, tokens):
    """An extend that reads an intermediate state reads a row that its kernels have written."""
    checkpoint = extend_checkpoint(design, c, prefix, prefix + tokens)
    chunk = c.mamba_chunk_size
    tracked = extend.tracked_length(chunk, prefix, prefix + tokens, checkpoint.recorded)
    return Statement(
        {"an_intermediate_state_is_read": negation(divides(chunk, tracked - prefix))},
        (tracked - prefix) // chunk * chunk < tokens,
    )


@theorem(
    "extend",
    proved_for="sglang-0.5.20",
    refuted_by=(*before("0.5.19"), *since("0.5.21")),
    least={"prefix": 0},
)
def a_relative_extend_replays_what_its_prefix_has_beyond_a_page(design, c, prefix, tokens):
    """What a relative extend donates lies beyond its node by exactly the tokens that its prefix has beyond a
    whole tree page: the next request consumes as many tokens twice."""
    end = prefix + tokens
    checkpoint = extend_checkpoint(design, c, prefix, end)
    node = insert.node_depth(grids.tree_page(c), end, checkpoint.recorded)
    return Statement(
        {
            "chunk_and_page_fit": chunk_and_page_fit(c),
            "the_model_chunk_is_above_one_token": c.mamba_chunk_size > 1,
        },
        checkpoint.state - node == prefix % grids.tree_page(c),
    )


@theorem("extend", least={"prefix": 0})
def an_absolute_extend_donates_nothing_exactly_from_a_prefix_off_the_cache_chunk(
    design, c, prefix, tokens
):
    """An extend that passes a depth on the absolute grid donates exactly if its prefix is on the cache chunk."""
    end, grid, chunk = prefix + tokens, grids.checkpoint_grid(c), grids.cache_chunk_size(c)
    return Statement(
        {"a_depth_on_the_grid_is_passed": extend.absolute_depth(grid, prefix, end) > prefix},
        extend.absolute_donates(grid, chunk, prefix, end) == divides(chunk, prefix),
    )


@theorem(
    "extend", refuted_by=("sglang-0.5.17", "sglang-0.5.18", "sglang-0.5.20"), least={"prefix": 0}
)
def under_dcp_an_extend_from_a_cut_on_the_cache_chunk_misses_no_depth(
    design, c, prefix, tokens, depth
):
    """Under DCP, an extend from a cut on the cache chunk that passes a depth on the checkpoint grid donates that one
    or a later one, itself on the grid."""
    end, grid = prefix + tokens, grids.checkpoint_grid(c)
    checkpoint = extend_checkpoint(design, c, prefix, end)
    return Statement(
        {
            "dcp_is_on": c.dcp_size > 1,
            "the_cut_is_on_the_cache_chunk": divides(grids.cache_chunk_size(c), prefix),
            "the_depth_is_on_the_grid": divides(grid, depth),
            "the_depth_lies_beyond_the_prefix": depth > prefix,
            "the_depth_is_reached": depth <= end,
        },
        both(checkpoint.saved, checkpoint.recorded >= depth, divides(grid, checkpoint.recorded)),
    )


@theorem("extend", least={"prefix": 0})
def an_extend_from_a_donated_depth_misses_no_depth(design, c, prefix, tokens, depth):
    """With DCP or without, an extend from a depth on the donation grid that passes another one donates that or a later."""
    end, grid = prefix + tokens, design.grid("extend", c)
    checkpoint = extend_checkpoint(design, c, prefix, end)
    return Statement(
        {
            "the_prefix_is_on_the_donation_grid": divides(grid, prefix),
            "the_depth_is_on_the_donation_grid": divides(grid, depth),
            "the_depth_lies_beyond_the_prefix": depth > prefix,
            "the_depth_is_reached": depth <= end,
        },
        both(checkpoint.saved, checkpoint.recorded >= depth, checkpoint.recorded <= end),
    )


@theorem("extend", refuted_by=("sglang-0.5.17", "sglang-0.5.18"), least={"prefix": 0})
def the_row_read_for_a_branching_point_is_its_own(design, c, prefix, tokens, point):
    """An extend that keeps a branching point, which lies short of its end, passes its assertion and reads
    the state that has consumed exactly it."""
    end = prefix + tokens
    checkpoint = branching_checkpoint(design, c, prefix, end, point)
    return Statement(
        {
            "the_branching_point_is_kept": checkpoint.wanted,
            "chunk_and_page_fit": chunk_and_page_fit(c),
            "the_model_chunk_is_above_one_token": c.mamba_chunk_size > 1,
        },
        both(
            prefix < checkpoint.recorded,
            checkpoint.recorded < end,
            checkpoint.passes,
            checkpoint.state == checkpoint.recorded,
        ),
    )


@theorem("extend", least={"prefix": 0})
def a_branching_point_beyond_the_depth_that_is_donated_is_not_kept(
    design, c, prefix, tokens, chunks
):
    """A branching point takes the place of the depth that an extend would donate only if it is no deeper."""
    point, end = prefix + chunks * grids.cache_chunk_size(c), prefix + tokens
    return Statement(
        {"it_lies_beyond": point > extend_checkpoint(design, c, prefix, end).recorded},
        negation(branching_checkpoint(design, c, prefix, end, point).wanted),
    )


@theorem("extend", least={"prefix": 0, "hit": 0})
def an_extend_from_a_donated_node_keeps_its_branching_point(design, c, prefix, tokens, hit):
    """An extend from a depth on the donation grid keeps its branching point, if the hit ends before the extend
    does."""
    grid = design.grid("extend", c)
    point = lookup.branching_point(grid, hit)
    return Statement(
        {
            "the_prefix_is_on_the_donation_grid": divides(grid, prefix),
            "the_point_is_told": lookup.is_branching_point(point, prefix),
            "the_hit_ends_before_the_extend": hit < prefix + tokens,
        },
        branching_checkpoint(design, c, prefix, prefix + tokens, point).saved,
    )


# The rules of 0.5.17 and 0.5.18, which count rows in cache chunks and assert on the depth itself.


@theorem("extend", least={"prefix": 0})
def the_old_assertion_holds_from_a_prefix_on_the_cache_chunk(design, c, prefix, tokens):
    """The assertion on the depth itself holds for every extend whose prefix is on the cache chunk."""
    chunk, end = grids.cache_chunk_size(c), prefix + tokens
    depth = extend.relative_depth(grids.checkpoint_grid(c), prefix, end)
    return Statement(
        {"the_prefix_is_on_the_cache_chunk": divides(chunk, prefix)},
        extend.depth_is_on_the_chunk(chunk, prefix, depth),
    )


@theorem("extend", least={"prefix": 0})
def the_old_assertion_is_not_reached_where_the_grid_is_the_cache_chunk(design, c, prefix, tokens):
    """Where the checkpoint grid is the cache chunk, no extend asks for a state before its last row."""
    chunk, end = grids.cache_chunk_size(c), prefix + tokens
    depth = extend.relative_depth(grids.checkpoint_grid(c), prefix, end)
    return Statement(
        {"the_checkpoint_grid_is_the_cache_chunk": grids.checkpoint_grid(c) == chunk},
        negation(extend.forces_intermediate(chunk, prefix, end, depth)),
    )


@theorem("extend", least={"prefix": 0})
def the_old_row_is_right_where_the_page_is_within_the_model_chunk(design, c, prefix, tokens):
    """Rows counted in cache chunks are the kernels' rows where the page is no larger than the model's chunk."""
    chunk, end = grids.cache_chunk_size(c), prefix + tokens
    depth = extend.relative_depth(grids.checkpoint_grid(c), prefix, end)
    tracked = extend.tracked_length(chunk, prefix, end, depth)
    return Statement(
        {
            "the_page_is_within_the_model_chunk": c.page_size <= c.mamba_chunk_size,
            "the_model_chunk_is_above_one_token": c.mamba_chunk_size > 1,
        },
        extend.state_depth(chunk, c.mamba_chunk_size, prefix, end, tracked) == depth,
    )


@theorem(
    "extend",
    proved_for="sglang-0.5.18",
    refuted_by=("sglang-0.5.17", *since("0.5.19")),
    least={"prefix": 0},
)
def the_old_assertion_fires_exactly_for_an_earlier_row_from_a_prefix_off_the_chunk(
    design, c, prefix, tokens
):
    """From a prefix off the cache chunk, the assertion on the depth itself stops an extend of a whole grid exactly if a
    whole chunk lies beyond the depth; any other one of a whole grid donates, and a shorter one is not stopped."""
    chunk, grid = grids.cache_chunk_size(c), grids.checkpoint_grid(c)
    checkpoint = extend_checkpoint(design, c, prefix, prefix + tokens)
    whole, earlier = tokens >= grid, tokens % grid >= chunk
    return Statement(
        {"the_prefix_is_off_the_cache_chunk": negation(divides(chunk, prefix))},
        both(
            checkpoint.fault == both(whole, earlier),
            checkpoint.saved == both(whole, negation(earlier)),
            implies(checkpoint.fault, negation(misplaced(design, c, checkpoint))),
        ),
    )


@theorem("extend", proved_for="sglang-0.5.18", least={"prefix": 0})
def an_old_row_scales_its_depth_down_where_the_page_is_above_the_model_chunk(
    design, c, prefix, tokens
):
    """Rows counted in cache chunks give a state of chunk tokens for each page of the recorded depth."""
    end = prefix + tokens
    checkpoint = extend_checkpoint(design, c, prefix, end)
    return Statement(
        {
            "the_page_is_above_the_model_chunk": c.page_size > c.mamba_chunk_size,
            "an_earlier_row_is_read": end - checkpoint.recorded >= grids.cache_chunk_size(c),
        },
        (checkpoint.state - prefix) // c.mamba_chunk_size
        == (checkpoint.recorded - prefix) // c.page_size,
    )


@theorem("extend", least={"prefix": 0})
def an_extend_of_a_whole_grid_donates_without_dcp(design, c, prefix, tokens):
    """Without DCP an extend of a whole checkpoint grid donates from any prefix, less than a grid before its end."""
    end, grid = prefix + tokens, grids.checkpoint_grid(c)
    checkpoint = extend_checkpoint(design, c, prefix, end)
    return Statement(
        {"dcp_is_off": c.dcp_size == 1, "the_extend_is_a_whole_grid": tokens >= grid},
        both(checkpoint.saved, checkpoint.recorded + grid > end),
    )


@theorem(
    "extend",
    proved_for="sglang-0.5.18+insert-guard",
    refuted_by=("sglang-0.5.18",),
    least={"prefix": 0},
)
def with_the_insert_guard_an_extend_is_inserted_at_its_recorded_depth(design, c, prefix, tokens):
    """With the insert-time guard, a state that is inserted at a node was recorded for the depth of that node."""
    checkpoint = extend_checkpoint(design, c, prefix, prefix + tokens)
    node = node_of(design, c, checkpoint)
    return Statement(
        {"it_is_inserted": node > 0},
        both(node == checkpoint.recorded, divides(grids.tree_page(c), node)),
    )


@theorem("extend", proved_for="sglang-0.5.18", least={"prefix": 0})
def an_old_extend_with_a_wrong_row_has_the_wrong_prefix_even_from_the_tree_page(
    design, c, prefix, tokens
):
    """A state read from a wrong row is inserted under a wrong prefix, though the depth recorded for it is the node's."""
    checkpoint = extend_checkpoint(design, c, prefix, prefix + tokens)
    return Statement(
        {
            "the_prefix_is_on_the_tree_page": divides(grids.tree_page(c), prefix),
            "the_extend_donates": checkpoint.saved,
            "the_row_is_wrong": checkpoint.state != checkpoint.recorded,
        },
        misplaced(design, c, checkpoint),
    )


@theorem("extend", proved_for="sglang-0.5.18", least={"prefix": 0})
def an_old_extend_that_is_stopped_keeps_no_branching_point(design, c, prefix, tokens, point):
    """An extend that the assertion on the depth stops is stopped whatever its branching point."""
    end = prefix + tokens
    return Statement(
        {"the_extend_is_stopped": extend_checkpoint(design, c, prefix, end).fault},
        negation(branching_checkpoint(design, c, prefix, end, point).wanted),
    )
