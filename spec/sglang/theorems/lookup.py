"""A match ends before its prompt does, and a branching point is a depth that a node can have."""

from spec.numbers import both, divides
from spec.sglang.rules import grids, insert, lookup
from spec.sglang.theorems.library import theorem
from spec.theorem import Statement


@theorem("lookup", least={"node": 0})
def a_request_matches_a_node_exactly_if_its_prompt_goes_beyond_it(design, c, prompt, node):
    """A match covers whole tree pages of a prompt, and includes a node exactly if the prompt is longer than the node is
    deep: a prompt as long as a node's depth does not match that node."""
    page = grids.tree_page(c)
    given = lookup.longest_given(page, prompt)
    return Statement(
        {"the_node_is_on_the_tree_page": divides(page, node)},
        both(divides(page, given), (node <= given) == (node < prompt)),
    )


@theorem("lookup", refuted_by=("sglang-0.5.17",), least={"pages": 0, "node": 0})
def the_branching_point_is_a_depth_that_a_node_can_have(design, c, pages, node):
    """After a hit of whole tree pages, the branching point is the depth of the node that its state is inserted at, and
    lies beyond the node matched."""
    page = grids.tree_page(c)
    point = lookup.branching_point(design.grid("extend", c), pages * page)
    return Statement(
        {"there_is_a_branching_point": lookup.is_branching_point(point, node)},
        both(insert.node_depth(page, point, point) == point, point > 0),
    )


@theorem("lookup", least={"hit": 0, "depth": 0, "node": 0})
def the_branching_point_is_the_last_depth_on_the_grid_within_the_hit(design, c, hit, node, depth):
    """Where depths on the donation grid lie beyond the node matched and within the hit, the branching point is the last
    of them: the hit ends less than one grid beyond it."""
    grid = design.grid("extend", c)
    point = lookup.branching_point(grid, hit)
    return Statement(
        {
            "the_depth_is_on_the_grid": divides(grid, depth),
            "the_depth_lies_beyond_the_node": depth > node,
            "the_depth_is_within_the_hit": depth <= hit,
        },
        both(
            lookup.is_branching_point(point, node), depth <= point, point <= hit, hit < point + grid
        ),
    )
