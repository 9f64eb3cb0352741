"""Which cases can be replayed, and the pytest files that replay them: one a family, of plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from generators import codes
from generators.cases import Case
from generators.errors import BadInput
from generators.manifest import TIERS, PredictedTest
from generators.mechanisms.base import completed
from spec.sglang.configuration import STATEFUL_LAYERS, Configuration

MOST_TOKENS = 65_536
MOST_DRAFT_TOKENS = 1_024
SUBJECTS = ("cpu", "cuda")  # what the tests run on
SUPPORT = "conftest.py"
FAMILIES = {
    codes.DECODE_GRID.id: "decode",
    codes.VERIFY_GRID.id: "verify",
    codes.EXTEND_PREFIX.id: "extend",
    codes.EXTEND_GRID.id: "extend",
    codes.EXTEND_ROW.id: "extend",
    codes.EXTEND_ASSERTION.id: "extend",
    codes.FLUSH.id: "flush",
}


class NotReplayed(Exception):
    """A case has nothing to resume from; says why."""


def resume_depths(case: Case) -> tuple[int, int]:
    """Depths (tokens) of the node a case resumes at and of its state; a depth of 0 is refused as bad input."""
    state, node = case.depths["state"], case.depths["node"]
    if case.klass.get("speculates"):
        raise NotReplayed("an order of verifies and their results is not served by a replay yet")
    if case.outcome == "fault" or node is None:
        raise NotReplayed("an assertion of the engine stops the request before anything is resumed")
    if state is None or state < 0:
        raise NotReplayed("no forward pass wrote its state, so there is nothing to compare")
    for name, depth in (("state", state), ("node", node)):
        if depth < 1:
            raise BadInput(
                f"case {case.id}: its {name} depth is {depth}; accepted are depths of at least 1 token"
            )
    longest = max(state, node, *(event.seq_len for event in case.trace))
    if longest > MOST_TOKENS:
        raise NotReplayed(f"it needs {longest:,} tokens; at most {MOST_TOKENS:,} are replayed")
    drafts = case.configuration["speculative_num_draft_tokens"] or 0
    if drafts > MOST_DRAFT_TOKENS:
        raise NotReplayed(
            f"it verifies {drafts:,} draft tokens; at most {MOST_DRAFT_TOKENS:,} are replayed"
        )
    return node, state


@dataclass(frozen=True)
class Written:
    """A case as an emitted file spells it."""

    id: str
    design: str
    configuration: dict[str, Any]
    events: tuple[tuple[str, int, int], ...]
    node: int | None
    state: int | None
    pending: bool

    @property
    def recurrences(self) -> tuple[str, ...]:
        """What it is replayed on: its own recurrence, or all."""
        own = self.configuration.get("recurrence")
        return STATEFUL_LAYERS if own is None else (own,)


def _written(case: Case, design: str) -> Written | None:
    """A case as it is written down, or None where it cannot be replayed and no assertion stops it either."""
    node = state = None
    if case.outcome != "fault":
        try:
            node, state = resume_depths(case)
        except NotReplayed:
            return None
    default = vars(Configuration())
    chosen = {
        name: value
        for name, value in completed(case.configuration).items()
        if name in default and value != default[name]
    }
    events = tuple((event.event, event.tokens, event.seq_len) for event in case.trace)
    return Written(case.id, design, chosen, events, node, state, case.code == codes.FLUSH.id)


def families(cases: Sequence[tuple[Case, str]]) -> dict[str, list[Written]]:
    """The cases, each with the name of its design, by the family whose file holds them; each id once."""
    found: dict[str, dict[str, Written]] = {}
    for case, design in cases:
        if written := _written(case, design):
            name = FAMILIES.get(case.code, codes.CODES[case.code].name.replace("-", "_"))
            found.setdefault(name, {}).setdefault(case.id, written)
    return {name: list(kept.values()) for name, kept in found.items()}


DIVERGES = "test_a_warm_run_diverges_as_predicted"
STOPPED = "test_an_assertion_stops_the_request"
REPAIRED = "test_with_the_proposed_repairs_a_follower_computes_what_a_cold_run_computes"


def modules(
    environment: jinja2.Environment, cases: Sequence[tuple[Case, str]]
) -> tuple[dict[str, str], dict[str, PredictedTest]]:
    """The files by name, and what each of their tests is predicted to do on every device."""
    files, predicted = {}, {}
    passes = {"outcome": "passes", "observed": None}
    for family, written in families(cases).items():
        resumed = [case for case in written if case.node is not None]
        stopped = [case for case in written if case.node is None]
        name = f"test_{family}.py"
        files[name] = environment.get_template("replay_family.py.j2").render(
            family=family, resumed=resumed, stopped=stopped, tests=(DIVERGES, STOPPED, REPAIRED)
        )
        for test, of in ((DIVERGES, resumed), (STOPPED, stopped), (REPAIRED, written)):
            for case in of:
                for recurrence in case.recurrences:
                    predicted[f"{name}::{test}[{case.id}-{recurrence}]"] = PredictedTest(
                        TIERS[0], dict.fromkeys(SUBJECTS, passes)
                    )
    files[SUPPORT] = environment.get_template("replay_conftest.py.j2").render()
    return files, predicted
