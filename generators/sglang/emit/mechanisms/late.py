"""Late: a verify that is launched after the result of the one before it has ended its request."""

from __future__ import annotations

from collections.abc import Sequence

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, stories
from generators.sglang.emit.mechanisms import slots, spaces, verifies
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, lands, numbers, on
from spec.numbers import both


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, n = completed(instance.configuration), instance.lengths
        c = expectations.configuration(launch)
        accepts = [n["first"], n["second"], n["late"]]
        story = stories.Verifies(n["prompt"], tuple(accepts), n["retained"], True)
        drafts = c.speculative_num_draft_tokens
        words = [
            f"draft{drafts}-prompt{story.prompt}-accept{'-'.join(map(str, accepts))}",
            f"grammar{story.retained}",
        ]
        strategy = {"strategy": c.strategy, "overlap": c.overlap}
        checks.append(
            Check(
                "-".join([spelled(launch), slots.kind_of(launch), *words]),
                {
                    "configuration": {**numbers(launch), **strategy},
                    "prompt": story.prompt,
                    "accepts": accepts,
                    "draft_tokens": drafts,
                    "retained": story.retained,
                },
                on(stories.late_follower, c, story),
                lands(),
                tier=instance.tier,
            )
        )
    return {"test_a_verify_launched_after_its_request_ended_overwrites_no_state": checks}


_SIZES = (1, 2, 3, 4, 6, 16, 40)
MECHANISM = Mechanism(
    "late",
    _groups,
    space=Space(
        "late",
        tuple(c for c in verifies.CONFIGURATIONS if c["overlap"]),
        {
            "prompt": (3, 6, 7, 40, 60, 63, 100, 127),
            "first": _SIZES,
            "second": _SIZES,
            "late": _SIZES,
            "retained": _SIZES,
        },
        {
            **spaces.ACCEPTED,
            "only_draft_tokens_are_accepted": lambda c, **n: both(
                *(n[name] <= c.speculative_num_draft_tokens for name in ("first", "second", "late"))
            ),
            "what_is_kept_was_accepted": lambda c, **n: n["retained"] <= n["second"],
        },
        {
            "slots_are_lazy": slots.is_lazy,
            "all_that_was_accepted_is_kept": lambda c, **n: n["retained"] == n["second"],
            "the_first_verify_crosses": verifies.crosses_behind("first"),
            "the_second_verify_crosses": verifies.crosses_behind("second", "first"),
            "what_is_kept_of_it_crosses": verifies.crosses_behind("retained", "first"),
            "the_late_verify_crosses": verifies.crosses_behind("late", "first", "second"),
        },
    ),
    support=("gridproof_sglang_verify.py",),
)
