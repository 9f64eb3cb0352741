"""The insert-time guard is exact for the depth that is recorded."""

from spec.numbers import both, divides
from spec.sglang.rules import grids, insert
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("insert")
def the_insert_guard_accepts_only_depths_with_a_node(design, c, depth):
    """A recorded depth that the insert-time guard accepts is the depth of the node it is hung on."""
    page = grids.tree_page(c)
    return Statement(
        {"the_guard_accepts_it": insert.depth_has_a_node(page, depth)},
        insert.node_depth(page, depth, depth) == depth,
    )


@theorem("insert")
def the_insert_guard_refuses_no_depth_with_a_node(design, c, depth):
    """The insert-time guard refuses no recorded depth that is the depth of its node."""
    page = grids.tree_page(c)
    return Statement(
        {"the_depth_has_a_node": insert.node_depth(page, depth, depth) == depth},
        both(insert.depth_has_a_node(page, depth), divides(page, depth)),
    )
