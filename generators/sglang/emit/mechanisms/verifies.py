"""Verifies: what a follower is given after speculative steps, slots eager or lazy, with stop tokens and grammars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang import codes
from generators.sglang.emit import expectations, retelling, stories
from generators.sglang.emit.mechanisms import observed, slots, spaces
from generators.sglang.emit.mechanisms.base import (
    CASES,
    Check,
    Mechanism,
    completed,
    lands,
    numbers,
    on,
)
from spec.numbers import Truth, both
from spec.sglang.rules import grids, verify


def story_of(instance: Instance) -> stories.Verifies:
    """The story that an instance's numbers stand for."""
    n, tokens = instance.lengths, instance.configuration["speculative_num_draft_tokens"]
    in_flight = (n["third"],) if n["third"] else ()
    accepts = (*(tokens,) * n["full"], n["first"], n["second"], *in_flight)
    return stories.Verifies(n["prompt"], accepts, n["retained"], bool(n["grammar"]))


def _has_to_cache(c: Any, story: stories.Verifies, full: int) -> bool:
    """Whether a verify before the last one passes a boundary, and a second slot keeps what it saved.

    A lazy request has a second slot within two verifies of a boundary alone, and gives up what it kept there.
    """
    done, grid = story.prompt + sum(story.accepts[: full + 1]), grids.track_grid(c)
    kept = c.overlap and done // grid > story.prompt // grid
    if not slots.is_lazy(c):
        return bool(kept)
    last = story.last(c)
    end = story.prompt + sum(story.accepts[:last]) + story.retained
    far = end // grid == (end + 3 * c.speculative_num_draft_tokens) // grid
    return bool(kept and last > full and far)


def _full_at_first(c: Any, story: stories.Verifies) -> int:
    """How many verifies accept all their tokens before the first that does not, or before the last but one."""
    counted = story.accepts[: max(story.last(c) - 1, 0)]
    return len(list(takewhile(lambda tokens: tokens == c.speculative_num_draft_tokens, counted)))


def _check(
    configuration: Mapping[str, Any], story: stories.Verifies, full: int | None, tier: str
) -> Check:
    launch = completed(configuration)
    c = expectations.configuration(launch)
    if full is None:
        full = _full_at_first(c, story)
    accepts = list(story.accepts[full:])
    words = [
        spelled(launch),
        slots.kind_of(launch),
        f"draft{c.speculative_num_draft_tokens}-prompt{story.prompt}",
        *([f"full{full}"] if full else []),
        "accept" + "-".join(map(str, accepts)),
        f"{'grammar' if story.grammar else 'stop'}{story.retained}",
    ]
    return Check(
        "-".join(words),
        {
            "configuration": {**numbers(launch), "strategy": c.strategy, "overlap": c.overlap},
            "prompt": story.prompt,
            "full_verifies": full,
            "accepts": accepts,
            "draft_tokens": c.speculative_num_draft_tokens,
            "retained": story.retained,
            "grammar": story.grammar,
        },
        on(stories.verified_follower, c, story),
        lands(_has_to_cache(c, story, full)),
        tier=tier,
    )


_NAMES = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")
_DRAFT = "speculative_num_draft_tokens"
_EAGER, _LAZY, _SYNCHRONOUS = slots.LAUNCHES


def _default(launch: dict[str, Any], **lengths: int) -> Instance:
    """A story on the default interval with four draft tokens."""
    others = {"full": 0, "third": 0, "grammar": 0, **lengths}
    return Instance({**spaces.DEFAULTS, _DRAFT: 4, **launch}, others, "tiny")


_LONG_DRAFTS = {"mamba_track_interval": 64, _DRAFT: 40}


# Small drafts on the default interval: two boundaries lie many verifies apart.
_LONG = (
    _default(_EAGER, prompt=254, first=4, second=4, third=4, retained=1, grammar=1),
    _default(_SYNCHRONOUS, prompt=253, full=63, first=4, second=4, retained=1, grammar=1),
    _default(_SYNCHRONOUS, prompt=253, full=63, first=4, second=4, retained=1),
    _default(_LAZY, prompt=253, full=63, first=4, second=4, third=4, retained=1, grammar=1),
    # The label passes the stop token: the one before it is donated.
    _default(_EAGER, prompt=253, full=63, first=4, second=4, third=4, retained=1),
    # No boundary is near when it stops: a lazy request donates what it kept.
    _default(_LAZY, prompt=253, full=10, first=4, second=4, third=4, retained=4),
)
# Two verifies in a row that each pass a boundary.
_IN_A_ROW = (
    _default({**_EAGER, **_LONG_DRAFTS}, prompt=63, first=33, second=33, retained=33),
    _default(
        {**_LAZY, **_LONG_DRAFTS}, prompt=63, first=33, second=33, third=1, retained=1, grammar=1
    ),
)


# A session's turns (outside the model): overlap, what each verify accepts, the number of the stop token among what the
# first accepts, and from what the next turn goes on.
_TURNS = (
    (False, (4,), 2, observed.resumed(103, 104)),
    (True, (4, 3), 2, observed.resumed(103, 107)),
    (True, (4, 3), 4, observed.resumed(105, 107)),
    (True, (1, 1), 1, observed.resumed(102)),
)


