"""What judging a launch of SGLang takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from generators.check.findings import Judgement
from generators.engines import Checking
from generators.launch.launch import Launch
from generators.sglang.check import fixes, judged, not_modelled
from generators.sglang.check.conditions import mixes
from spec.sglang.releases import Design


class _Checking(Checking):
    judged = staticmethod(judged.judged)
    refusals = staticmethod(not_modelled.refusals)
    keeps_checkpoints = staticmethod(not_modelled.keeps_checkpoints)
    remarks = staticmethod(not_modelled.remarks)
    producers = staticmethod(not_modelled.producers)
    assumed = staticmethod(not_modelled.assumed)
    alternatives = staticmethod(not_modelled.alternatives)
    may_be_mended = staticmethod(not_modelled.may_be_mended)
    cost = staticmethod(fixes.cost)
    not_modelled = staticmethod(not_modelled.not_modelled)

    def model(self, launch: Launch) -> dict[str, Any]:
        facts, beside = launch.facts, launch.reading.get("given", {})
        by = facts.model.read_from or ("--set" if beside and facts.hybrid else None)
        return {
            "architecture": facts.model.architecture,
            "recurrent": None if facts.assumed else facts.hybrid,
            "read_from": by,
        }

    def concerns(self, launch: Launch) -> bool:
        return launch.facts.hybrid is True

    def step(self, design: Design, launch: Launch, is_conditional: bool) -> int:
        anywhere = is_conditional or mixes(design, launch)
        return 1 if anywhere else launch.configuration.page_size

    def summary(self, judgement: Judgement) -> Iterable[str]:
        if judgement.verdict == "not_modelled" and not (judgement.model or {}).get("recurrent"):
            return  # of a model that is not known to keep states, no lengths of states
        c, source, grids = judgement.configuration, judgement.sources, judgement.geometry
        shown = {
            "page": "page_size",
            "dcp": "dcp_size",
            "interval": "mamba_track_interval",
            "chunk": "mamba_chunk_size",
            "strategy": "strategy",
        }
        values = [f"{word} {c[name]} ({source[name]})" for word, name in shown.items()]
        if c["speculative_num_draft_tokens"]:
            name = "speculative_num_draft_tokens"
            values.append(f"{c[name]} draft tokens ({source[name]})")
        yield ", ".join(values)
        yield (
            f"tree page {grids['tree_page']} tokens, prompt checkpoints every {grids['checkpoint_grid']}, "
            f"decode checkpoints every {grids['decode_grid']}"
        )


PART = _Checking()
