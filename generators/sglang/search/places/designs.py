"""What a release does with places, and what a repair does instead: a truth for each rule that differs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Rules(NamedTuple):
    """The rules of a design, and the mechanisms that a configuration has; each is right where it is True, unless noted.

    `failed_load_copies`: a request whose load fails copies the state of the device node that it falls back to
    (components/mamba.py, finalize_match_result_in_cache, copies that of the best match).
    `match_forgets`: a match forgets the copy order of an earlier one (finalize_match_result_in_cache leaves it).
    `passed_gives_back`: a request that is passed over gives back the slot that its match allocated, and forgets the
    order (scheduler.py, get_next_batch_to_run passes over without either).
    `rejected_gives_back`: a rejected request of a session gives back the slot that its match allocated
    (scheduler.py, get_new_batch_prefill: only one without a session does).
    `record_released`: a record is released where its state has consumed more than the turn goes on from
    (session/streaming_session.py, try_match_prefix cuts the tokens alone).
    `off_page_keeps_nothing`: an extend from a prefix off the page labels no checkpoint (rules/extend.py).
    Not of right and wrong: `asks_again`: storage is asked again where a prefix has shrunk (from 0.5.20, scheduler.py,
    _prefetch_after_device_hit_loss); `aborted_is_inserted`: an aborted turn is released like any request (from 0.5.22);
    `empty_turns`: a turn may bring no tokens (from 0.5.20, io_struct.py).
    `host`, `write_back`, `storage`, `sessions` (that do not stream), `streaming`, `speculation`, `overlap`: what is switched on.
    """

    failed_load_copies: bool = False
    match_forgets: bool = False
    passed_gives_back: bool = False
    rejected_gives_back: bool = False
    record_released: bool = False
    off_page_keeps_nothing: bool = False
    asks_again: bool = True
    aborted_is_inserted: bool = True
    empty_turns: bool = True
    host: bool = False
    write_back: bool = False
    storage: bool = False
    sessions: bool = False
    streaming: bool = False
    speculation: bool = False
    overlap: bool = True


def repaired(rules: Rules, repairs: Iterable[str]) -> Rules:
    """The rules with repairs, by their names in `spec.sglang.proposals.PLACE_REPAIRS`."""
    return rules._replace(**{repair.replace("-", "_"): True for repair in repairs})
