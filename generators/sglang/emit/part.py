"""SGLang for the emitter: see `generators.engines.Emitting`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from generators.cases.file_format import Case
from generators.emit.jobs import ReplayJob
from generators.emit.manifest import PredictedTest
from generators.emit.mechanism import ENGINE, MODEL
from generators.engines import Proposal
from generators.sglang import codes
from generators.sglang.emit import replay_tests
from generators.sglang.emit.mechanisms import MECHANISMS
from generators.sglang.emit.mechanisms.base import CONFIGURATION_FIELDS
from spec.sglang.proposals import with_insert_guard
from spec.sglang.releases import CURRENT, Design


class Emit:
    """What emitting asks of SGLang."""

    mechanisms = MECHANISMS
    package = "generators.sglang.emit"
    configuration_fields = CONFIGURATION_FIELDS
    support = {MODEL: "gridproof_model.py", ENGINE: "gridproof_sglang.py"}
    proposed = (
        Proposal(
            f"{CURRENT.release}+insert-guard",
            with_insert_guard(CURRENT),
            f"insert_guard-{CURRENT.release}.patch",
        ),
    )
    replay_subjects = replay_tests.SUBJECTS

    def refused(self, case: Case) -> str | None:
        """A verify of too many tokens, or of none."""
        drafts, most = case.configuration["speculative_num_draft_tokens"] or 0, replay_tests
        if case.code == codes.VERIFY_GRID.id and not 1 <= drafts <= most.MOST_DRAFT_TOKENS:
            return f"verifies {drafts} draft tokens; accepted are 1 to {most.MOST_DRAFT_TOKENS}"
        return None

    def replays(
        self, environment: Any, cases: Iterable[tuple[Case, str]]
    ) -> tuple[dict[str, str], dict[str, PredictedTest]]:
        """A module a family, and pytest's options."""
        return replay_tests.modules(environment, cases)

    def replay_job(self, name: str, case: Case, design: Design) -> ReplayJob:
        """A case ready to be replayed."""
        return replay_tests.job(name, case, design)

    def not_replayed(self, cases: Iterable[tuple[Case, str]]) -> dict[str, str]:
        """Cases that cannot be replayed, by name, and why."""
        return replay_tests.families(cases)[1]


PART = Emit()
