"""Which cases can be replayed, and the pytest files that replay them: one a family, of plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from generators.cases.codes import code_named
from generators.cases.file_format import Case
from generators.common.errors import BadInput
from generators.emit.jobs import NotReplayed, ReplayJob, named
from generators.emit.manifest import TIERS, PredictedTest
from generators.sglang import codes
from generators.sglang.emit.stories import follower
from generators.sglang.search.part import MODELLED_STRATEGIES
from spec.sglang.configuration import STATEFUL_LAYERS, Configuration
from spec.sglang.engine import ENGINE
from spec.sglang.proposals import PROPOSALS
from spec.sglang.releases import CURRENT, Design, design_named
from spec.sglang.scheduler import Request, Scheduler
from spec.sglang.trace_runner import SERVED, BadTrace, acted_out

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


def resume_depths(case: Case) -> tuple[int, int]:
    """Depths (tokens) of the node a case resumes at and of its state; a depth of 0 is refused as bad input."""
    state, node = case.depths["state"], case.depths["node"]
    if case.outcome == "lost":
        raise NotReplayed("nothing is reused there, so there is nothing to resume from")
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
    return node, state


def _check(case: Case) -> None:
    """Refuse what no request of the serving model can be."""
    c = ENGINE.configuration_of(case.configuration)
    if unknown := {*c.stateful_layers} - {*STATEFUL_LAYERS}:
        raise BadInput(
            f"case {case.id}: its recurrence {unknown.pop()!r} is unknown; accepted are "
            f"{', '.join(STATEFUL_LAYERS)}"
        )
    if c.strategy not in MODELLED_STRATEGIES:
        raise NotReplayed(f"its strategy {c.strategy} keeps no slots and is not modelled")
    if case.code == codes.TREE_STATE.id:
        raise NotReplayed("it is made of several requests, and a replay serves one")
    if unserved := [event.event for event in case.trace if event.event not in SERVED]:
        raise NotReplayed(f"its event {unserved[0]!r} is not one that a replay serves")
    if c.speculative_num_draft_tokens > MOST_DRAFT_TOKENS:
        raise NotReplayed(
            f"it verifies {c.speculative_num_draft_tokens:,} draft tokens; at most "
            f"{MOST_DRAFT_TOKENS:,} are replayed"
        )


def ends(case: Case, design: Design) -> Request:
    """The request of a case on a design, behind the last of its events.

    `BadInput` where they do not make one, `NotReplayed` where a replay does not serve it.
    """
    _check(case)
    try:
        *_, last = acted_out(
            Scheduler(design, ENGINE.configuration_of(case.configuration)), case.trace, case.grammar
        )
    except BadTrace as why:
        raise BadInput(f"case {case.id}: {why}") from None
    return last


def job(name: str, case: Case, design: Design) -> ReplayJob:
    """A case ready to be replayed under its name; `NotReplayed` where it cannot be."""
    node, state = resume_depths(case)
    ends(case, design)
    c = ENGINE.configuration_of(case.configuration)
    return ReplayJob(
        name=name,
        design=design,
        configuration=c,
        events=case.trace,
        node=node,
        state=state,
        recurrences=c.stateful_layers,
        grammar=case.grammar,
        pending=case.code == codes.FLUSH.id,
    )


@dataclass(frozen=True)
class Written:
    """A case as an emitted file spells it.

    `repaired`: whether a follower is given nothing wrong with the proposed repairs; `recurrences`: what it is run on.
    """

    id: str
    design: str
    configuration: dict[str, Any]
    events: tuple[tuple[str, int, int], ...]
    node: int | None
    state: int | None
    grammar: bool
    pending: bool
    repaired: bool
    recurrences: tuple[str, ...]


def _is_repaired(case: Case) -> bool:
    """Whether the events of a case, with the proposed repairs, give a follower a right state or none."""
    design = design_named(REPAIRED)
    donated = [donation.checkpoint for donation in ends(case, design).donated]
    given = follower(design, ENGINE.configuration_of(case.configuration), donated)
    return given["node"] == (given["state"] or 0)


def _written(name: str, case: Case, design: str) -> Written:
    """A case as it is written down; `NotReplayed` where it cannot be and no assertion stops it either."""
    node, state = (None, None) if case.outcome == "fault" else resume_depths(case)
    c, default = ENGINE.configuration_of(case.configuration), vars(Configuration())
    return Written(
        name,
        design,
        {field: value for field, value in vars(c).items() if value != default[field]},
        tuple((event.event, event.tokens, event.seq_len) for event in case.trace),
        node,
        state,
        grammar=case.grammar,
        pending=case.code == codes.FLUSH.id,
        repaired=_is_repaired(case),
        recurrences=c.stateful_layers,
    )


def _family(case: Case) -> str:
    return FAMILIES.get(case.code, code_named(case.code).name.replace("-", "_"))


def families(
    cases: Iterable[tuple[Case, str]],
) -> tuple[dict[str, list[Written]], dict[str, str]]:
    """The cases, each with the name of its design, by the family whose file holds them, and by name why some are in none."""
    found: dict[str, list[Written]] = {}
    left_out = {}
    for name, (case, design) in named(cases).items():
        try:
            written = _written(name, case, design)
        except NotReplayed as why:
            left_out[name] = str(why)
        else:
            found.setdefault(_family(case), []).append(written)
    return found, left_out


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
    for family, written in families(cases)[0].items():
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
