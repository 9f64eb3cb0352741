"""Chunked prompts: the scheduler's own loop, where prompts are cut and a chunk may share its batch with decode steps.

Where a prompt is cut lies outside the model: the cuts given here are those that the real scheduler makes, and the
depths that the tests observe hold them against it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance
from generators.sglang.emit import expectations, stories
from generators.sglang.emit.mechanisms import observed
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, lands, numbers, on
from spec.sglang.releases import Design
from spec.sglang.scheduler import Scheduler

CHUNK = 2048  # tokens of a prefill; with a request decoding in the same batch one token less
LONG = 5000  # tokens of a prompt that is cut
FLOORS_CUTS_UNDER_DCP = ("0.5.23",)  # releases in which all chunks under DCP end on the page


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
    start, budget, page = 0, CHUNK - int(story.mixed and story.beside), story.launch["page_size"]
    floors_all = story.dcp_size > 1 and design.release in FLOORS_CUTS_UNDER_DCP
    while start < story.prompt:
        floors = floors_all or start == 0
        end = min(start + (budget // page * page if floors else budget), story.prompt)
        yield start, end
        start = end


def _follower(design: Design, story: Story) -> dict[str, Any] | str:
    """What a follower is given: the prompt in its chunks, then steps, one of which may share its batch."""
    c = expectations.configuration(story.launch)
    scheduler = Scheduler(design, c)
    request = scheduler.admit()
    for _, end in _cuts(design, story):
        if story.beside and story.mixed:
            request = scheduler.mixed_batch(request)
        request = scheduler.extend(request, end)
        if request.stopped:
            return "fault"
    if story.other_prefill_after is not None:
        request = scheduler.mixed_batch(scheduler.decode(request, story.other_prefill_after))
    request = scheduler.finish(scheduler.decode(request, story.stop + 1))
    return stories.follower(design, c, [donation.checkpoint for donation in request.donated])


# Another prompt's only chunk in the batch of a step around a boundary; a long prompt in chunks, mixed and not.
_STORIES = (
    *(Story(1, True, 200, stop, after) for stop, after in ((767, 511), (767, 510), (511, 256))),
    *(Story(dcp, True, LONG, LONG + 1, beside=True) for dcp in (1, 8)),
    Story(1, False, LONG, LONG + 1, beside=True),
)


# Two prompts that wait while a request decodes: page, DCP size, from what the last chunk of the second goes on, and
# other releases. Under DCP 0.5.23 rounds the cuts of both to the chunk, so that what is left of the budget cuts no second
# prompt; 0.5.18 stops where an extend starts off the tree page.
_WAITING: tuple[tuple[int, int, int, dict[str, observed.Seen]], ...] = (
    (16, 2, 3150, {"0.5.23": observed.resumed(4928)}),
    (64, 2, 3006, {"0.5.23": observed.resumed(4864), "0.5.18": "fault"}),
    (16, 1, 3150, {}),
)


def _waiting(page: int, dcp: int, resumed: int, others: dict[str, observed.Seen]) -> Check:
    launch = completed({"page_size": page, "dcp_size": dcp})
    return Check(
        f"{spelled(launch)}-prompts{LONG}",
        {"configuration": numbers(launch), "chunked_prefill_size": CHUNK, "prompt": LONG},
        observed.by_release(observed.resumed(resumed), others),
        observed.resumes_rightly,
        tier="tiny",
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
    return {
        "test_a_follower_of_chunked_prompts_is_served_the_state_of_its_own_prefix": checks,
        "test_two_prompts_that_wait_together_are_both_served": [_waiting(*run) for run in _WAITING],
    }


MECHANISM = Mechanism(
    "chunked",
    _groups,
    in_every_tier=True,
    support=("gridproof_sglang_loop.py", "gridproof_sglang_script.py"),
)
