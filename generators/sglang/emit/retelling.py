"""Tells the orders of events of a case as stories, which the emitted tests act out on the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from generators.cases.file_format import Case, Event
from generators.sglang.emit.stories import Story, Verifies, follower_of, verified_follower
from spec.engine import design_of_requirement
from spec.sglang.engine import ENGINE
from spec.sglang.releases import Design
from spec.sglang.scheduler import as_few_as_accept

_OF_A_STORY = ("decode", "other_batch", "allocation_failure")


def story_of(case: Case) -> Story | None:
    """The decode story of a case; None where it has none, or where the story does not end wrong."""
    c, design = (
        ENGINE.configuration_of(case.configuration),
        design_of_requirement(case.configuration["engine"]),
    )
    if c.speculates or not _is_told(case, _OF_A_STORY, ("finish", "decode")):
        return None
    prompt, *events, last = case.trace
    grid = int(design.grid("decode", c))
    story = Story(
        prompt.seq_len,
        last.seq_len,
        _lengths(events, "other_batch", lambda length: length),
        _lengths(events, "allocation_failure", lambda length: (length // grid + 1) * grid),
    )
    return story if _ends_wrong(follower_of, design, c, story) else None


def verifies_of(case: Case) -> Verifies | None:
    """The verified story of a case; None where it has none, or where the story does not end wrong."""
    c, design = (
        ENGINE.configuration_of(case.configuration),
        design_of_requirement(case.configuration["engine"]),
    )
    if not c.speculates or not _is_told(case, ("verify", "result"), ("finish",)):
        return None
    prompt, *events, result, _ = case.trace
    if result.event != "result":
        return None
    most, accepts = c.speculative_num_draft_tokens, list[int]()
    for event in events:
        accepts += as_few_as_accept(event.tokens, most)
    story = Verifies(prompt.seq_len, tuple(accepts), result.tokens, case.grammar)
    return story if _ends_wrong(verified_follower, design, c, story) else None


def _is_told(case: Case, between: tuple[str, ...], last: tuple[str, ...]) -> bool:
    """Whether a case is one prompt, events of these kinds, and such a last one."""
    first, *events = [event.event for event in case.trace]
    return first == "extend" and {*events[:-1]} <= {*between} and {*events[-1:]} <= {*last}


def _lengths(events: list[Event], kind: str, of: Callable[[int], int]) -> tuple[int, ...]:
    return tuple(of(event.seq_len) for event in events if event.event == kind)


def _ends_wrong(follower: Callable[..., Any], design: Design, c: Any, story: Any) -> bool:
    given = follower(design, c, story)
    return given["node"] != (given["state"] or 0)
