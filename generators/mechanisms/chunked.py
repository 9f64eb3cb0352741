"""Chunked prompts: the scheduler's own loop, where prompts are cut and a chunk may share its batch with decode steps.

The cuts and what a mixed batch writes of its prompt lie outside the model; the cuts given here are those that the real
scheduler makes, and held against it by the depths that the tests observe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from generators import expectations, stories
from generators.cases import Case, spelled
from generators.coverage import Instance
from generators.mechanisms.base import Check, Mechanism, completed, lands, numbers, on
from spec.sglang import life
from spec.sglang.checkpoints import extend_checkpoint
from spec.sglang.designs import Design
from spec.sglang.request import Scheduler

CHUNK = 2048  # tokens of a prefill; with a request decoding in the same batch one token less
LONG = 5000  # tokens of a prompt that is cut
WRITES_IN_MIXED_BATCHES = (
    "0.5.23"  # the first release in which a mixed batch writes its prompt's checkpoint
)
FLOORS_CUTS_UNDER_DCP = "0.5.23"


@dataclass(frozen=True)
class Story:
    """A request that stops at the result of the step at `stop` tokens, and what comes with it."""

    dcp_size: int
    mixed: bool
    prompt: int
    stop: int
    other_prefill_after: int | None = None
    beside: bool = False

    @property
    def launch(self) -> dict[str, Any]:
        """The configuration; fields that do not matter have the engine's default."""
        return completed({"page_size": 64, "dcp_size": self.dcp_size})

    @property
    def name(self) -> str:
        """The story as a test's id."""
        words = [spelled(self.launch), "mixed" if self.mixed else "not-mixed"]
        words.append(f"prompt{self.prompt}-stop{self.stop}")
        after = self.other_prefill_after
        words += [] if after is None else [f"other-prefill-after{after}"]
        return "-".join(words + ["request-beside"] * self.beside)


def _cuts(design: Design, story: Story) -> Iterator[tuple[int, int]]:
    """The chunks of a long prompt: the first ends on the page, the others where the budget for them ends."""
    start, budget, page = 0, CHUNK - story.mixed, story.launch["page_size"]
    floors_all = story.dcp_size > 1 and design.release >= FLOORS_CUTS_UNDER_DCP
    while start < story.prompt:
        floors = floors_all or start == 0
        end = min(start + (budget // page * page if floors else budget), story.prompt)
        yield start, end
        start = end


def _follower(design: Design, story: Story) -> dict[str, Any] | str:
    c = expectations.configuration(story.launch)
    if story.prompt <= CHUNK:
        return _decoded(design, c, story)
    checkpoints = [extend_checkpoint(design, c, *chunk) for chunk in _cuts(design, story)]
    if any(checkpoint.fault for checkpoint in checkpoints):
        return "fault"
    given = stories.follower(design, c, [ch for ch in checkpoints if ch.saved])
    if story.mixed and design.release < WRITES_IN_MIXED_BATCHES and given["node"]:
        return {**given, "state": life.UNWRITTEN}
    return given


def _decoded(design: Design, c: Any, story: Story) -> dict[str, int | None]:
    """What is given after a request one step of which shares its batch with the other's prompt."""
    scheduler = Scheduler(design, c)
    request = scheduler.extend(scheduler.admit(), story.prompt)
    after = story.other_prefill_after
    if after is not None:
        request = scheduler.mixed_batch(scheduler.decode(request, after))
    request = scheduler.finish(scheduler.decode(request, story.stop + 1))
    return stories.follower(design, c, [donation.checkpoint for donation in request.donated])


# Another prompt's only chunk in the batch of a step around a boundary; a long prompt in chunks, mixed and not.
_STORIES = (
    *(Story(1, True, 200, stop, after) for stop, after in ((767, 511), (767, 510), (511, 256))),
    *(Story(dcp, True, LONG, LONG + 1, beside=True) for dcp in (1, 8)),
    Story(1, False, LONG, LONG + 1, beside=True),
)


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = [
        Check(
            story.name,
            {
                "configuration": numbers(story.launch),
                "mixed": story.mixed,
                "chunked_prefill_size": CHUNK,
                "prompt": story.prompt,
                "stop": story.stop,
                "other_prefill_after": story.other_prefill_after,
                "beside": story.beside,
            },
            on(_follower, story),
            lands(1),
            tier="tiny",
        )
        for story in _STORIES
    ]
    return {"test_a_follower_of_chunked_prompts_is_served_the_state_of_its_own_prefix": checks}


MECHANISM = Mechanism("chunked", _groups, in_every_tier=True, support=("gridproof_sglang_loop.py",))
