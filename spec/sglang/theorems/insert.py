"""A donation is inserted at the deepest node it reaches; the insert-time guard is exact for the depth recorded."""

from spec.numbers import both, divides, either
from spec.sglang.rules import grids, insert
from spec.sglang.slot_buffer import finished, keeping
from spec.sglang.theorems.library import before, since, theorem
from spec.theorem import Statement


@theorem("insert")
def a_node_is_the_deepest_one_that_the_donation_and_its_key_reach(design, c, key, donated):
    """A donation is inserted at the deepest whole tree page that both it and its key reach."""
    page = grids.tree_page(c)
    node = insert.node_depth(page, key, donated)
    return Statement(
        {},
        both(
            divides(page, node),
            node <= donated,
            node <= key,
            either(donated < node + page, key < node + page),
        ),
    )


@theorem("insert")
def the_insert_guard_accepts_exactly_the_depths_with_a_node(design, c, depth):
    """The insert-time guard accepts a recorded depth exactly if it is the depth of the node that gets the state."""
    page = grids.tree_page(c)
    return Statement(
        {},
        insert.depth_has_a_node(page, depth) == (insert.node_depth(page, depth, depth) == depth),
    )


def _finish(design, c, key, label, previous):
    """What a finish donates of two entries that hold the states of their labels."""
    return finished(design, c, keeping(label, previous), key)


@theorem(
    "insert",
    refuted_by=before("0.5.22"),
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
    refuted_by=since("0.5.22"),
    least={"previous": 0},
)
def an_old_finish_has_a_state_beyond_its_node_exactly_where_the_label_passes_the_key(
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
