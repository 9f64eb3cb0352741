"""Equivalence classes of configurations in which the same orders of events are possible, one of each to search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy

from generators.cases.domain import Domain
from generators.engines import engine_of
from generators.search.batches import Batch, batches
from generators.search.representative import ranks, written_first
from spec.engine import Design


def classes(design: Design, batch: Batch) -> list[numpy.ndarray]:
    """The indices of the configurations of each class."""
    return [members for _, members in _with_signatures(design, batch)]


def _with_signatures(
    design: Design, batch: Batch
) -> Iterator[tuple[tuple[int, ...], numpy.ndarray]]:
    size = len(batch)
    facts = [
        numpy.broadcast_to(f, (size,)).astype(numpy.int64)
        for f in engine_of(design).search.signature(design, batch.c)
    ]
    signatures, alike = numpy.unique(numpy.stack(facts), axis=1, return_inverse=True)
    order = numpy.argsort(alike, kind="stable")
    starts = numpy.flatnonzero(numpy.diff(alike[order], prepend=-1))
    for signed, members in zip(signatures.T, numpy.split(order, starts[1:]), strict=True):
        yield tuple(signed.tolist()), members


@dataclass
class _Class:
    """A class as far as it is known: how many configurations, and those to show, each with its rank."""

    members: int
    shown: list[tuple[Any, dict[str, Any]]]


def representatives(
    design: Design, domain: Domain, guards: bool, smallest: bool, most: int
) -> tuple[int, list[tuple[dict[str, Any], int]]]:
    """How many configurations a domain has, and of each class the `most` that a person would write, these in order.

    Each comes with how many configurations it stands for.  A class is one whatever the batches it lies in.
    """
    order, configurations = written_first(domain, smallest), 0
    is_modelled = engine_of(design).search.is_modelled
    found: dict[tuple[Any, ...], dict[tuple[int, ...], _Class]] = {}
    for batch, _ in batches(design, domain, guards):
        configurations += len(batch)
        if not len(batch) or not is_modelled(batch.others):
            continue
        rank = ranks(order, batch, smallest)
        known = found.setdefault(tuple(batch.others.values()), {})
        for signed, members in _with_signatures(design, batch):
            first = members[numpy.argsort(rank[members], kind="stable")][:most]
            shown = [(rank[index], batch.at(int(index))) for index in first]
            alike = known.setdefault(signed, _Class(0, []))
            alike.members += len(members)
            alike.shown = sorted([*alike.shown, *shown], key=itemgetter(0))[:most]
    in_order = (
        sorted(known.values(), key=lambda alike: alike.shown[0][0]) for known in found.values()
    )
    return configurations, [p for known in in_order for alike in known for p in _shared_out(alike)]


def _shared_out(alike: _Class) -> Iterator[tuple[dict[str, Any], int]]:
    """The configurations to show, the members of the class dealt out among them."""
    each, left = divmod(alike.members, len(alike.shown))
    for index, (_, values) in enumerate(alike.shown):
        yield values, each + (index < left)
