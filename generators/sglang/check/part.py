"""What judging a launch of SGLang takes."""

from __future__ import annotations

from collections.abc import Iterable

from generators.check.findings import Judgement
from generators.engines import Checking
from generators.launch.launch import Launch
from generators.sglang.check import judged, not_modelled
from generators.sglang.check.conditions import mixes
from spec.sglang.releases import Design


class _Checking(Checking):
    judged = staticmethod(judged.judged)
    refusals = staticmethod(not_modelled.refusals)
    keeps_checkpoints = staticmethod(not_modelled.keeps_checkpoints)
    remarks = staticmethod(not_modelled.remarks)
    producers = staticmethod(not_modelled.producers)
    not_modelled = staticmethod(not_modelled.not_modelled)

    def step(self, design: Design, launch: Launch, is_conditional: bool) -> int:
        anywhere = is_conditional or mixes(design, launch)
        return 1 if anywhere else launch.configuration.page_size

    def summary(self, judgement: Judgement) -> Iterable[str]:
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
