"""Judges launches: the verdict of a release, and all there is to tell about it and about the words of the launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from generators.cases import codes
from generators.cases.domain import domain_of
from generators.check.findings import Finding, Judgement
from generators.check.verdict import finding, judge, refused_by
from generators.search.configurations import search
from generators.sglang.check import prompt_cuts
from generators.sglang.check.fixes import candidates, changed
from generators.sglang.check.impact import affected
from generators.sglang.launch.resolve import Launch
from spec.sglang.configuration import interval_is_whole_configured_pages
from spec.sglang.releases import CURRENT, DESIGNS, Design
from spec.sglang.rules import grids
from spec.transition_system import Run

_GRID_CODES = (codes.DECODE_GRID, codes.VERIFY_GRID)
# Guards that ask for more than the grids need once they are combined.
_MERELY_WRITTEN = {"interval_is_whole_pages", "prefill_chunks_are_whole_pages"}


@dataclass
class Judging:
    """One run: what was judged once is not judged again. `context_length` in tokens, None: as the launch says."""

    context_length: int | None = None
    known: dict[Any, Judgement] = field(default_factory=dict)
    fixes: dict[Any, dict[str, Any] | None] = field(default_factory=dict)
    upgrades: dict[Any, dict[str, Any] | None] = field(default_factory=dict)
    orders: dict[Any, Run] = field(default_factory=dict)

    def judge(
        self, design: Design, launch: Launch, source: str, line: int | None = None
    ) -> Judgement:
        """The judgement of a launch, each finding complete and at the line of its flag."""
        bare = self._bare(design, launch, alone=True)
        told = [*bare.findings, *_more(design, launch, bare)]
        fix = self._fix(design, launch, bare)
        upgrade = None if fix else self._upgrade(design, launch, bare)
        complete = [self._complete(design, launch, f, source, line, fix, upgrade) for f in told]
        notes = [
            Finding(
                n.code,
                n.code.severity,
                bare.engine,
                n.message,
                source,
                n.word.line or line,
                column=n.word.column,
            )
            for n in launch.notes
        ]
        return replace(bare, source=source, line=line, findings=(*complete, *notes))

    def _bare(self, design: Design, launch: Launch, alone: bool) -> Judgement:
        key = (
            *(design.name, launch.engine, launch.configuration, tuple(launch.sources.items())),
            *(launch.context_length, launch.radix_cache, launch.unmodelled, alone),
            *(launch.refused, launch.beyond, launch.sessions, launch.nested_chunk),
            launch.recurrent,
            tuple(sorted((name, str(given.value)) for name, given in launch.settings.items())),
        )
        if key not in self.known:
            self.known[key] = judge(
                design, launch, "", self.context_length, alone=alone, orders=self.orders
            )
        return self.known[key]

    def _fix(self, design: Design, launch: Launch, judgement: Judgement) -> dict[str, Any] | None:
        """The nearest flags under which the release is safe; `safe` where theorems say so of every reader judged."""
        if judgement.verdict not in ("unsafe", "rejected", "inert") or not launch.words:
            return None
        key = (design.name, launch.words)
        if key not in self.fixes:
            self.fixes[key] = self._search_fix(design, launch, judgement)
        return self.fixes[key]

    def _upgrade(
        self, design: Design, launch: Launch, judgement: Judgement
    ) -> dict[str, Any] | None:
        """The newest release and the nearest flags under which it is safe, where the launch's own has none."""
        if design is CURRENT or judgement.verdict not in ("unsafe", "rejected", "inert"):
            return None
        if not launch.words or design.name not in DESIGNS:
            return None
        if launch.words not in self.upgrades:
            there = self._bare(CURRENT, launch, alone=False)
            flags: Any = {} if there.verdict == "safe" else None
            if flags is None and (fix := self._fix(CURRENT, launch, there)) and fix["safe"]:
                flags = fix["flags"]
            engine = f"sglang=={CURRENT.release}"
            found = None if flags is None else {"engine": engine, "flags": flags}
            self.upgrades[launch.words] = found
        return self.upgrades[launch.words]

    def _search_fix(
        self, design: Design, launch: Launch, judgement: Judgement
    ) -> dict[str, Any] | None:
        unproved = None
        for flags in candidates(judgement, launch, prompt_cuts.mixes(design, launch)):
            again = self._bare(design, launch.again(changed(launch, flags)), alone=False)
            if again.verdict == "safe":
                return {"flags": dict(flags), "safe": True}
            if unproved is None and _only_unproved(again):
                unproved = {"flags": dict(flags), "safe": False}
        return unproved

    @staticmethod
    def _complete(
        design: Design,
        launch: Launch,
        told: Finding,
        source: str,
        line: int | None,
        fix: dict[str, Any] | None,
        upgrade: dict[str, Any] | None,
    ) -> Finding:
        place = launch.place(*(told.about or told.code.about))
        is_conditional = told.severity != told.code.severity
        anywhere = is_conditional or prompt_cuts.mixes(design, launch)
        step = 1 if anywhere else launch.configuration.page_size
        may_be_mended = told.severity != "note" and not is_conditional
        return replace(
            told,
            source=source,
            line=place.line if place and place.line else line,
            column=place.column if place else None,
            fix=fix if may_be_mended else None,
            upgrade=upgrade if may_be_mended else None,
            affected=affected(design, launch.configuration, told.case, step) if told.case else None,
        )


