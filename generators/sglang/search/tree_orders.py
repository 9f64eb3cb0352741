"""Searches orders of donations, matches, splits and evictions in the tree for a node with a state of another depth.

For the modelled releases the theorems of family `tree` show that there is none; a design with a tree rule of the
user's own is searched.  Requests share a prefix of a whole page or a whole checkpoint unit with the first one; each
donates a state of its own depth, so that what is wrong was made wrong by the tree.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from generators.cases.file_format import Case, Event, spelled
from generators.search.user_design.load import own_rules
from generators.sglang import codes
from spec.sglang.configuration import Configuration
from spec.sglang.engine import ENGINE, FIELD_NAMES
from spec.sglang.radix_tree import Key, Tree
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.sglang.slot_buffer import finished, keeping
from spec.transition_system import Trace, Wrong, shortest_traces

TREE_RULES = frozenset(
    ("node_keeps", "split_above", "split_below", "eviction_leaves", "longest_given")
)
MOST_EVENTS = 4
_LONGEST = 1 << 14  # tokens of a request; a coarser grid is not searched


@dataclass(frozen=True)
class _Move:
    """What happens in the tree, and the events of a case that show it, the splits that it brought about among them."""

    by: str
    events: tuple[Event, ...]


@dataclass(frozen=True)
class _State:
    """The nodes of the tree; `made`: what the last move made wrong, by which kind of event."""

    nodes: frozenset[tuple[Key, Any]] = frozenset()
    made: Wrong | None = field(default=None, compare=False)


class TreeLife:
    """What can happen in the tree of one design and configuration: a model whose states are trees."""

    untried = ()

    def __init__(self, design: Design, c: Any):
        self.design, self.c = design, c
        self.page = int(grids.tree_page(c))
        self.unit = math.lcm(int(design.grid("extend", c)), self.page)
        self.first = range(2 * self.unit)

    @property
    def is_too_long(self) -> bool:
        """Whether its requests have more tokens than are searched."""
        return 2 * self.unit > _LONGEST

    def run(self) -> tuple[Trace, ...]:
        """The shortest trace by which each kind of event makes something wrong."""
        return () if self.is_too_long else shortest_traces(self, MOST_EVENTS).traces

    def starts(self) -> Iterator[tuple[tuple[_Move, ...], _State]]:
        """An empty tree."""
        yield (), _State()

    def ways(self, state: _State) -> Iterator[tuple[None, Hashable]]:
        """One: all that can happen next."""
        yield None, (None, state)

    def successors(self, state: _State, way: None) -> Iterator[tuple[_Move, _State]]:
        """Donations of requests that share a prefix with the first one, matches, evictions."""
        for shared in (0, self.page, self.unit, 2 * self.unit) if state.nodes else (0,):
            for depth in (self.unit, 2 * self.unit):
                if shared <= depth:
                    yield self._donation(state, shared, depth)
        if state.nodes:
            for length in sorted({self.page, self.page + 1, self.unit, self.unit + 1}):
                yield self._match(state, length)
        for key, node in dict(state.nodes).items():
            if node.has_state:
                yield self._eviction(state, key)

    def special(self, state: _State, move: _Move) -> None:
        """Nothing that can happen in a tree is special."""
        return None

    def wrong(self, state: _State) -> Wrong | None:
        """The first node that the last move left with a state of another depth."""
        return state.made

    def judged(self, state: _State) -> _State:
        """The tree as it is."""
        return state

    def is_end(self, move: _Move) -> bool:
        """A tree goes on for ever."""
        return False

    def _tree(self, state: _State) -> Tree[None]:
        return Tree(self.design, self.c, dict(state.nodes))

    def _donation(self, state: _State, shared: int, depth: int) -> tuple[_Move, _State]:
        """A request that shares so much with the first one, computes the rest and donates its state at `depth`."""
        tree = self._tree(state)
        tokens = [*self.first[:shared], *(-1 - i for i in range(shared, depth))]
        if not shared:
            tokens = list(self.first[:depth])
        donated = finished(self.design, self.c, keeping(depth), depth)
        tree.insert_checkpoint(tokens, donated)
        events = (Event("extend", depth, depth, depth), Event("finish", 0, depth, node_depth=depth))
        return self._after(state, tree, "donate", events)

    def _match(self, state: _State, length: int) -> tuple[_Move, _State]:
        """A prompt of that many tokens of the first request."""
        tree = self._tree(state)
        given = tree.match(self.first[:length]).node
        node = int(given.depth)
        event = Event("match", length, length, node_depth=node)
        if node >= length:
            made = Wrong("match", (length - 1, int(given.state)), 0)
            return _Move("match", (event,)), _State(state.nodes, made)
        return self._after(state, tree, "match", (event,))

    def _eviction(self, state: _State, key: Key) -> tuple[_Move, _State]:
        tree = self._tree(state)
        tree.evict(key)
        depth = len(key) * self.page
        return self._after(state, tree, "evict", (Event("evict", 0, depth, node_depth=depth),))

    def _after(
        self, before: _State, tree: Tree[None], by: str, events: Iterable[Event]
    ) -> tuple[_Move, _State]:
        """A move and the tree after it, with the first node that it left with a state of another depth."""
        known = dict(before.nodes)
        new = [key for key in tree.nodes if key not in known]
        parts = [
            key for key in new if any(len(key) < len(k) and k[: len(key)] == key for k in known)
        ]
        at = [len(key) * self.page for key in parts]
        splits = tuple(Event("split", 0, depth, node_depth=depth) for depth in at)
        wrong = [
            node for node in tree.nodes.values() if node.has_state and node.state != node.depth
        ]
        made = None
        if wrong:
            of_a_split = at and (wrong[0].depth in at or by == "match")
            depths = (int(wrong[0].depth), int(wrong[0].state))
            made = Wrong("split" if of_a_split else by, depths, 0)
        return _Move(by, (*splits, *events)), _State(frozenset(tree.nodes.items()), made)


def trees_left_out(design: Design, configurations: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Why the tree of some of these configurations is not searched, as a sentence; none where all are."""
    if TREE_RULES.isdisjoint(own_rules(design)):
        return ()
    searches = [TreeLife(design, Configuration(**values)) for values in configurations]
    left = sum(search.is_too_long for search in searches)
    said = f"the tree is not searched where two checkpoint units exceed {_LONGEST:,} tokens"
    return (f"{said}: {left} of {len(searches)} configurations",) if left else ()


def tree_cases(design: Design, configurations: Iterable[Mapping[str, Any]]) -> list[Case]:
    """The cases of these configurations, the first of each kind; none where no rule of the tree is a user's own."""
    if TREE_RULES.isdisjoint(own_rules(design)):
        return []
    cases: dict[str, Case] = {}
    for values in configurations:
        for found in TreeLife(design, Configuration(**values)).run():
            cases.setdefault(found.kind, _case(design, values, found))
    return list(cases.values())


def _case(design: Design, values: Mapping[str, Any], found: Trace) -> Case:
    node, state = found.ending
    return Case(
        id=f"{codes.TREE_STATE.name}-{found.kind}-{spelled(values)}",
        code=codes.TREE_STATE.id,
        outcome="misplaced",
        configuration={
            **{name: values[name] for name in FIELD_NAMES},
            "engine": ENGINE.requirement(design.release),
        },
        trace=tuple(event for move in found.moves for event in move.events),
        depths={"state": state, "node": node, "replayed": state - node},
        klass={"by": found.kind, "rules": list(own_rules(design))},
    )
