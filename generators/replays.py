"""Which cases can be replayed, and the pytest files that replay them: one a family, of plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from generators import codes
from generators.cases import Case
from generators.errors import BadInput
from generators.manifest import TIERS, PredictedTest
from generators.retelling import configuration_of
from generators.stories import follower
from spec.sglang.configuration import STATEFUL_LAYERS, Configuration
from spec.sglang.designs import CURRENT, PROPOSALS, design_named
from spec.sglang.request import Scheduler
from spec.sglang.trace import BadTrace, acted_out

MOST_TOKENS = 65_536
MOST_DRAFT_TOKENS = 1_024
SUBJECTS = ("cpu", "cuda")  # what the tests run on
SUPPORT = "conftest.py"
# The newest release with all that gridproof proposes for it.
REPAIRED = "+".join((CURRENT.name, *PROPOSALS))
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
    if case.outcome == "fault" or node is None:
        raise NotReplayed("an assertion of the engine stops the request before anything is resumed")
    if state is None or state < 0:
        raise NotReplayed(
            "no forward pass wrote the slot that is donated: there is no state to resume from"
        )
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


def named(cases: Iterable[tuple[Case, str]]) -> dict[str, tuple[Case, str]]:
    """Cases, each with the name of its design, by names of their own: the id, and the design where several have that id.

    What is found twice in one design is one case.
    """
    distinct: dict[tuple[str, str], Case] = {}
    for case, design in cases:
        distinct.setdefault((case.id, design), case)
    count = Counter(id for id, _ in distinct)
    return {
        id if count[id] == 1 else f"{id}-{design}": (case, design)
        for (id, design), case in distinct.items()
    }


@dataclass(frozen=True)
class Written:
    """A case as an emitted file spells it; `repaired`: whether a follower is given nothing wrong with the proposed repairs."""

    id: str
    design: str
    configuration: dict[str, Any]
    events: tuple[tuple[str, int, int], ...]
    node: int | None
    state: int | None
    grammar: bool
    pending: bool
    repaired: bool

    @property
    def recurrences(self) -> tuple[str, ...]:
        """What it is replayed on: its own recurrence, or all."""
        own = self.configuration.get("recurrence")
        return STATEFUL_LAYERS if own is None else (own,)


def _is_repaired(case: Case) -> bool:
    """Whether the events of a case, with the proposed repairs, give a follower a right state or none."""
    design, c = design_named(REPAIRED), configuration_of(case)
    try:
        *_, last = acted_out(Scheduler(design, c), case.trace, case.grammar)
    except BadTrace as why:
        raise BadInput(f"case {case.id}: {why}") from None
    given = follower(design, c, [donation.checkpoint for donation in last.donated])
    return given["node"] == (given["state"] or 0)


def _written(name: str, case: Case, design: str) -> Written:
    """A case as it is written down; `NotReplayed` where it cannot be and no assertion stops it either."""
    node, state = (None, None) if case.outcome == "fault" else resume_depths(case)
    default = vars(Configuration())
    chosen = {
        field: value
        for field, value in vars(configuration_of(case)).items()
        if value != default[field]
    }
    events = tuple((event.event, event.tokens, event.seq_len) for event in case.trace)
    return Written(
        name,
        design,
        chosen,
        events,
        node,
        state,
        case.grammar,
        case.code == codes.FLUSH.id,
        _is_repaired(case),
    )


def families(cases: Iterable[tuple[Case, str]]) -> dict[str, list[Written]]:
    """The cases, each with the name of its design, by the family whose file holds them; those that cannot be replayed are left out."""
    found: dict[str, list[Written]] = {}
    for name, (case, design) in named(cases).items():
        family = FAMILIES.get(case.code, codes.CODES[case.code].name.replace("-", "_"))
        try:
            found.setdefault(family, []).append(_written(name, case, design))
        except NotReplayed:
            continue
    return {name: kept for name, kept in found.items() if kept}


def left_out(cases: Iterable[Case]) -> Iterator[tuple[Case, str]]:
    """The cases that no emitted file replays, and why."""
    for case in cases:
        try:
            if case.outcome != "fault":
                resume_depths(case)
        except NotReplayed as why:
            yield case, str(why)


DIVERGES = "test_a_warm_run_diverges_as_predicted"
STOPPED = "test_an_assertion_stops_the_request"
RIGHT = "test_with_the_proposed_repairs_a_follower_computes_what_a_cold_run_computes"
OPEN = "test_the_proposed_repairs_leave_a_follower_with_the_wrong_state"


def _tests(written: Sequence[Written]) -> dict[str, list[Written]]:
    """The tests of a family and the cases that each is run on."""
    return {
        DIVERGES: [case for case in written if case.node is not None],
        STOPPED: [case for case in written if case.node is None],
        RIGHT: [case for case in written if case.repaired],
        OPEN: [case for case in written if not case.repaired],
    }


def modules(
    environment: jinja2.Environment, cases: Iterable[tuple[Case, str]]
) -> tuple[dict[str, str], dict[str, PredictedTest]]:
    """The files by name, and what each of their tests is predicted to do on every device."""
    files, predicted = {}, {}
    passes = {"outcome": "passes", "observed": None}
    for family, written in families(cases).items():
        name, tests = f"test_{family}.py", _tests(written)
        files[name] = environment.get_template("replay_family.py.j2").render(
            family=family, cases=written, tests=tests, repaired=REPAIRED
        )
        for test, of in tests.items():
            for case in of:
                for recurrence in case.recurrences:
                    predicted[f"{name}::{test}[{case.id}-{recurrence}]"] = PredictedTest(
                        TIERS[0], dict.fromkeys(SUBJECTS, passes)
                    )
    files[SUPPORT] = environment.get_template("replay_conftest.py.j2").render()
    return files, predicted
