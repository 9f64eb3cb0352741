"""Breadth first over worlds: every world that moves can reach, or as many as the limits allow, and the first harms.

`closed` means that no world is left out: worlds are stored in full, and only names are forgotten (`naming`).  A world with
a harm is kept and has no successors: what follows from a harm is the same harm.  The search goes on with all others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy

from generators.search.worlds import compiling, kernel
from generators.search.worlds.layout import NAMES_PER_MOVE, Layout, Scratch
from generators.search.worlds.naming import rename

_CHUNK = 4096  # parents between two looks at the clock
_FIRST_TABLE = 1 << 12


@dataclass(frozen=True)
class Move:
    """A move `act(rules, world, *picks) -> allowed`, which changes the world in place where it is allowed.

    `picks`: the kind of each pick, or a number of values where it is a number and no place; `matters`: whether a harm that
    needs it is of another class than one that does not.
    """

    name: str
    act: Callable[..., Any]
    picks: tuple[str | int, ...] = ()
    matters: bool = False


@dataclass(frozen=True)
class Model:
    """What is searched: layout, moves, a judge `judge(rules, world) -> harm` (0: none, below 2**15), the rules, a start."""

    layout: Layout
    moves: tuple[Move, ...]
    judge: Callable[..., Any]
    rules: Any
    start: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """Where a search stops: worlds stored, moves of a trace, a time of `time.monotonic` (seconds), bytes of memory."""

    worlds: int = 5_000_000
    moves: int | None = None
    until: float | None = None
    memory: int = 2 << 30


@dataclass(frozen=True)
class Step:
    """One move of a trace: its name, its picks under names that stay, and the fields of the world after it."""

    move: str
    picks: tuple[int, ...]
    after: Mapping[str, list[int]]


@dataclass(frozen=True)
class Harm:
    """The shortest trace to a harm by moves that matter, which no other trace to the same harm does with fewer of them."""

    code: int
    moves: frozenset[str]
    trace: tuple[Step, ...]


@dataclass(frozen=True)
class Searched:
    """What a search found: `stopped` is what ended it before every world was reached, None where it is closed.

    `worlds`: stored; `made`: successors made, known ones among them; `levels`: worlds by the moves that lead to them;
    `bytes_per_world`: of all that grows with them; `seconds`: without compiling.
    """

    harms: tuple[Harm, ...]
    worlds: int
    made: int
    levels: tuple[int, ...]
    seconds: float
    bytes_per_world: float
    stopped: str | None

    @property
    def closed(self) -> bool:
        """Whether every world that can be reached was."""
        return self.stopped is None


class _Search:
    def __init__(self, model: Model, limits: Limits, plain: bool) -> None:
        self.model, self.limits = model, limits
        layout = model.layout
        self.parent, self.child = layout.scratch(), layout.scratch()
        self.fields, self.kinds = layout.tables
        largest = int(self.kinds[:, 0].max())
        self.names = numpy.zeros((len(self.kinds), largest), numpy.int64)
        self.order = numpy.zeros(largest, numpy.int64)
        self.each = 4 * layout.words + 4 + 4 + 2
        self.most = min(limits.worlds, max(1, limits.memory // (self.each + 8)))
        # Pages that are never touched take no memory.
        self.states = numpy.empty((self.most, layout.words), numpy.int32)
        self.parents = numpy.empty(self.most, numpy.int32)
        self.steps = numpy.empty(self.most, numpy.int32)
        self.harms = numpy.empty(self.most, numpy.int16)
        self.table = numpy.zeros(_FIRST_TABLE, numpy.int32)
        self.compile(plain)

    def compile(self, plain: bool) -> None:
        """The functions of the inner loop, as machine code unless `plain`."""
        acts = [(move.act, len(move.picks)) for move in self.model.moves]
        if plain:
            self.moves = [_with_all_picks(act, picks) for act, picks in acts]
            self.judge = _with_all_picks(self.model.judge, 0)
            self.expand: Any = kernel.expand
            self.refill: Any = kernel.refill
            self.masks_of: Any = kernel.masks_of
            self.rename: Any = rename
            self.room: Any = (self.parent.world,)
            return
        from numba import typeof, types

        self.room = self.parent.array
        number = types.int64
        of_move = (typeof(self.model.rules), typeof(self.room[0]), number, number, number)
        self.moves = [_compiled_move(act, picks, types.boolean(*of_move)) for act, picks in acts]
        self.judge = _compiled_move(self.model.judge, 0, number(*of_move))
        self.refill, self.masks_of = _compiled(kernel.refill), _compiled(kernel.masks_of)
        self.rename = _compiled(rename)
        # Moves are called through pointers of one type, so that the loop is compiled once.
        shared = (*map(typeof, self.shared()), *[number] * 4)
        function = types.FunctionType(types.boolean(*of_move))
        judging = types.FunctionType(number(*of_move))
        rules = typeof(self.model.rules)
        signature = (function, judging, rules, typeof((1, 1, 1)), number, *shared)
        self.expand = _compiled(kernel.expand, signature)

    def shared(self) -> tuple[Any, ...]:
        """What every call of the inner loop works on."""
        return (
            self.room,
            self.parent.flat,
            self.parent.words,
            self.child.flat,
            self.child.words,
            self.names,
            self.order,
            self.fields,
            self.kinds,
            self.states,
            self.table,
            self.parents,
            self.steps,
            self.harms,
        )

    def ranges(self, move: Move) -> tuple[int, ...]:
        sizes = [p if isinstance(p, int) else self.model.layout.sizes[p] for p in move.picks]
        assert len(sizes) <= NAMES_PER_MOVE and all(size <= kernel.PICK for size in sizes)
        return (*sizes, *[1] * (NAMES_PER_MOVE - len(sizes)))

    def canonical(self) -> None:
        self.rename(
            self.parent.flat, self.child.flat, self.fields, self.kinds, self.names, self.order
        )

    def enter_start(self) -> None:
        self.parent.set(self.model.start)
        self.canonical()
        self.states[0] = self.child.words
        self.parents[0], self.steps[0], self.harms[0] = -1, 0, 0
        self.refill(self.table, self.states, 1, self.model.layout.words)

    def room_for(self, count: int) -> None:
        """Double the table until it is less than half full of `count` worlds."""
        if 2 * count >= len(self.table):
            self.table = numpy.zeros(4 * len(self.table), numpy.int32)
            self.refill(self.table, self.states, count, self.model.layout.words)

    def one(self, number: int, start: int, stop: int, count: int) -> tuple[int, int]:
        """All successors of some worlds by one move: how many worlds are stored, how many were made."""
        made, move = 0, self.model.moves[number]
        while start < stop:
            self.room_for(count)
            start, count, more = self.expand(
                self.moves[number],
                self.judge,
                self.model.rules,
                self.ranges(move),
                number,
                *self.shared(),
                start,
                stop,
                count,
                min(self.most, len(self.table) // 2),
            )
            made += more
            if start < stop and count >= self.most:
                raise MemoryError
        return count, made

    def run(self, progress: Callable[[int, int], None] | None) -> Searched:
        self.enter_start()
        began = time.perf_counter()
        count, made, done, stopped = 1, 0, 0, None
        levels = [1]
        try:
            while done < count and stopped is None:
                if self.limits.moves is not None and len(levels) > self.limits.moves:
                    stopped = f"{self.limits.moves} moves"
                    break
                end = count
                while done < end and stopped is None:
                    if self.limits.until is not None and time.monotonic() > self.limits.until:
                        stopped = "time"
                        break
                    stop = min(end, done + _CHUNK)
                    for number in range(len(self.model.moves)):
                        count, more = self.one(number, done, stop, count)
                        made += more
                    done = stop
                    if progress is not None:
                        progress(len(levels), count)
                if count > end:
                    levels.append(count - end)
        except MemoryError:
            count, by_worlds = self.most, self.most == self.limits.worlds
            stopped = f"{self.most:,} worlds" if by_worlds else f"memory for {self.most:,} worlds"
        except KeyboardInterrupt:
            stopped = "interrupted"
        seconds = time.perf_counter() - began
        memory = self.each * count + 4 * len(self.table)
        return Searched(
            self.found(count), count, made, tuple(levels), seconds, memory / count, stopped
        )

    def found(self, count: int) -> tuple[Harm, ...]:
        """The shortest trace of each harm and set of moves that matter; sets that hold a smaller one are left out."""
        matter = numpy.zeros(len(self.model.moves), numpy.int64)
        for bit, number in enumerate(i for i, m in enumerate(self.model.moves) if m.matters):
            matter[number] = 1 << bit
        rows = numpy.empty((int((self.harms[:count] != 0).sum()), 2), numpy.int64)
        self.masks_of(self.parents, self.steps, self.harms, matter, rows, 0, count)
        first: dict[tuple[int, int], int] = {}
        for world, bits in rows.tolist():
            first.setdefault((int(self.harms[world]), bits), world)
        least = [
            (code, bits, world)
            for (code, bits), world in first.items()
            if not any(c == code and b != bits and b & bits == b for c, b in first)
        ]
        return tuple(
            Harm(
                code,
                frozenset(m.name for i, m in enumerate(self.model.moves) if matter[i] & bits),
                self.trace(world),
            )
            for code, bits, world in sorted(least, key=lambda row: row[2])
        )

    def trace(self, world: int) -> tuple[Step, ...]:
        """The moves that lead to a stored world; a place keeps the name that it has at the start."""
        path = [world]
        while self.parents[path[-1]] >= 0:
            path.append(int(self.parents[path[-1]]))
        path.reverse()
        layout = self.model.layout
        stays = {k: list(range(layout.sizes[k])) for k in layout.kinds}
        steps: list[Step] = []
        for before, after in pairwise(path):
            number, picks = _unpacked(int(self.steps[after]))
            move = self.model.moves[number]
            self.parent.words[:] = self.states[before]
            self.moves[number](self.model.rules, self.room[0], *picks)
            named = tuple(
                p if isinstance(kind, int) else stays[kind][p]
                for kind, p in zip(move.picks, picks, strict=False)
            )
            steps.append(Step(move.name, named, _renamed_values(self.parent, stays)))
            self.canonical()
            assert (self.child.words == self.states[after]).all()
            for k, kind in enumerate(layout.kinds):
                old = stays[kind]
                stays[kind] = [
                    old[int(numpy.flatnonzero(self.names[k, : len(old)] == i)[0])]
                    for i in range(len(old))
                ]
        return tuple(steps)


def _unpacked(step: int) -> tuple[int, tuple[int, int, int]]:
    step, c = divmod(step, kernel.PICK)
    step, b = divmod(step, kernel.PICK)
    number, a = divmod(step, kernel.PICK)
    return number, (a, b, c)


def _renamed_values(scratch: Scratch, stays: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """The fields of a world under the names that stay."""
    values = scratch.values()
    named = {}
    for f in scratch.layout.fields:
        own = values[f.name]
        out = [0] * len(own)
        for i, value in enumerate(own):
            where = f.where is None or values[f.where[0]][i] == f.where[1]
            refers = f.refers is not None and value >= 0 and where
            out[stays[f.kind][i]] = stays[str(f.refers)][value] if refers else value
        named[f.name] = out
    return named


def _with_all_picks(act: Any, picks: int) -> Any:
    """A move with as many picks as any; the kernel calls all alike."""
    if picks == 0:
        return lambda rules, w, a, b, c: act(rules, w)
    if picks == 1:
        return lambda rules, w, a, b, c: act(rules, w, a)
    if picks == 2:
        return lambda rules, w, a, b, c: act(rules, w, a, b)
    return act


@cache
def _compiled(function: Any, *signature: Any) -> Any:
    """A function of the kernel as machine code, compiled once a process."""
    return compiling.compiled(function, *signature)


@cache
def _compiled_move(act: Any, picks: int, signature: Any) -> Any:
    """A move of `picks` picks or a judge as machine code, compiled once a process and kind of world."""
    return compiling.compiled(_with_all_picks(act, picks), signature)


def search(
    model: Model,
    limits: Limits | None = None,
    *,
    plain: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Searched:
    """Search a model; `plain`: as Python, None: only where numba is not installed; `progress`: moves so far, worlds."""
    as_python = not compiling.is_installed() if plain is None else plain
    return _Search(model, limits or Limits(), as_python).run(progress)
