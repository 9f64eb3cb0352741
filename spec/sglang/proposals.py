"""Proposed changes to SGLang's rules, each of which can be put on top of any modelled release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from spec.sglang.rules import insert, slots

if TYPE_CHECKING:
    from spec.sglang.releases import Design


def with_insert_guard(design: Design) -> Design:
    """A guard at insertion: a state whose recorded depth is no node's depth is dropped."""
    return replace(design, name=f"{design.name}+insert-guard", insert_guard=insert.depth_has_a_node)


def with_completed_swap(design: Design) -> Design:
    """The ping-pong slots are swapped when a boundary step completes, whatever was launched ahead of it."""
    return replace(
        design, name=f"{design.name}+completed-swap", swap=slots.swap_follows_the_completed_step
    )


PROPOSALS: dict[str, Callable[[Design], Design]] = {
    "insert-guard": with_insert_guard,
    "completed-swap": with_completed_swap,
}


def _with_place_repairs(*repairs: str) -> Callable[[Design], Design]:
    def change(design: Design) -> Design:
        name = "+".join((design.name, *repairs)) if len(repairs) == 1 else f"{design.name}+places"
        return replace(design, name=name, place_repairs=design.place_repairs | {*repairs})

    return change


# Repairs of rules about many places, read by the search over them alone; "places" is all of them.
PLACE_REPAIRS = (
    "failed-load-copies",
    "match-forgets",
    "passed-gives-back",
    "rejected-gives-back",
    "record-released",
    "off-page-keeps-nothing",
)
PLACE_PROPOSALS: dict[str, Callable[[Design], Design]] = {
    **{repair: _with_place_repairs(repair) for repair in PLACE_REPAIRS},
    "places": _with_place_repairs(*PLACE_REPAIRS),
}
