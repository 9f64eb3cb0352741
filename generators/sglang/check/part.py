"""What judging a launch of SGLang takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from generators.check.findings import Judged, Judgement, Remark
from generators.engines import Checking
from generators.launch.launch import Launch
from generators.sglang import codes
from generators.sglang.check import judged
from generators.sglang.check.conditions import mixes
from generators.sglang.launch.flags import spelling_of
from spec.sglang.releases import Design


class _Checking(Checking):
    def judged(
        self,
        design: Design,
        launch: Launch,
        broken: Collection[str],
        *,
        alone: bool,
        known: dict[Any, Any],
    ) -> Judged:
        return judged.judged(design, launch, broken, alone=alone, known=known)

    def refusals(self, design: Design, launch: Launch) -> Iterator[Remark]:
        if launch.unmodelled:
            return
        for guard in judged.refused_by(design, launch.configuration):
            of_strategy = guard.name in codes.CANNOT_START.guards
            code = codes.CANNOT_START if of_strategy else codes.REJECTED
            yield Remark(code, f"the release refuses to start: {guard.demands}")
        if launch.facts.refused:
            yield Remark(codes.CANNOT_START, f"the server does not start: {launch.facts.refused}")

    def not_modelled(self, design: Design, launch: Launch) -> str | None:
        if launch.unmodelled is None and launch.configuration.strategy == "no_buffer":
            return "not checked: gridproof does not model the no_buffer strategy yet"
        return launch.unmodelled

    def keeps_checkpoints(self, launch: Launch) -> bool:
        return launch.facts.radix_cache and launch.facts.model.recurrent is not False

    def remarks(self, design: Design, launch: Launch, broken: Collection[str]) -> Iterator[Remark]:
        """The flags that reach what no rule models, and the producers that they concern."""
        if launch.unmodelled:
            return
        for beyond in launch.facts.beyond:
            left = [p for p in judged.concerned(launch, beyond) if p not in broken]
            if left:
                flag, named = spelling_of(beyond.field), " and ".join(left)
                message = (
                    f"not checked: {named}, because gridproof does not model {flag} ({beyond.why})"
                )
                yield Remark(codes.NOT_MODELLED, message, about=(beyond.field,))

    def producers(self, launch: Launch) -> tuple[str, ...]:
        beyond = (p for flag in launch.facts.beyond for p in judged.concerned(launch, flag))
        return tuple(dict.fromkeys(("decode", "extend", "slots", "flush", *beyond)))

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
            f"tree page {grids['tree_page']}, a prompt's checkpoints every {grids['checkpoint_grid']}, "
            f"decode's every {grids['decode_grid']} tokens"
        )


PART = _Checking()
