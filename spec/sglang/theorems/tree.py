"""Every node with a state has that state's depth: kept by donations, splits, matches, evictions and resumed requests.

A node is its depth and its state (tokens consumed; 0: it has none).  A request counts on from the state that it was
given: if that has consumed more or fewer tokens than its depth, so has every state that the request donates.
"""

from typing import Any

from spec.numbers import Number, Truth, both, choose, divides, either, implies
from spec.sglang.checkpoints import Checkpoint, extend_checkpoint, node_of
from spec.sglang.guards import chunk_and_page_fit
from spec.sglang.rules import grids, lookup, tree
from spec.sglang.rules.tree import ROOT, Node
from spec.sglang.theorems.library import having, theorem
from spec.theorem import Statement

_LEAST = dict.fromkeys(
    ("state", "other", "other_state", "best", "best_state", "held", "given", "prefix", "cut"), 0
)


def _has_the_state_of_its_depth(node: Node) -> Truth:
    """The invariant of the tree, for any one node."""
    return implies(node.has_state, node.state == node.depth)


def _same(node: Node, other: Node) -> Truth:
    return both(node.depth == other.depth, node.state == other.state)


@theorem("tree", least=_LEAST)
def a_split_leaves_the_state_on_the_node_of_its_depth(design, c, depth, state, at):
    """When a node is split, the lower part keeps its depth and its state; the upper part ends at the split and has
    no state."""
    node = Node(depth, state)
    upper, lower = tree.split(node, at)
    return Statement(
        {"the_node_has_the_state_of_its_depth": _has_the_state_of_its_depth(node)},
        both(
            _same(upper, Node(at)),
            _same(lower, node),
            _has_the_state_of_its_depth(upper),
            _has_the_state_of_its_depth(lower),
        ),
    )


@theorem("tree", least=_LEAST)
def an_eviction_moves_no_state(design, c, other, other_state, depth, state):
    """After an eviction a match returns what it would return if the node had never had a state."""
    before, node = Node(other, other_state), tree.evicted(Node(depth, state))
    given = tree.given((before, node))
    return Statement(
        {"the_node_before_has_the_state_of_its_depth": _has_the_state_of_its_depth(before)},
        both(
            _same(node, Node(depth)),
            _same(given, tree.given((before,))),
            _has_the_state_of_its_depth(given),
        ),
    )


@theorem("tree", least=_LEAST)
def a_donation_keeps_a_node_with_the_state_of_its_depth(design, c, depth, state, held):
    """A node at which the state of its depth is inserted has that state, and a match that passes it returns it."""
    after = tree.donated(Node(depth, held), state)
    return Statement(
        {
            "the_node_has_the_state_of_its_depth": _has_the_state_of_its_depth(Node(depth, held)),
            "the_state_is_of_its_depth": state == depth,
        },
        both(_same(after, Node(depth, state)), _same(tree.given((ROOT, after)), after)),
    )


@theorem("tree", least=_LEAST)
def a_node_that_has_a_state_keeps_it(design, c, depth, state, held):
    """A second donation to a node changes nothing: a wrong state stays until it is evicted."""
    node = Node(depth, held)
    return Statement({"it_has_a_state": node.has_state}, _same(tree.donated(node, state), node))


@theorem("tree", least=_LEAST)
def a_match_is_given_the_deepest_state_of_its_path(
    design, c, best, best_state, depth, state, other, other_state
):
    """At each node of its path a match has the deepest one with a state so far, or the root: no other that it came by
    is deeper."""
    so_far, node, passed = Node(best, best_state), Node(depth, state), Node(other, other_state)
    after = tree.visited(so_far, node)
    return Statement(
        {
            "the_next_node_lies_beyond_the_others": both(depth > best, depth > other),
            "none_passed_was_deeper": implies(passed.has_state, other <= best),
        },
        both(
            implies(passed.has_state, other <= after.depth),
            implies(node.has_state, depth <= after.depth),
            either(_same(after, so_far), both(node.has_state, _same(after, node))),
        ),
    )


