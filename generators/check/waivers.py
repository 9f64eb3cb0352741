"""Waivers: findings that are suppressed for a reason, in a comment of the file or in the settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any

from generators.cases import codes
from generators.check.findings import Finding, Waived
from generators.common.errors import BadInput
from generators.launch.words import Lines

_COMMENT = re.compile(
    r"(?:^|(?<=\s))(?:#|//|<!--)[ \t]*gridproof:[ \t]*waive\b[ \t]*((?:GP\d+[ \t]*,?[ \t]*)*):?[ \t]*([^\n]*)",
    re.MULTILINE | re.IGNORECASE,
)
_ACCEPTED = "accepted is '# gridproof: waive CODE: the reason'"


@dataclass
class Waiver:
    """Codes suppressed for a reason: at the launch that ends at or follows a line of a source, or wherever a path fits."""

    codes: tuple[str, ...]
    reason: str
    source: str
    line: int | None = None
    pattern: str | None = None
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding, launches: Sequence[tuple[int, int]]) -> bool:
        """Whether it suppresses a finding of a file whose launches have these first and last lines."""
        if finding.code.id not in self.codes:
            return False
        if self.line is None:
            return self.pattern is None or fnmatch(finding.source, self.pattern)
        return finding.source == self.source and self._is_at(finding, launches)

    def _is_at(self, finding: Finding, launches: Sequence[tuple[int, int]]) -> bool:
        line = self.line or 0
        mine = next((place for place in sorted(launches) if place[1] >= line), None)
        return mine is not None and mine[0] <= (finding.line or 0) <= mine[1]


def in_text(source: str, text: str) -> tuple[list[Waiver], list[Finding]]:
    """The waivers in the comments of a text; one without a reason, or of an unknown code, is itself a finding."""
    waivers: list[Waiver] = []
    findings: list[Finding] = []
    if "gridproof:" not in text:
        return waivers, findings
    lines = Lines(text)
    for match in _COMMENT.finditer(text):
        line = lines.of(match.start())
        named = tuple(re.findall(r"GP\d+", match[1].upper()))
        reason = match[2].strip().removesuffix("-->").strip()
        if (wrong := _wrong(named, reason)) is None:
            waivers.append(Waiver(named, reason, source, line))
        else:
            findings.append(Finding(codes.MALFORMED, "error", "-", wrong, source, line))
    return waivers, findings


def _wrong(named: Sequence[str], reason: str) -> str | None:
    """What a waiver lacks, if it lacks something."""
    if not named:
        return f"a waiver names the codes that it suppresses; {_ACCEPTED}"
    for name in named:
        if name not in codes.codes():
            return f"the code {name} is unknown"
    return None if reason else f"a waiver needs a reason; {_ACCEPTED}"


def in_settings(source: str, entries: Any) -> list[Waiver]:
    """The waivers of `[tool.gridproof]`: tables with `code`, `reason` and, where not for all files, `path`."""
    wanted = f"{source}: [tool.gridproof] waivers must be tables with code, reason and perhaps path"
    if not isinstance(entries, list):
        raise BadInput(wanted)
    waivers = []
    for entry in entries:
        named = entry.get("code") if isinstance(entry, dict) else None
        texts = entry.values() if isinstance(entry, dict) else [None]
        if named not in codes.codes() or not all(isinstance(t, str) and t.strip() for t in texts):
            raise BadInput(f"{wanted}; known codes are {', '.join(codes.codes())}")
        if not {"code", "reason"} <= set(entry) <= {"code", "reason", "path"}:
            raise BadInput(wanted)
        waivers.append(Waiver((named,), entry["reason"], source, None, entry.get("path")))
    return waivers


def applied(
    findings: Iterable[Finding],
    waivers: Sequence[Waiver],
    launches: dict[str, list[tuple[int, int]]],
) -> list[Finding]:
    """The findings with those that are suppressed marked, and one more for each code of a waiver that suppresses none.

    `launches`: first and last line of each launch, by source. A waiver of the settings that is for a path none of
    the sources has is passed over.
    """
    marked = []
    for finding in findings:
        places = launches.get(finding.source, [])
        waiver = next((w for w in waivers if w.covers(finding, places)), None)
        if waiver is not None:
            waiver.used.add(finding.code.id)
            finding = replace(finding, waived=Waived(waiver.reason, waiver.line is not None))
        marked.append(finding)
    for waiver in waivers:
        if waiver.pattern and not any(fnmatch(source, waiver.pattern) for source in launches):
            continue
        marked += [_stale(waiver, name) for name in waiver.codes if name not in waiver.used]
    return marked


def _stale(waiver: Waiver, name: str) -> Finding:
    code = codes.STALE_WAIVER
    message = f"{name} is waived ({waiver.reason[:80]}) but does not occur here"
    return Finding(code, code.severity, "-", message, waiver.source, waiver.line)
