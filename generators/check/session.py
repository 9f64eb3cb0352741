"""Judges the launches of one run: what was judged once is not judged again; each finding gets its place and its fix."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from generators import engines
from generators.cases.codes import Flags, code_named
from generators.cases.file_format import Case
from generators.check.findings import Finding, Judgement
from generators.check.sources import COMMAND
from generators.check.verdict import judge
from generators.launch.launch import Launch
from spec.engine import engine_of

_MENDED = ("unsafe", "rejected", "inert")
_MOST_FIXES = 2


@dataclass
class Judging:
    """One run: what was judged once is not judged again. `context_length` in tokens, None: as the launch says."""

    context_length: int | None = None
    known: dict[Any, Judgement] = field(default_factory=dict)
    fixes: dict[Any, list[dict[str, Any]]] = field(default_factory=dict)
    upgrades: dict[Any, dict[str, Any] | None] = field(default_factory=dict)
    orders: dict[Any, Any] = field(default_factory=dict)

    def judge(self, design: Any, launch: Launch, source: str, line: int | None = None) -> Judgement:
        """The judgement of a launch, each finding complete and at the line of its flag.

        `design`: None where the launch's engine is not modelled.
        """
        bare = self._bare(design, launch, alone=True)
        fixes: list[dict[str, Any]] = []
        upgrade = None
        if design is not None and self._is_mended(design, launch, bare, source):
            fixes = self._fixes(design, launch, bare)
            upgrade = self._upgrade(design, launch)
        placed = [_placed(f, design, launch, source, line, fixes, upgrade) for f in bare.findings]
        notes = [
            Finding(
                *(note.code, note.severity or note.code.severity),
                *(bare.engine, note.message, source),
                note.word.line or line,
                column=note.word.column,
            )
            for note in launch.notes
        ]
        return replace(bare, source=source, line=line, findings=(*placed, *notes))

    def _bare(self, design: Any, launch: Launch, alone: bool) -> Judgement:
        key = (design and design.name, alone, launch.key)
        if key not in self.known:
            self.known[key] = judge(
                design, launch, "", self.context_length, alone=alone, orders=self.orders
            )
        return self.known[key]

    def _is_mended(self, design: Any, launch: Launch, judgement: Judgement, source: str) -> bool:
        """Whether flags or a release are looked for under which a launch is safe."""
        if judgement.verdict not in _MENDED or not launch.words:
            return False
        checking = engines.engine_of(design).check
        return checking.may_be_mended(launch, in_a_file=source != COMMAND)

    def _fixes(self, design: Any, launch: Launch, judgement: Judgement) -> list[dict[str, Any]]:
        """The flags under which the release is safe, the mildest first; `safe` where theorems say so of every producer judged."""
        key = (design.name, launch.words)
        if key not in self.fixes:
            self.fixes[key] = self._search_fixes(design, launch, judgement)
        return self.fixes[key]

    def _upgrade(self, design: Any, launch: Launch) -> dict[str, Any] | None:
        """The newest release and the mildest flags under which it is safe."""
        engine = engine_of(design)
        newest = engine.released(engine.newest)
        if design.name == newest.name or design.name != engine.released(design.release).name:
            return None
        if launch.words not in self.upgrades:
            there = self._bare(newest, launch, alone=False)
            flags: Any = {} if there.verdict == "safe" else None
            if flags is None and there.verdict in _MENDED:
                fix = next(iter(self._fixes(newest, launch, there)), None)
                flags = fix["flags"] if fix and fix["safe"] else None
            name = engine.requirement(newest.release)
            found = None if flags is None else {"engine": name, "flags": flags}
            self.upgrades[launch.words] = found
        return self.upgrades[launch.words]

    def _search_fixes(
        self, design: Any, launch: Launch, judgement: Judgement
    ) -> list[dict[str, Any]]:
        """The first change that is safe, then others of other flags; one that is not proved where none is."""
        unproved = None
        found: list[dict[str, Any]] = []
        for flags in _candidates(design, launch, judgement):
            if any(_says_no_more(flags, other["flags"]) for other in found):
                continue
            again = self._bare(design, launch.with_flags(flags), alone=False)
            cost = engines.engine_of(design).check.cost(flags)
            if again.verdict == "safe":
                found.append({"flags": dict(flags), "safe": True, "cost": cost})
                if len(found) == _MOST_FIXES:
                    break
            elif unproved is None and _only_unproved(again):
                unproved = {"flags": dict(flags), "safe": False, "cost": cost}
        return found or ([unproved] if unproved else [])


def _says_no_more(flags: Flags, other: Flags) -> bool:
    """Whether a change is another value of the flags of an earlier one, or holds it whole."""
    return set(flags) == set(other) or other.items() <= flags.items()


def _may_be_mended(finding: Finding) -> bool:
    return finding.severity != "note" and not finding.is_conditional


def _candidates(design: Any, launch: Launch, judgement: Judgement) -> Iterator[Flags]:
    """Changes that may mend what was found, the mildest first; one of each kind that a finding's code has."""
    found = sorted(filter(_may_be_mended, judgement.findings), key=lambda f: f.code.id)
    kinds = dict.fromkeys(finding.code.fixes for finding in found)
    groups = [list(kind(design, launch)) for kind in kinds if kind is not None]
    for changes in itertools.product(*groups) if groups else ():
        yield {flag: value for change in changes for flag, value in change.items()}


def _placed(
    finding: Finding,
    design: Any,
    launch: Launch,
    source: str,
    line: int | None,
    fixes: list[dict[str, Any]],
    upgrade: dict[str, Any] | None,
) -> Finding:
    """A finding at the line of its flag, with its reach and, where it may be mended, its fix."""
    place = launch.place(*(finding.about or finding.code.about))
    mended, reach = _may_be_mended(finding), None
    if finding.case is not None:
        judged = finding.judged or launch
        step = engines.engine_of(design).check.step(design, judged, finding.is_conditional)
        reach = affected(design, judged.configuration, finding.case, step)
    return replace(
        finding,
        source=source,
        line=place.line if place and place.line else line,
        column=place.column if place else None,
        fix=fixes[0] if mended and fixes else None,
        alternatives=tuple(fixes[1:]) if mended else (),
        upgrade=upgrade if mended else None,
        affected=reach,
    )


def affected(design: Any, configuration: Any, case: Case, step: int = 1) -> dict[str, Any]:
    """How far a case reaches: depths in tokens, `share` of the checkpoints of its producer that are wrong.

    `step` (tokens): prefixes are its multiples.  None where a number is not computed.
    """
    known = {
        "first_lost_depth": None,
        "first_wrong_depth": None if case.outcome == "fault" else case.depths["state"],
        "share": None,
        "most_replayed": case.depths["replayed"],
    }
    reach = code_named(case.code).reach
    return known if reach is None else known | reach(design, configuration, case, step)


def _only_unproved(judgement: Judgement) -> bool:
    """Whether nothing was found and only a theorem, or what no rule models, is missing."""
    verdicts = set(judgement.producers.values())
    return judgement.verdict == "not_modelled" and "safe" in verdicts and "unsafe" not in verdicts
