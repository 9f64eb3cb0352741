"""Canonical names: worlds that differ only in the names of places of a kind become one world.

A renaming of slots or of requests is a symmetry of every move, so a world and its renamed form have the same futures up
to the renaming.  Places of a SORTED kind are ordered by what they hold, places of a MENTIONED kind by the first field that
names them; a place of such a kind that no field names is put behind, and what it holds is forgotten.  Two worlds that are
renamings of each other may still keep different forms (ties are not searched for the smallest): this costs worlds and
loses none.

Written for the compiler: plain loops over integers, the tables of `layout.Layout`.
"""

from __future__ import annotations

from typing import Any

OFFSET, KIND, REFERS, WHERE, VALUE, KEEPS, FORGOTTEN = range(7)
SIZE, NAMING = range(2)


def names_something(flat: Any, fields: Any, f: int, place: int) -> bool:
    """Whether the field of a place names another place."""
    if fields[f, REFERS] < 0 or flat[fields[f, OFFSET] + place] < 0:
        return False
    where = fields[f, WHERE]
    return where < 0 or flat[fields[where, OFFSET] + place] == fields[f, VALUE]


def order_of(flat: Any, fields: Any, kind: int, a: int, b: int, mentioned: bool) -> int:
    """Below 0 if place `a` of a kind comes before `b`, above if behind, 0 if nothing distinguishes them.

    What names a place counts as a name, and by what the place named holds; of a `mentioned` kind, what is forgotten
    does not count.
    """
    for f in range(len(fields)):
        if fields[f, KIND] != kind or (mentioned and fields[f, KEEPS] == 0):
            continue
        left, right = int(flat[fields[f, OFFSET] + a]), int(flat[fields[f, OFFSET] + b])
        first, second = names_something(flat, fields, f, a), names_something(flat, fields, f, b)
        if first != second:
            return 1 if first else -1
        if not first:
            if left != right:
                return left - right
            continue
        for g in range(len(fields)):
            if fields[g, KIND] == fields[f, REFERS] and fields[g, REFERS] < 0:
                held = int(flat[fields[g, OFFSET] + left]) - int(flat[fields[g, OFFSET] + right])
                if held != 0:
                    return held
    return 0


def rename(flat: Any, out: Any, fields: Any, kinds: Any, names: Any, order: Any) -> None:
    """Write the canonical form of the world `flat` to `out`.

    `names`: by kind and place, the new name, for whom it concerns; `order`: room for one row of places.
    """
    for k in range(len(kinds)):
        for i in range(kinds[k, SIZE]):
            names[k, i] = i if kinds[k, NAMING] == 0 else -1
    for k in range(len(kinds)):
        if kinds[k, NAMING] == 2:
            size = kinds[k, SIZE]
            for i in range(size):
                at = i
                while at > 0 and order_of(flat, fields, k, order[at - 1], i, False) > 0:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = i
            for i in range(size):
                names[k, order[i]] = i
    for k in range(len(kinds)):
        if kinds[k, NAMING] != 1:
            continue
        size, named = kinds[k, SIZE], 0
        for f in range(len(fields)):
            if fields[f, REFERS] != k:
                continue
            own = fields[f, KIND]
            for i in range(kinds[own, SIZE]):
                order[names[own, i]] = i
            for i in range(kinds[own, SIZE]):
                if names_something(flat, fields, f, order[i]):
                    place = flat[fields[f, OFFSET] + order[i]]
                    if names[k, place] < 0:
                        names[k, place] = named
                        named += 1
        unnamed = 0
        for i in range(size):
            if names[k, i] < 0:
                at = unnamed
                while at > 0 and order_of(flat, fields, k, order[at - 1], i, True) > 0:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = i
                unnamed += 1
        for i in range(unnamed):
            names[k, order[i]] = size + named + i  # marked as unnamed by being beyond the size
    for f in range(len(fields)):
        k, offset = fields[f, KIND], fields[f, OFFSET]
        size = kinds[k, SIZE]
        for i in range(size):
            name = names[k, i]
            value = flat[offset + i]
            if name >= size:
                name -= size
                if fields[f, KEEPS] == 0:
                    value = fields[f, FORGOTTEN]
            if names_something(flat, fields, f, i) and (
                names[k, i] < size or fields[f, KEEPS] != 0
            ):
                other = fields[f, REFERS]
                value = names[other, value]
                if value >= kinds[other, SIZE]:
                    value -= kinds[other, SIZE]
            out[offset + name] = value
    for k in range(len(kinds)):
        for i in range(kinds[k, SIZE]):
            if names[k, i] >= kinds[k, SIZE]:
                names[k, i] -= kinds[k, SIZE]
