"""Slots: what a follower is given after a decode, slots eager or lazy, in every order of launch and result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Predicate, Space
from generators.sglang import codes
from generators.sglang.emit import expectations, retelling, stories
from generators.sglang.emit.mechanisms import spaces
from generators.sglang.emit.mechanisms.base import (
    CASES,
    Check,
    Mechanism,
    completed,
    lands,
    numbers,
    on,
)
from spec.numbers import Truth, both, divides, implies, negation
from spec.sglang.rules import grids

LAUNCHES = (
    {"strategy": "extra_buffer", "overlap": True},
    {"strategy": "extra_buffer_lazy", "overlap": True},
    {"strategy": "extra_buffer", "overlap": False},
)
_ON = {True: "", False: "-without-overlap"}


def story_of(instance: Instance) -> stories.Story:
    """The story that an instance's numbers stand for; 0 is no such length."""
    lengths = instance.lengths
    return stories.Story(
        lengths["prompt"],
        lengths["stop"],
        (lengths["alone"],) if lengths["alone"] else (),
        (lengths["failing"],) if lengths["failing"] else (),
    )


def kind_of(launch: dict[str, Any]) -> str:
    """A launch's kind of slots as part of a test's id."""
    return launch["strategy"].replace("_", "-") + _ON[launch["overlap"]]


def name_of(launch: dict[str, Any], story: stories.Story) -> str:
    """A story on a launch as a test's id."""
    words = [spelled(launch), kind_of(launch)]
    words.append(f"prompt{story.prompt}-stop{story.stop}")
    words += [f"nothing-ahead-of{n}" for n in story.nothing_ahead_of]
    words += [f"no-slot-at{n}" for n in story.allocation_fails_at]
    return "-".join(words)


def has_to_cache(c: Any, story: stories.Story) -> bool:
    """Whether the prompt has a checkpoint, or a boundary is passed while decoding."""
    grid = grids.track_grid(c)
    return bool(
        story.prompt >= grids.checkpoint_grid(c) or story.stop // grid > story.prompt // grid
    )


def _check(configuration: Mapping[str, Any], story: stories.Story, tier: str) -> Check:
    launch = completed(configuration)
    c = expectations.configuration(launch)
    return Check(
        name_of(launch, story),
        {
            "configuration": {**numbers(launch), "strategy": c.strategy, "overlap": c.overlap},
            "prompt": story.prompt,
            "stop": story.stop,
            "nothing_ahead_of": story.nothing_ahead_of,
            "allocation_fails_at": story.allocation_fails_at,
        },
        on(stories.follower_of, c, story),
        lands(has_to_cache(c, story) and not story.allocation_fails_at),
        tier=tier,
    )


# The second slot of a lazy request cannot be had at its first boundary.
_NO_SLOT = Instance(
    {**spaces.DEFAULTS, **LAUNCHES[1]},
    {"prompt": 255, "stop": 300, "alone": 0, "failing": 256},
    "tiny",
)


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    told = [
        _check(case.configuration, story, CASES)
        for case in cases
        if (story := retelling.story_of(case)) is not None
    ]
    checks = [_check(i.configuration, story_of(i), i.tier) for i in instances]
    name = "test_a_follower_of_any_order_of_results_resumes_where_its_state_stopped"
    return {name: [*told, *checks]}


def _configurations() -> Iterator[dict[str, Any]]:
    """Few launches whose boundaries are close, with each kind of slots."""
    for page, dcp, interval, chunk in (
        *((64, 1, 256, 64), (64, 1, 64, 64), (1, 1, 64, 64), (64, 2, 64, 64), (1, 1, 128, 64)),
        *((128, 1, 128, 64), (2, 1, 4, 4), (2, 2, 4, 2), (1, 1, 4, 2), (1, 1, 6, 4), (4, 1, 4, 2)),
    ):
        names = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")
        for launch in LAUNCHES:
            yield {**dict(zip(names, (page, dcp, interval, chunk), strict=True)), **launch}


def lengths_near(grid: int, boundaries: int) -> list[int]:
    """Lengths (tokens) at and around the first multiples of a grid."""
    return [k * grid + d for k in range(boundaries + 1) for d in (-1, 0, 1, 2) if k * grid + d > 0]


def is_lazy(c: Any, **_: Any) -> Truth:
    return c.strategy == "extra_buffer_lazy"


def overlaps(c: Any, **_: Any) -> Truth:
    return bool(c.overlap)


def _on_grid(name: str, offset: int) -> Predicate:
    def predicate(c: Any, **lengths: Any) -> Truth:
        length = lengths[name] + offset
        return both(lengths[name] > 0, divides(grids.track_grid(c), length))

    return predicate


def _first_boundary(c: Any, prompt: Any, failing: Any, **_: Any) -> Truth:
    return both(failing > prompt, failing <= prompt + grids.track_grid(c))


_LENGTHS = sorted({n for grid in (4, 64, 256) for n in lengths_near(grid, 2)})
# What no allocation and no kind of launch plays a part in.
ORDER = (
    "the_track_grid_is_above_one_token",
    "the_request_decodes",
    "what_is_alone_is_a_step_of_the_request",
)
ALLOCATION = ("the_first_allocation_fails", "a_later_allocation_fails")
SPACE = Space(
    "slots",
    tuple(_configurations()),
    {
        "prompt": [n for n in _LENGTHS if n <= 260],
        "stop": _LENGTHS,
        "alone": (0, *(n for n in _LENGTHS if n % 4 in (0, 3))),
        "failing": (0, 4, 8, 64, 128, 256, 512),
    },
    {
        **spaces.ACCEPTED,
        "the_track_grid_is_above_one_token": lambda c, **_: grids.track_grid(c) > 1,
        "the_request_decodes": lambda c, prompt, stop, **_: stop > prompt,
        "what_is_alone_is_a_step_of_the_request": lambda c, prompt, stop, alone, **_: implies(
            alone > 0, both(alone > prompt, alone <= stop)
        ),
        "only_an_overlapped_result_has_something_ahead": lambda c, alone, **_: implies(
            alone > 0, bool(c.overlap)
        ),
        "only_a_lazy_boundary_allocates": lambda c, prompt, stop, failing, **_: implies(
            failing > 0,
            both(
                is_lazy(c),
                divides(grids.track_grid(c), failing),
                failing > prompt,
                failing <= stop + 1,
            ),
        ),
    },
    {
        "slots_are_lazy": is_lazy,
        "steps_overlap": overlaps,
        "the_prompt_is_cached": lambda c, prompt, **_: prompt >= grids.checkpoint_grid(c),
        "the_first_step_is_a_boundary": _on_grid("prompt", 1),
        "nothing_is_ahead_of_a_boundary": _on_grid("alone", 0),
        "nothing_is_ahead_of_the_step_before_one": _on_grid("alone", 1),
        "it_stops_at_a_boundary": _on_grid("stop", 0),
        "it_stops_before_a_boundary": _on_grid("stop", 1),
        "it_passes_a_boundary": lambda c, prompt, stop, **_: (
            stop // grids.track_grid(c) != prompt // grids.track_grid(c)
        ),
        "the_first_allocation_fails": _first_boundary,
        "a_later_allocation_fails": lambda c, prompt, failing, **_: both(
            failing > 0, negation(_first_boundary(c, prompt, failing))
        ),
    },
)
MECHANISM = Mechanism(
    "slots",
    _groups,
    codes.SLOTS,
    space=SPACE,
    tells=lambda case: retelling.story_of(case) is not None,
    known=(_NO_SLOT,),
)