def _only_unproved(judgement: Judgement) -> bool:
    """Whether nothing was found and only a theorem for its extends, or what no rule models, is missing."""
    return (
        judgement.verdict == "not_modelled"
        and "unsafe" not in judgement.readers.values()
        and "safe" in judgement.readers.values()
    )


def _more(design: Design, launch: Launch, judgement: Judgement) -> Iterator[Finding]:
    """What the guards and the prefill chunk give reason to say."""
    c = launch.configuration
    if judgement.verdict == "rejected":
        if _is_valid(design, launch):
            yield finding(codes.REFUSED_THOUGH_VALID, design, "", codes.REFUSED_THOUGH_VALID.means)
        return
    if judgement.verdict == "not_modelled":
        return
    page, tree_page = c.page_size, grids.tree_page(c)
    misplaced = [f for f in judgement.findings if f.code in _GRID_CODES]
    if misplaced and c.page_size_given and interval_is_whole_configured_pages(c):
        message = (
            f"the start-up guard holds the interval {c.mamba_track_interval} against the page of {page} and "
            f"passes; the tree's page is {tree_page}"
        )
        yield finding(codes.GUARD_PROTECTS_NOT, design, "", message)
    from_log = "log" in launch.sources.values()
    if not c.page_size_given and not from_log and not interval_is_whole_configured_pages(c):
        message = (
            f"the interval {c.mamba_track_interval} is no multiple of the page of {page}; the guard was not "
            "evaluated, as --page-size was left out"
        )
        yield finding(codes.GUARD_NOT_EVALUATED, design, "", message)
    if launch.convolves and c.speculates and design.grid("window", c) != design.grid("verify", c):
        message = (
            f"the draft's convolution windows are kept every {design.grid('window', c)} tokens, its states every "
            f"{design.grid('verify', c)}"
        )
        yield finding(codes.WINDOW_GRID, design, "", message)
    size, grid = c.chunked_prefill_size, judgement.geometry["checkpoint_grid"]
    if size is not None and 0 < size < grid:
        message = f"a prefill is cut every {size} tokens and checkpoints are {grid} apart, so a piece may leave none"
        yield finding(codes.PREFILL_BELOW_GRID, design, "", message)


def _is_valid(design: Design, launch: Launch) -> bool:
    """Whether a refused configuration would be right if its guards let it start."""
    if {guard.name for guard in refused_by(design, launch.configuration)} - _MERELY_WRITTEN:
        return False
    found = search(design, domain_of(launch.configuration), guards=False, close=False)
    return not found.cases and found.complete