@theorem("tree", least=_LEAST)
def a_match_is_given_the_state_of_its_depth_short_of_its_prompt(
    design, c, prompt, best, best_state, depth, state
):
    """Where a match ends inside a node it splits it; what it is given is whole tree pages, less than the prompt, and its
    state has consumed just that; of two nodes it is the deeper one exactly if that has a state and the prompt goes
    beyond it."""
    page = grids.tree_page(c)
    most = lookup.longest_given(page, prompt)
    so_far, node = Node(best, best_state), Node(depth, state)
    upper, _ = tree.split(node, most)
    reached = depth <= most
    comes_by = Node(choose(reached, depth, upper.depth), choose(reached, state, upper.state))
    given = tree.given((so_far, comes_by))
    return Statement(
        {
            "the_first_node_is_within_the_prompt": best < prompt,
            "the_first_node_is_on_the_tree_page": divides(page, best),
            "the_next_node_is_on_the_tree_page": divides(page, depth),
            "the_next_node_lies_beyond": depth > best,
            "the_first_has_the_state_of_its_depth": _has_the_state_of_its_depth(so_far),
            "the_next_has_the_state_of_its_depth": _has_the_state_of_its_depth(node),
        },
        both(
            given.state == given.depth,
            divides(page, given.depth),
            given.depth < prompt,
            (given.depth == depth) == both(state >= 1, depth < prompt),
        ),
    )


def _inserted(design: Any, c: Any, given: Node, checkpoint: Checkpoint, held: Number) -> Node:
    """The node that gets a request's checkpoint, after it held a state or none; the request resumed from `given`."""
    consumed_beyond = given.state - given.depth
    return tree.donated(
        Node(node_of(design, c, checkpoint), held), checkpoint.state + consumed_beyond
    )


def _resumed(
    design: Any, c: Any, given: Node, start: Number, end: Number, held: Number, **further: Truth
) -> Statement:
    """That the state of a chunk of a prompt from `start` to `end` is inserted at the node of its depth."""
    checkpoint = extend_checkpoint(design, c, start, end)
    node = _inserted(design, c, given, checkpoint, held)
    return Statement(
        {
            **further,
            "the_node_given_has_the_state_of_its_depth": given.state == given.depth,
            "the_extend_donates": both(checkpoint.saved, node.depth > 0),
            "the_node_has_the_state_of_its_depth": _has_the_state_of_its_depth(
                Node(node.depth, held)
            ),
            "chunk_and_page_fit": chunk_and_page_fit(c),
            "the_model_chunk_is_above_one_token": c.mamba_chunk_size > 1,
        },
        both(node.has_state, _has_the_state_of_its_depth(node)),
    )


@theorem(
    "tree",
    proved_for="sglang-0.5.20",
    refuted_by=("sglang-0.5.17", "sglang-0.5.18"),
    least=_LEAST,
)
def an_old_prompt_that_is_not_cut_is_inserted_at_the_depth_of_its_state(
    design, c, prefix, given, tokens, held
):
    """In 0.5.19 and 0.5.20 a prompt that continues in one piece from the matched node is inserted at the node of
    its state's depth."""
    on_the_page = divides(grids.tree_page(c), prefix)
    return _resumed(
        design,
        c,
        Node(prefix, given),
        prefix,
        prefix + tokens,
        held,
        the_node_given_is_on_the_tree_page=on_the_page,
    )


@theorem(
    "tree",
    refuted_by=("sglang-0.5.17", "sglang-0.5.18", "sglang-0.5.19", "sglang-0.5.20"),
    least=_LEAST,
)
def under_dcp_a_prompt_that_is_cut_anywhere_is_inserted_at_the_depth_of_its_state(
    design, c, prefix, given, cut, tokens, held
):
    """Under DCP a chunk of a prompt, the first from the matched node or a later one from any cut, is inserted at
    the node of its state's depth."""
    start = prefix + cut
    return _resumed(
        design,
        c,
        Node(prefix, given),
        start,
        start + tokens,
        held,
        dcp_is_on=c.dcp_size > 1,
    )


@theorem("tree", refuted_by=("sglang-0.5.17", "sglang-0.5.18"), least=_LEAST)
def without_dcp_a_prompt_that_is_cut_on_a_page_is_inserted_at_the_depth_of_its_state(
    design, c, prefix, given, cut, tokens, held
):
    """Without DCP a chunk of a prompt, the first from the matched node or a later one from a cut on a page, is
    inserted at the node of its state's depth."""
    c, start = having(c, dcp_size=1), prefix + cut
    return _resumed(
        design,
        c,
        Node(prefix, given),
        start,
        start + tokens,
        held,
        the_chunk_starts_on_a_page=divides(c.page_size, start),
    )
