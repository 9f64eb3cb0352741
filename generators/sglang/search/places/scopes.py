"""Which moves a configuration has, and how much of them is searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from generators.common.errors import NothingToDo, Vacuous
from generators.search.worlds.breadth_first import Model, Move
from generators.sglang.search.places import moves
from generators.sglang.search.places.designs import Rules, repaired
from generators.sglang.search.places.world import KEYS, layout

REQUESTS, SLOTS = 2, 7
_OLDEST = (0, 5, 19)


def rules_of(design: Any, values: Mapping[str, Any]) -> Rules:
    """The rules of a design with the mechanisms of a configuration; `values`: its fields and those of places.

    Raises `NothingToDo` for a release whose places are not modelled, `Vacuous` for flags of which one needs another.
    """
    release = tuple(map(int, design.release.split(".")))
    if release < _OLDEST:
        raise NothingToDo(f"places of SGLang are modelled from 0.5.19, not in {design.release}")
    host, storage = values["enable_hierarchical_cache"], values["hicache_storage_backend"]
    policy = values["hicache_write_policy"]
    if not host and (storage or policy is not None):
        given = "--hicache-storage-backend" if storage else "--hicache-write-policy"
        raise Vacuous(f"{given} does nothing without --enable-hierarchical-cache")
    speculates = values["speculative_num_draft_tokens"] > 0
    rules = Rules(
        asks_again=release >= (0, 5, 20),
        aborted_is_inserted=release >= (0, 5, 22),
        empty_turns=release >= (0, 5, 20),
        # Where every depth is one of the tree's, a label off the grid is the depth of a node.
        off_page_keeps_nothing=values["page_size"] * values["dcp_size"] == 1,
        host=host,
        write_back=policy == "write_back",
        storage=storage,
        sessions=values["sessions"],
        streaming=values["enable_streaming_session"],
        speculation=speculates,
        overlap=values["overlap"],
    )
    return repaired(rules, design.place_repairs)


def moves_of(rules: Rules) -> tuple[Move, ...]:
    """What can happen under some rules; a harm that needs a move that `matters` is of another class than one without."""
    request, node = ("request",), ("node",)
    lengths = (KEYS, moves.LENGTHS)
    table = [
        Move("serve", moves.serve, (KEYS, 3)),
        Move("arrive", moves.arrive, lengths),
        Move("admit", moves.admit, request),
        Move("launch", moves.launch),
        Move("evict", moves.evict, node),
        Move("reject", moves.reject, request, matters=True),
    ]
    if rules.sessions:
        table.append(Move("arrive_in_session", moves.arrive_in_session, lengths, matters=True))
    if rules.host:
        table += [
            Move("load", moves.admit_loading, request),
            Move("load_refused", moves.admit_unloaded, request, matters=True),
            Move("evict_from_host", moves.evict_from_host, node),
        ]
    if rules.storage:
        table += [
            Move("pass_over", moves.pass_over, request, matters=True),
            Move("fetch", moves.fetch, request),
        ]
    if rules.streaming:
        table += [
            Move("turn", moves.turn, (KEYS, 3)),
            Move("empty_turn", moves.empty_turn, matters=True),
            Move("turn_ends", moves.turn_ends, request),
            Move("turn_ends_behind_stop", moves.turn_ends_behind_its_stop, request, matters=True),
            Move("turn_ends_in_verify", moves.turn_ends_in_a_verify, request, matters=True),
            Move("retract", moves.retract, request, matters=True),
            Move("abort", moves.abort, request, matters=True),
        ]
    return tuple(table)


def model_of(rules: Rules, requests: int = REQUESTS, slots: int = SLOTS) -> Model:
    """The worlds of some rules, with so many requests that arrive and slots of the recurrent pool."""
    return Model(layout(requests, slots), moves_of(rules), moves.judge, rules)


def bounds() -> str:
    """What is searched, as a sentence."""
    return (
        f"up to {moves.SERVED} undisturbed requests and {REQUESTS} others, {KEYS} texts that share their first page, "
        f"{SLOTS} slots, one session, pages and checkpoints of 2 tokens"
    )
