"""The inner loop of the search: successors of stored worlds by one move, and the set that stores worlds in full.

Plain Python that `compiling` turns into machine code; the results are the same without it.
"""

from __future__ import annotations

from typing import Any

from generators.search.worlds.naming import rename

PICK = 64  # a pick is below it; the picks of a move are one number to this base
_MULTIPLIER, _BITS = 0x9E3779B1, 0x7FFFFFFF


def scattered(words: Any, length: int) -> int:
    """A hash of a world, 31 bits: where its search in the table begins; equality is decided by the words."""
    value = 0x2545F491
    for i in range(length):
        product = (value ^ (int(words[i]) & 0xFFFFFFFF)) * _MULTIPLIER
        product = product & 0x7FFFFFFFFFFFFFFF
        value = (product ^ (product >> 31)) & _BITS
    return value


def find(table: Any, states: Any, words: Any, length: int) -> int:
    """The place of a world in the table: of the one that is there, or a free one."""
    at = scattered(words, length) & (len(table) - 1)
    while table[at] != 0:
        row = table[at] - 1
        same = True
        for i in range(length):
            if states[row, i] != words[i]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & (len(table) - 1)
    return at


def refill(table: Any, states: Any, count: int, length: int) -> None:
    """Enter the first `count` stored worlds into an empty table."""
    for row in range(count):
        table[find(table, states, states[row], length)] = row + 1


def expand(
    move: Any,
    judge: Any,
    rules: Any,
    ranges: Any,
    number: int,
    room: Any,
    flat: Any,
    words: Any,
    renamed: Any,
    renamed_words: Any,
    names: Any,
    order: Any,
    fields: Any,
    kinds: Any,
    states: Any,
    table: Any,
    parents: Any,
    steps: Any,
    harms: Any,
    start: int,
    stop: int,
    count: int,
    most: int,
) -> tuple[int, int, int]:
    """Add what the move `number` makes of the worlds `start` to `stop`; it stops early where `most` worlds are stored.

    Gives the first world not done, how many are stored, and how many successors were made, known ones among them.  A
    world with a harm has no successors.  `ranges`: how many values each pick has; `steps`: move and picks as one number.
    """
    length = len(words)
    world = room[0]
    made = 0
    for parent in range(start, stop):
        if harms[parent] != 0:
            continue
        for a in range(ranges[0]):
            for b in range(ranges[1]):
                for c in range(ranges[2]):
                    for i in range(length):
                        words[i] = states[parent, i]
                    if not move(rules, world, a, b, c):
                        continue
                    made += 1
                    harm = judge(rules, world, 0, 0, 0)
                    rename(flat, renamed, fields, kinds, names, order)
                    at = find(table, states, renamed_words, length)
                    if table[at] != 0:
                        continue
                    if count >= most:
                        return parent, count, made
                    for i in range(length):
                        states[count, i] = renamed_words[i]
                    parents[count] = parent
                    steps[count] = ((number * PICK + a) * PICK + b) * PICK + c
                    harms[count] = harm
                    count += 1
                    table[at] = count
    return stop, count, made


def masks_of(
    parents: Any, steps: Any, harms: Any, matter: Any, out: Any, start: int, stop: int
) -> int:
    """Of each world with a harm from `start` to `stop`: its row and the moves on its trace that matter, as bits.

    `matter`: by move, its bit or 0; `out`: rows of (world, bits); gives how many there are.
    """
    found = 0
    for world in range(start, stop):
        if harms[world] == 0:
            continue
        bits, at = 0, world
        while parents[at] >= 0:
            bits |= matter[steps[at] // (PICK * PICK * PICK)]
            at = parents[at]
        out[found, 0] = world
        out[found, 1] = bits
        found += 1
    return found
