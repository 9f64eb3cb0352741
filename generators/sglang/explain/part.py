"""SGLang for the explanations of cases: see `generators.engines.Explaining`."""

from __future__ import annotations

from generators.cases.file_format import Case
from generators.explain.timeline import Standing
from generators.sglang.explain.walkthrough import walked
from spec.sglang.engine import ENGINE
from spec.sglang.rules import grids


class Explain:
    """What explaining a case asks of SGLang."""

    def walked(self, case: Case, design: str) -> tuple[Standing, ...] | None:
        """How the slots stand after each event."""
        return walked(case, design)

    def most_accepted(self, case: Case) -> int | None:
        """The draft tokens of a verify."""
        return case.configuration.get("speculative_num_draft_tokens")

    def grids(self, case: Case) -> tuple[tuple[str, int], ...]:
        """The tree's page, the model's chunk and the interval (tokens)."""
        c = ENGINE.configuration_of(case.configuration)
        return (
            ("tree page", grids.tree_page(c)),
            ("chunk", c.mamba_chunk_size),
            ("interval", c.mamba_track_interval),
        )


PART = Explain()
