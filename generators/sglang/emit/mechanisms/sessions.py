"""Sessions: from what state a turn goes on.

A session's life is outside the model. A turn has to go on from as many tokens as its state has consumed; where
releases do not, what was seen on them is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence

from generators.cases.file_format import Case, spelled
from generators.emit.predicate_coverage import Instance
from generators.sglang.emit.mechanisms import observed, spaces
from generators.sglang.emit.mechanisms.base import Check, Mechanism

# What happens to a request, and of what kind of session it is: from what a request goes on then.
_RUNS = {
    ("retracted", "streaming"): observed.resumed(451, 452),
    ("retracted", "none"): observed.resumed(64),
    ("aborted", "streaming"): observed.resumed(64),
    ("aborted", "none"): observed.resumed(192),
    ("waiting", "plain"): observed.resumed(0, observed.FOREIGN),
    ("waiting", "none"): observed.resumed(0),
}
_OTHERWISE = {
    ("aborted", "streaming"): {
        **dict.fromkeys(("0.5.22", "0.5.23"), observed.resumed(128, 164)),
        "0.5.23+insert-guard": observed.resumed(64),
    },
}


def _groups(cases: Sequence[Case], instances: Sequence[Instance]) -> dict[str, list[Check]]:
    checks = [
        Check(
            f"{spelled(spaces.DEFAULTS)}-{story}-{session}",
            {"configuration": spaces.DEFAULTS, "story": story, "session": session},
            observed.by_release(seen, _OTHERWISE.get((story, session), {})),
            observed.resumes_rightly,
            tier="tiny",
        )
        for (story, session), seen in _RUNS.items()
    ]
    return {"test_a_request_goes_on_from_as_many_tokens_as_its_state_has_consumed": checks}


MECHANISM = Mechanism(
    "sessions",
    _groups,
    in_every_tier=True,
    support=("gridproof_sglang_loop.py", "gridproof_sglang_script.py"),
)
