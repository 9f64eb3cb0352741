"""The radix tree: what a prompt is given, and what comes with it, after donations, splits and evictions."""

from dataclasses import replace

import pytest

from spec.sglang.configuration import Configuration
from spec.sglang.radix_tree import Tree
from spec.sglang.releases import CURRENT

C = Configuration(page_size=4, mamba_chunk_size=4, mamba_track_interval=4)
PROMPT, OTHER = range(12), [*range(4), *range(100, 108)]


def newest(held, state):
    """A rule by which a node holds the last state that was donated to it."""
    return state


def half(depth, state, at):
    """A rule by which a split leaves the node's state on its upper part, too."""
    return state


def last_token_too(page, prompt):
    """A rule by which a prompt is given states of all its tokens."""
    return prompt // page * page


def all_but_a_token(state):
    """A rule by which an evicted node still holds a state."""
    return state - 1


def tree_with(*donations, **rules):
    """A tree to which these (tokens, depth, payload) were donated, each with the state of its depth."""
    tree = Tree(replace(CURRENT, **rules), C)
    for tokens, depth, payload in donations:
        tree.insert(tokens, depth, depth, payload)
    return tree


def seen(tree, tokens):
    given = tree.match(tokens)
    return int(given.node.depth), int(given.node.state), given.payload


@pytest.mark.parametrize(
    ("rules", "given"), [({}, (8, 8, "first")), ({"node_keeps": newest}, (8, 7, "second"))]
)
def test_what_came_with_a_state_is_given_with_that_state(rules, given):
    tree = tree_with((PROMPT, 8, "first"), **rules)
    tree.insert(PROMPT, 8, 7, "second")
    assert seen(tree, PROMPT) == given


@pytest.mark.parametrize(
    ("rules", "above"), [({}, (0, 0, None)), ({"split_above": half}, (4, 8, "a"))]
)
def test_a_prompt_that_leaves_a_node_inside_splits_it(rules, above):
    tree = tree_with((PROMPT, 8, "a"), **rules)
    assert seen(tree, OTHER) == above
    assert sorted(len(key) for key in tree.nodes) == [1, 2]
    assert seen(tree, PROMPT) == (8, 8, "a")


@pytest.mark.parametrize(
    ("rules", "given"), [({}, (4, 4, "a")), ({"longest_given": last_token_too}, (8, 8, "b"))]
)
def test_a_prompt_is_never_given_its_last_token(rules, given):
    tree = tree_with((PROMPT, 4, "a"), (PROMPT, 8, "b"), **rules)
    assert seen(tree, PROMPT[:8]) == given


@pytest.mark.parametrize(
    ("rules", "given"), [({}, (4, 4, "a")), ({"eviction_leaves": all_but_a_token}, (8, 7, "b"))]
)
def test_an_evicted_state_is_not_given_with_what_came_with_it(rules, given):
    tree = tree_with((PROMPT, 4, "a"), (PROMPT, 8, "b"), **rules)
    tree.evict(tree.pages(PROMPT, 8))
    assert seen(tree, PROMPT) == given


def test_a_state_that_is_donated_after_an_eviction_is_given_with_its_own_payload():
    tree = tree_with((PROMPT, 8, "evicted"))
    tree.evict(tree.pages(PROMPT, 8))
    assert seen(tree, PROMPT) == (0, 0, None)
    tree.insert(PROMPT, 8, 8, "new")
    assert seen(tree, PROMPT) == (8, 8, "new")


def test_the_state_that_was_not_used_for_longest_is_evicted_first():
    tree = tree_with((PROMPT, 8, "a"), (OTHER, 8, "b"))
    tree.match(PROMPT)
    assert tree.evict_least_recent(1) == 1
    assert seen(tree, PROMPT) == (8, 8, "a")
    assert seen(tree, OTHER) == (0, 0, None)
    assert tree.evict_least_recent(5) == 1


def test_a_prompt_keeps_a_state_where_it_leaves_what_is_known_beyond_its_node():
    tree = tree_with((PROMPT, 12, "a"))
    assert tree.match([*PROMPT[:8], 99]).branching == 8
    assert tree.match([*PROMPT, 99]).branching is None
