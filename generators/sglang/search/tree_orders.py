"""Searches orders of donations, matches, splits and evictions in the tree for a node with a state of another depth.

For the modelled releases the theorems of family `tree` show that there is none; a design with a tree rule of the
user's own is searched.  Requests share a prefix of a whole page or a whole checkpoint unit with the first one; each
donates a state of its own depth, so that what is wrong was made wrong by the tree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from generators.cases.domain import DOMAIN_FIELDS
from generators.cases.file_format import Case, Event, spelled
from generators.search.user_design.load import own_rules
from generators.sglang import codes
from generators.sglang.emit.trees import Insert, Key, Tree
from spec.sglang.releases import Design
from spec.sglang.rules import grids

TREE_RULES = frozenset(
    ("node_keeps", "split_above", "split_below", "eviction_leaves", "longest_given")
)
MOST_EVENTS = 4
_LONGEST = 1 << 14  # tokens of a request; a coarser grid is not searched


@dataclass(frozen=True)
class _Found:
    """What ends wrong: the event that made it so, the trace, the depths (tokens) of node and state."""

    by: str
    trace: tuple[Event, ...]
    node: int
    state: int


@dataclass(frozen=True)
class _State:
    nodes: Mapping[Key, Any]
    trace: tuple[Event, ...] = ()


class TreeSearch:
    """Breadth-first over what can happen in the tree of one design and configuration."""

    def __init__(self, design: Design, c: Any):
        self.design, self.c = design, c
        self.page = int(grids.tree_page(c))
        self.unit = math.lcm(int(design.grid("extend", c)), self.page)
        self.first = range(2 * self.unit)

    @property
    def is_too_long(self) -> bool:
        """Whether its requests have more tokens than are searched."""
        return 2 * self.unit > _LONGEST

    def run(self) -> Iterator[_Found]:
        """The shortest trace by which each kind of event makes something wrong."""
        frontier, known, told = [_State({})], set(), set[str]()
        for _ in range(0 if self.is_too_long else MOST_EVENTS):
            following = []
            for state in frontier:
                for after, found in self._after(state):
                    if found is not None:
                        if found.by not in told:
                            told.add(found.by)
                            yield found
                    elif (key := frozenset(after.nodes.items())) not in known:
                        known.add(key)
                        following.append(after)
            frontier = following

    def _after(self, state: _State) -> Iterator[tuple[_State, _Found | None]]:
        for shared in (0, self.page, self.unit, 2 * self.unit) if state.nodes else (0,):
            for depth in (self.unit, 2 * self.unit):
                if shared <= depth:
                    yield self._donation(state, shared, depth)
        if state.nodes:
            for length in sorted({self.page, self.page + 1, self.unit, self.unit + 1}):
                yield self._match(state, length)
        for key, node in state.nodes.items():
            if node.has_state:
                yield self._eviction(state, key)

    def _tree(self, state: _State) -> Tree:
        return Tree(self.design, self.c, dict(state.nodes))

    def _donation(self, state: _State, shared: int, depth: int) -> tuple[_State, _Found | None]:
        """A request that shares so much with the first one, computes the rest and donates its state at `depth`."""
        tree = self._tree(state)
        tokens = [*self.first[:shared], *(-1 - i for i in range(shared, depth))]
        if not shared:
            tokens = list(self.first[:depth])
        tree.donate(tokens, Insert(0, depth, depth))
        events = (Event("extend", depth, depth, depth), Event("finish", 0, depth, node_depth=depth))
        return self._told(state, tree, "donate", events)

    def _match(self, state: _State, length: int) -> tuple[_State, _Found | None]:
        """A prompt of so many tokens of the first request."""
        tree = self._tree(state)
        given = tree.match(list(self.first[:length]))
        node = int(given["node"] or 0)
        event = Event("match", length, length, node_depth=node)
        if node >= length:
            trace = (*state.trace, event)
            return state, _Found("match", trace, length - 1, int(given["state"] or 0))
        return self._told(state, tree, "match", (event,))

    def _eviction(self, state: _State, key: Key) -> tuple[_State, _Found | None]:
        tree = self._tree(state)
        tree.evict(key)
        depth = len(key) * self.page
        return self._told(state, tree, "evict", (Event("evict", 0, depth, node_depth=depth),))

    def _told(
        self, before: _State, tree: Tree, by: str, events: Iterable[Event]
    ) -> tuple[_State, _Found | None]:
        """The tree after an event, and the first node that it left with a state of another depth."""
        new = [key for key in tree.nodes if key not in before.nodes]
        parts = [
            key
            for key in new
            if any(len(key) < len(k) and k[: len(key)] == key for k in before.nodes)
        ]
        at = [len(key) * self.page for key in parts]
        trace = (
            *before.trace,
            *(Event("split", 0, depth, node_depth=depth) for depth in at),
            *events,
        )
        wrong = [
            node for node in tree.nodes.values() if node.has_state and node.state != node.depth
        ]
        found = None
        if wrong:
            of_a_split = at and (wrong[0].depth in at or by == "match")
            found = _Found(
                "split" if of_a_split else by, trace, int(wrong[0].depth), int(wrong[0].state)
            )
        return _State(tree.nodes, trace), found


def trees_left_out(design: Design, configurations: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Why the tree of some of these configurations is not searched, as a sentence; none where all are."""
    if TREE_RULES.isdisjoint(own_rules(design)):
        return ()
    searches = [TreeSearch(design, SimpleNamespace(**values)) for values in configurations]
    left = sum(search.is_too_long for search in searches)
    said = f"the tree is not searched where two checkpoint units exceed {_LONGEST:,} tokens"
    return (f"{said}: {left} of {len(searches)} configurations",) if left else ()


def tree_cases(design: Design, configurations: Iterable[Mapping[str, Any]]) -> list[Case]:
    """The cases of these configurations, the first of each kind; none where no rule of the tree is a user's own."""
    if TREE_RULES.isdisjoint(own_rules(design)):
        return []
    cases: dict[str, Case] = {}
    for values in configurations:
        for found in TreeSearch(design, SimpleNamespace(**values)).run():
            cases.setdefault(found.by, _case(design, values, found))
    return list(cases.values())


def _case(design: Design, values: Mapping[str, Any], found: _Found) -> Case:
    return Case(
        id=f"{codes.TREE_STATE.name}-{found.by}-{spelled(values)}",
        code=codes.TREE_STATE.id,
        outcome="misplaced",
        configuration={
            **{name: values[name] for name in DOMAIN_FIELDS},
            "engine": f"sglang=={design.release}",
        },
        trace=found.trace,
        depths={"state": found.state, "node": found.node, "replayed": found.state - found.node},
        klass={"by": found.by, "rules": list(own_rules(design))},
    )
