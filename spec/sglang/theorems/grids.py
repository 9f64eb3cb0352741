"""The track grid is the least grid that the tree page, the cache chunk and the interval all divide."""

from spec.numbers import both, divides, gcd, lcm
from spec.sglang import guards
from spec.sglang.rules import grids, insert
from spec.sglang.theorems.library import having, theorem
from spec.theorem import Statement


@theorem("grids")
def every_track_depth_is_a_multiple_of_all_three_grids(design, c, depth):
    """Each multiple of the track grid is a multiple of the tree page, of the cache chunk and of the interval."""
    return Statement(
        {"the_depth_is_on_the_track_grid": divides(grids.track_grid(c), depth)},
        both(
            divides(grids.tree_page(c), depth),
            divides(grids.cache_chunk_size(c), depth),
            divides(c.mamba_track_interval, depth),
        ),
    )


@theorem("grids")
def no_common_multiple_is_missed(design, c, depth):
    """The track grid is the least one: each depth on tree page, cache chunk and interval is on it, and no less."""
    return Statement(
        {
            "the_depth_is_on_the_tree_page": divides(grids.tree_page(c), depth),
            "the_depth_is_on_the_cache_chunk": divides(grids.cache_chunk_size(c), depth),
            "the_depth_is_on_the_interval": divides(c.mamba_track_interval, depth),
        },
        both(divides(grids.track_grid(c), depth), depth >= grids.track_grid(c)),
    )


@theorem("grids")
def an_aligned_interval_is_left_unchanged(design, c):
    """Where tree page and cache chunk divide the interval, the track grid is the interval itself."""
    interval = c.mamba_track_interval
    return Statement(
        {
            "the_tree_page_divides_the_interval": divides(grids.tree_page(c), interval),
            "the_cache_chunk_divides_the_interval": divides(grids.cache_chunk_size(c), interval),
        },
        grids.track_grid(c) == interval,
    )


@theorem("grids")
def one_checkpoint_in_a_period_lands_on_a_node(design, c, grid, k):
    """Of the checkpoints on any grid, those whose number is a multiple of the period lie on a node, and no others."""
    return Statement(
        {},
        divides(grids.tree_page(c), k * grid) == divides(grids.period(c, grid), k),
    )


@theorem("grids")
def the_configured_page_guard_does_not_imply_a_safe_interval(design, c, pages):
    """An interval of whole configured pages passes the engine's guard, and yet its first checkpoint misses its
    node whenever dcp_size does not divide that number of pages: the witness is such a configuration."""
    interval = c.mamba_track_interval
    node = insert.node_depth(grids.tree_page(c), interval, interval)
    return Statement(
        {
            "the_interval_is_whole_configured_pages": interval == c.page_size * pages,
            "dcp_size_does_not_divide_those_pages": pages % c.dcp_size != 0,
        },
        both(guards.interval_is_whole_configured_pages(c), node != interval),
    )


# What the guard on chunk and page buys.


@theorem("grids")
def the_cache_chunk_is_whole_chunks_and_pages_if_one_divides_the_other(design, c):
    """Where one of the model's chunk and the page divides the other, the cache chunk is their least common multiple."""
    return Statement(
        {"chunk_and_page_fit": guards.chunk_and_page_fit(c)},
        grids.cache_chunk_size(c) == lcm(c.mamba_chunk_size, c.page_size),
    )


@theorem("grids")
def the_cache_chunk_is_whole_chunks_and_pages_only_if_one_divides_the_other(design, c):
    """Where the cache chunk is a multiple of the model's chunk and of the page, the guard on the two is met."""
    chunk = grids.cache_chunk_size(c)
    return Statement(
        {
            "the_cache_chunk_is_whole_model_chunks": divides(c.mamba_chunk_size, chunk),
            "the_cache_chunk_is_whole_pages": divides(c.page_size, chunk),
        },
        guards.chunk_and_page_fit(c),
    )


@theorem("grids")
def the_checkpoint_grid_is_the_least_for_the_model_chunk_and_the_tree_page(design, c):
    """Under the guard on chunk and page, the checkpoint grid is the least that model chunk and tree page divide."""
    return Statement(
        {"chunk_and_page_fit": guards.chunk_and_page_fit(c)},
        grids.checkpoint_grid(c) == lcm(c.mamba_chunk_size, grids.tree_page(c)),
    )


# How the track grid depends on what it is made of.


@theorem("grids")
def a_divisor_of_the_interval_gives_a_divisor_of_the_track_grid(design, c, divisor):
    """Where one interval divides another, each checkpoint of the longer is one of the shorter as well."""
    return Statement(
        {"it_divides_the_interval": divides(divisor, c.mamba_track_interval)},
        divides(grids.track_grid(having(c, mamba_track_interval=divisor)), grids.track_grid(c)),
    )


@theorem("grids")
def a_shorter_interval_can_give_a_coarser_track_grid(design, c, multiple, shorter):
    """One token less than a multiple of the checkpoint grid gives a coarser track grid than the multiple: at least
    twice the shorter interval.  The witness is such a configuration."""
    interval, grid = c.mamba_track_interval, grids.checkpoint_grid(c)
    coarser = grids.track_grid(having(c, mamba_track_interval=shorter))
    return Statement(
        {
            "the_interval_is_a_multiple_of_the_checkpoint_grid": interval == grid * multiple,
            "the_checkpoint_grid_is_above_one_token": grid > 1,
            "the_other_is_one_token_shorter": shorter == interval - 1,
            "the_other_is_above_one_token": shorter > 1,
        },
        both(
            coarser != shorter,
            coarser >= shorter,
            coarser - shorter >= shorter,
            grids.track_grid(c) == interval,
            coarser > interval,
        ),
    )


@theorem("grids")
def the_interval_is_rounded_up_by_what_it_lacks_of_the_checkpoint_grid(design, c, times):
    """The interval is rounded up by a factor, which is the checkpoint grid divided by what it shares with the interval
    and so is at most the checkpoint grid."""
    interval, grid = grids.track_interval(c), grids.checkpoint_grid(c)
    lacking = grid // gcd(interval, grid)
    return Statement(
        {"the_track_grid_is_this_many_intervals": grids.track_grid(c) == interval * times},
        both(grids.track_grid(c) <= interval * lacking, times == lacking, times <= grid),
    )


@theorem("grids")
def the_cache_chunk_is_not_needed_for_a_node_and_makes_checkpoints_rarer(design, c, grid, k):
    """Each multiple of the grid of tree page and interval has a node already; of these depths, one in (cache
    chunk divided by what it shares with that grid) is on the track grid."""
    chunk, depth = grids.cache_chunk_size(c), k * grid
    return Statement(
        {
            "the_grid_is_of_page_and_interval": grid
            == lcm(grids.tree_page(c), grids.track_interval(c))
        },
        both(
            insert.node_depth(grids.tree_page(c), depth, depth) == depth,
            divides(grids.track_grid(c), depth) == divides(chunk // gcd(grid, chunk), k),
        ),
    )
