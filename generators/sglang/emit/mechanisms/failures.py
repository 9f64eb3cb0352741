"""Failures: verifies of a lazy request for which no second slot can be had."""

from __future__ import annotations

from collections.abc import Sequence

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance, Space
from generators.sglang.emit import expectations, stories
from generators.sglang.emit.mechanisms import slots, spaces, verifies
from generators.sglang.emit.mechanisms.base import Check, Mechanism, completed, lands, numbers, on
from spec.numbers import both


def _story(n: dict[str, int]) -> stories.Verifies:
    """Three verifies, or four with one `between` the first and the second; the third is in flight at the end."""
    between = (n["between"],) if n["between"] else ()
    accepts = (n["first"], *between, n["second"], n["third"])
    second = len(accepts) - 2
    failing = {0: 0, 1: second, 2: second + 1}[n["failing"]]
    return stories.Verifies(n["prompt"], accepts, n["retained"], bool(n["grammar"]), (failing,))


# The label of the first verify is still there when the second, without a slot of its own, overwrites its state among
# tokens that a grammar drops; the third has a slot again.
_OVERWRITTEN = Instance(
    {**slots.LAUNCHES[1], **verifies.SHORT_GRID, "speculative_num_draft_tokens": 4},
    {"prompt": 7, "first": 4, "between": 1, "second": 4, "third": 1, "retained": 3}
    | {"grammar": 1, "failing": 1},
    "tiny",
)


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = []
    for instance in instances:
        launch, story = completed(instance.configuration), _story(dict(instance.lengths))
        c = expectations.configuration(launch)
        drafts, accepts = c.speculative_num_draft_tokens, list(story.accepts)
        words = [
            f"draft{drafts}-prompt{story.prompt}-accept{'-'.join(map(str, accepts))}",
            f"{'grammar' if story.grammar else 'stop'}{story.retained}",
            f"no-slot-for{story.no_slot_for[0]}",
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
                    "grammar": story.grammar,
                    "failing": story.no_slot_for[0],
                },
                on(stories.verified_follower, c, story),
                lands(),
                tier=instance.tier,
            )
        )
    return {"test_a_verify_without_a_second_slot_leaves_no_state_of_another_depth": checks}


_SIZES = (1, 2, 3, 4, 6, 16, 40)
MECHANISM = Mechanism(
    "failures",
    _groups,
    space=Space(
        "failures",
        tuple(
            c
            for c in verifies.CONFIGURATIONS
            if c["strategy"] == "extra_buffer_lazy" and c["dcp_size"] == 1
        ),
        {
            "prompt": (3, 6, 7, 40, 60, 63, 100, 127),
            "first": _SIZES,
            "between": (0, 1),
            "second": _SIZES,
            "third": (1, 2, 6, 40),
            "retained": (1, 2, 3, 4, 16, 40),
            "grammar": (0, 1),
            "failing": (0, 1, 2),
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
        },
        {
            "a_grammar_ends_it": lambda c, **n: n["grammar"] > 0,
            "a_verify_lies_between": lambda c, **n: n["between"] > 0,
            "the_second_has_no_slot": lambda c, **n: n["failing"] == 1,
            "the_first_verify_crosses": verifies.crosses_behind("first"),
            "the_second_verify_crosses": verifies.crosses_behind("second", "first", "between"),
            "what_is_kept_of_it_crosses": verifies.crosses_behind("retained", "first", "between"),
            "the_verify_in_flight_crosses": verifies.crosses_behind(
                "third", "first", "between", "second"
            ),
        },
    ),
    support=("gridproof_sglang_verify.py",),
    known=(_OVERWRITTEN,),
)
