"""What replays showed, as a document and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_checks.resume_pairs import Replayed

REPLAY_SCHEMA = "gridproof/replay/1"


@dataclass(frozen=True)
class Skipped:
    """What was not replayed, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Row:
    """One replay of one case (or control) on one recurrence."""

    case: str
    recurrence: str
    replayed: Replayed

    def document(self) -> dict[str, Any]:
        """The row as JSON."""
        r = self.replayed
        return {
            "case": self.case,
            "recurrence": self.recurrence,
            "phase": r.phase,
            "state_depth": r.pair.state,
            "node_depth": r.pair.node,
            "state_error": r.state_error,
            "output_error": r.output_error,
            "tolerance": r.tolerance,
            "predicted": r.predicted,
            "observed": r.observed,
        }


def replay_document(
    rows: Sequence[Row], skipped: Sequence[Skipped], device: str, dtype: str
) -> dict[str, Any]:
    """The results of `replay` as JSON."""
    return {
        "schema": REPLAY_SCHEMA,
        "device": device,
        "dtype": dtype,
        "results": [row.document() for row in rows],
        "skipped": [vars(skip) for skip in skipped],
    }


def replay_table(rows: Sequence[Row]) -> Any:
    """One line a replay: the depths, the errors, what was predicted and what the numbers show."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("case", "recurrence", "phase", "state", "node", "state error", "output error"):
        table.add_column(column, overflow="fold")
    table.add_column("predicted")
    table.add_column("observed")
    for row in rows:
        r = row.replayed
        style = "green" if r.as_predicted else "red"
        table.add_row(
            row.case,
            row.recurrence,
            r.phase,
            str(r.pair.state),
            str(r.pair.node),
            f"{r.state_error:.1e}",
            f"{r.output_error:.1e}",
            r.predicted,
            f"[{style}]{r.observed}[/{style}]",
        )
    return table


def summary(
    rows: Sequence[Row],
    skipped: Sequence[Skipped],
    contradicted: Sequence[Skipped],
    device: str,
    dtype: str,
) -> str:
    """How many replays there were and how many went otherwise than predicted, in one line.

    `contradicted`: cases that were not replayed because their own trace does not end as they say.
    """
    otherwise = f", {len(contradicted)} contradicted" if contradicted else ""
    wrong = sum(not row.replayed.as_predicted for row in rows)
    between = sum(row.replayed.observed == "between" for row in rows)
    return (
        f"{len(rows)} replays on {device} in {dtype}: {len(rows) - wrong} as predicted, "
        f"{wrong} not ({between} between), {len(skipped)} skipped{otherwise}"
    )
