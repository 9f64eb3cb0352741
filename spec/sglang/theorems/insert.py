"""A donation hangs on the deepest node it reaches; the insert-time guard is exact for the depth recorded."""

from spec.numbers import both, divides
from spec.sglang.life import finished, keeping
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


def _finish(design, c, key, label, previous):
    """What a finish donates of two entries that hold the states of their labels."""
    return finished(design, c, keeping(label, previous), key)


@theorem(
    "insert",
    refuted_by=tuple(f"sglang-0.5.{n}" for n in range(17, 22)),
    least={"label": 0, "previous": 0},
)
def a_finish_donates_no_state_beyond_its_key(design, c, key, label, previous):
    """The state that a finish donates has consumed exactly the depth recorded for it, which its key reaches."""
    donated = _finish(design, c, key, label, previous)
    return Statement(
        {"something_is_donated": donated.saved},
        both(donated.state == donated.recorded, donated.recorded <= key),
    )


@theorem(
    "insert",
    proved_for="sglang-0.5.21",
    refuted_by=("sglang-0.5.22", "sglang-0.5.23"),
    least={"previous": 0},
)
def an_old_finish_overshoots_its_node_exactly_where_the_label_passes_the_key(
    design, c, key, label, previous
):
    """Under a label cut to the key, a state whose label is whole tree pages lies beyond its node exactly if that label
    passes the key."""
    donated = _finish(design, c, key, label, previous)
    node = insert.node_depth(grids.tree_page(c), key, donated.recorded)
    return Statement(
        {"the_label_is_whole_tree_pages": divides(grids.tree_page(c), label)},
        both(donated.state >= node, (donated.state > node) == (label > key)),
    )
