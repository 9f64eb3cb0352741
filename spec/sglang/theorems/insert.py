"""A donation hangs on the deepest node it reaches; the insert-time guard is exact for the depth recorded."""

from spec.numbers import both, divides
from spec.sglang.rules import grids, insert
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("insert")
def a_node_is_the_deepest_one_that_the_donation_reaches(design, c, key, donated):
    """A donation no longer than its key hangs on the deepest whole tree page that it reaches."""
    page = grids.tree_page(c)
    node = insert.node_depth(page, key, donated)
    return Statement(
        {"the_key_is_no_shorter_than_the_donation": key >= donated},
        both(divides(page, node), node <= donated, donated < node + page),
    )


@theorem("insert")
def no_node_is_deeper_than_its_key(design, c, key, donated):
    """A key shorter than the donation decides the node: it is the deepest whole tree page within the key."""
    page = grids.tree_page(c)
    node = insert.node_depth(page, key, donated)
    return Statement(
        {"the_key_is_shorter_than_the_donation": key < donated},
        both(divides(page, node), node <= key, key < node + page),
    )


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
