"""Hierarchical cache: from what state a request goes on whose prefix lies on the host.

It is outside the model. A request has to go on from as many tokens as its state has consumed; where releases do not,
what was seen on them is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance
from generators.sglang.emit.mechanisms import observed, spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism

_DASHED = str.maketrans(" _", "--")
# The story, the write policy and the request that is looked at: from what it goes on.
_RUNS = {
    ("two loads", "write_back", "deep"): observed.resumed(384),
    ("two loads", "write_back", "branch"): observed.resumed(128, 0),
    ("two loads", "write_back", "later"): observed.resumed(256, observed.FOREIGN),
    ("two loads", "write_through", "deep"): observed.resumed(384),
    ("two loads", "write_through", "branch"): observed.resumed(256),
    ("two loads", "write_through", "later"): observed.resumed(256),
    ("storage asked again", "write_through", "turn"): observed.resumed(384, 128),
}


def _otherwise(story: str, policy: str) -> dict[str, observed.Seen]:
    """What the first releases show: 0.5.17 has no states on the host, 0.5.18 stops at an assertion of its own."""
    known: dict[str, observed.Seen] = {"0.5.17": observed.NOT_DRIVEN}
    if policy == "write_back":
        known["0.5.18"] = "fault"
    if story == "storage asked again":
        known |= dict.fromkeys(("0.5.18", "0.5.19"), observed.resumed(128))
    return known


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = [
        Check(
            f"{spelled(spaces.DEFAULTS)}-{f'{story}-{policy}-{name}'.translate(_DASHED)}",
            {
                "configuration": spaces.DEFAULTS,
                "story": story,
                "write_policy": policy,
                "name": name,
            },
            observed.by_release(seen, _otherwise(story, policy)),
            observed.resumes_rightly,
            tier="tiny",
        )
        for (story, policy, name), seen in _RUNS.items()
    ]
    return {"test_a_request_goes_on_from_as_many_tokens_as_its_state_has_consumed": checks}


MECHANISM = Mechanism(
    "host",
    _groups,
    in_every_tier=True,
    support=(
        *("gridproof_sglang_loop.py", "gridproof_sglang_script.py"),
        "gridproof_sglang_host.py",
    ),
)
