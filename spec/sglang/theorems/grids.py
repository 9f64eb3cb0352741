"""The track grid is the least grid that the tree page, the cache chunk and the interval all divide."""

from spec.numbers import both, divides
from spec.sglang import configuration
from spec.sglang.rules import grids, insert
from spec.sglang.theorems.library import theorem
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
def without_dcp_the_tree_page_is_the_configured_page(design, c):
    """Only decode context parallelism widens the tree page."""
    return Statement({"dcp_is_off": c.dcp_size == 1}, grids.tree_page(c) == c.page_size)


@theorem("grids")
def one_checkpoint_in_a_period_lands_on_a_node(design, c, grid, k):
    """Of the checkpoints on any grid, those whose number is a multiple of the period lie on a node."""
    return Statement(
        {"the_number_is_a_multiple_of_the_period": divides(grids.period(c, grid), k)},
        divides(grids.tree_page(c), k * grid),
    )


@theorem("grids")
def no_other_checkpoint_in_a_period_lands_on_a_node(design, c, grid, k):
    """Of the checkpoints on any grid, only those whose number is a multiple of the period lie on a node."""
    return Statement(
        {"the_checkpoint_lies_on_a_node": divides(grids.tree_page(c), k * grid)},
        divides(grids.period(c, grid), k),
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
        both(configuration.interval_is_whole_configured_pages(c), node != interval),
    )