def _turns() -> Iterator[Check]:
    """The turn that follows a verified one, on the default interval with four draft tokens."""
    for overlap, accepts, stop, seen in _TURNS:
        launch = {**_EAGER, "overlap": overlap}
        words = ("accept" + "-".join(map(str, accepts)), f"stop{stop}")
        yield Check(
            "-".join((spelled(spaces.DEFAULTS), slots.kind_of(launch), "draft4-prompt100", *words)),
            {
                "configuration": {**spaces.DEFAULTS, **launch},
                "prompt": 100,
                "accepts": list(accepts),
                "draft_tokens": 4,
                "retained": stop,
            },
            observed.by_release(seen, {}),
            observed.resumes_rightly,
            tier="tiny",
        )


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = [
        _check(case.configuration, story, None, CASES)
        for case in cases
        if (story := retelling.verifies_of(case)) is not None
    ]
    for instance in (*_LONG, *instances):
        story, full = story_of(instance), instance.lengths["full"]
        checks.append(_check(instance.configuration, story, full, instance.tier))
    return {
        "test_a_follower_of_verifies_resumes_where_its_state_stopped": checks,
        "test_the_turn_after_a_verified_one_goes_on_from_what_its_state_has_consumed": list(
            _turns() if instances else ()
        ),
    }


SHORT_GRID = dict(zip(_NAMES, (1, 1, 8, 4), strict=True))  # which two verifies of 4 can pass twice


def _configurations() -> Iterator[dict[str, Any]]:
    """Launches with drafts that are long for the track grid and with short ones, with each kind of slots."""
    for values, drafts in (
        *(((64, 1, 64, 64), 40), ((64, 1, 64, 64), 16), ((64, 2, 64, 64), 40)),
        *(((1, 1, 8, 8), 6), (tuple(SHORT_GRID.values()), 4), ((1, 1, 12, 4), 5)),
    ):
        for launch in slots.LAUNCHES:
            yield {**dict(zip(_NAMES, values, strict=True)), _DRAFT: drafts, **launch}


def _crosses(start: Callable[..., Any], tokens: Callable[..., Any]) -> Callable[..., Truth]:
    return lambda c, **n: verify.crosses(grids.track_grid(c), start(n), tokens(n))


def crosses_behind(tokens: str, *before: str) -> Callable[..., Truth]:
    """Whether a verify crosses that accepts `tokens`, behind a prompt and others that accept those of `before`."""
    return _crosses(lambda n: n["prompt"] + sum(n[name] for name in before), lambda n: n[tokens])


CONFIGURATIONS = tuple(_configurations())
_SIZES = (1, 2, 3, 4, 5, 6, 16, 33, 40)
MECHANISM = Mechanism(
    "verifies",
    _groups,
    codes.SLOTS,
    space=Space(
        "verifies",
        CONFIGURATIONS,
        {
            "prompt": (3, 6, 7, 8, 10, 40, 60, 63, 64, 100, 120, 127),
            "full": (0,),
            "first": _SIZES,
            "second": _SIZES,
            "third": (0, *_SIZES),
            "retained": _SIZES,
            "grammar": (0, 1),
        },
        {
            **spaces.ACCEPTED,
            "only_draft_tokens_are_accepted": lambda c, **n: both(
                *(
                    n[name] <= c.speculative_num_draft_tokens
                    for name in ("first", "second", "third")
                )
            ),
            "what_is_kept_was_accepted": lambda c, **n: n["retained"] <= n["second"],
            "one_verify_is_in_flight_under_overlap_alone": lambda c, **n: (
                (n["third"] > 0) == bool(c.overlap)
            ),
            "no_verify_goes_before": lambda c, **n: n["full"] == 0,
        },
        {
            "slots_are_lazy": slots.is_lazy,
            "steps_overlap": slots.overlaps,
            "a_grammar_ends_it": lambda c, **n: n["grammar"] > 0,
            "all_that_was_accepted_is_kept": lambda c, **n: n["retained"] == n["second"],
            "the_first_verify_crosses": _crosses(lambda n: n["prompt"], lambda n: n["first"]),
            "the_second_verify_crosses": _crosses(
                lambda n: n["prompt"] + n["first"], lambda n: n["second"]
            ),
            "what_is_kept_of_it_crosses": _crosses(
                lambda n: n["prompt"] + n["first"], lambda n: n["retained"]
            ),
            "the_verify_in_flight_crosses": _crosses(
                lambda n: n["prompt"] + n["first"] + n["second"], lambda n: n["third"]
            ),
            "two_verifies_in_a_row_can_cross": lambda c, **n: (
                2 * c.speculative_num_draft_tokens > grids.track_grid(c)
            ),
        },
    ),
    support=("gridproof_sglang_verify.py",),
    tells=lambda case: retelling.verifies_of(case) is not None,
    known=_IN_A_ROW,
)
