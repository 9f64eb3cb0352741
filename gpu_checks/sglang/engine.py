"""SGLang for the checks on numbers: its cases replayed, and every pair of node and state it can bring about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Checks:
    """What the checks on numbers ask of SGLang; torch is imported when they are asked for."""

    def pairs(self, deepest: int) -> Any:
        """Every pair of node and state up to `deepest` tokens, and how many checkpoints they stand for."""
        from gpu_checks.sglang.all_pairs import matrix

        return matrix(deepest)

    def replay(self, recurrence: Any, jobs: Sequence[Any], dtype: Any, device: str) -> Any:
        """Replay jobs on a recurrence: the replays, and the jobs that a trace contradicts."""
        from gpu_checks.resume_pairs import Pair
        from gpu_checks.sglang.replay_case import CaseToReplay, replay_cases
        from gpu_checks.sglang.request import Life

        cases = [
            CaseToReplay(
                job.name,
                Life(job.design, job.configuration, job.events, job.grammar, job.pending),
                Pair(job.node, job.state),
            )
            for job in jobs
        ]
        return replay_cases(recurrence, cases, dtype=dtype, device=device)


ENGINE = Checks()
