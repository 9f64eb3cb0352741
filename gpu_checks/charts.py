"""How a misplaced state shows by the distance from the resume, one curve a recurrence, as an HTML page::

    python -m gpu_checks.charts FILE.html

An extend resumes on a node off the chunk, from the state of the node and from one of another depth, in float64.
"""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NODE, STATE = 500, 756  # tokens
FARTHEST = 1_024  # tokens after the resume
LEAST = 1e-17  # errors below are drawn there: equal bit by bit
STROKES = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e")


@dataclass(frozen=True)
class Curve:
    """Errors of one warm run by the distance (tokens, from 1) they were taken at, relative to the largest output."""

    name: str
    aligned: bool
    points: Sequence[tuple[int, float]]


def distances() -> list[int]:
    """Distances (tokens) at which a curve has a point: evenly spaced in their logarithm."""
    return sorted({round(2 ** (step / 6)) for step in range(6 * int(math.log2(FARTHEST)) + 1)})


def curves() -> list[Curve]:
    """An aligned and a misaligned run of every recurrence."""
    from gpu_checks.cold_run import by_chunks
    from gpu_checks.recurrences import RECURRENCES

    found = []
    for name, recurrence in RECURRENCES.items():
        stream = recurrence.stream(NODE + FARTHEST)
        cold = by_chunks(recurrence, stream, {NODE, STATE})
        wanted = cold.outputs[..., NODE:, :]
        for state in (NODE, STATE):
            window = stream.span(NODE, NODE + FARTHEST)
            _, outputs = recurrence.extend(cold.states[state], window)
            by_token = (outputs - wanted).abs().amax((0, 1, 2, 4)) / wanted.abs().max()
            points = [(d, by_token[d - 1].item()) for d in distances()]
            found.append(Curve(name, state == NODE, points))
    return found


WIDTH, HEIGHT, LEFT, TOP = 760, 420, 70, 20


def _x(distance: float) -> float:
    return LEFT + WIDTH * math.log2(distance) / math.log2(FARTHEST)


def _y(error: float) -> float:
    decades = -math.log10(LEAST)
    return TOP + HEIGHT * -math.log10(min(max(error, LEAST), 1.0)) / decades


def _axes() -> list[str]:
    lines = [
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>'
    ]
    for power in range(0, int(math.log2(FARTHEST)) + 1, 2):
        x = _x(2**power)
        lines.append(
            f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{2**power}</text>'
        )
    for decade in range(0, 17, 4):
        y = _y(10.0**-decade)
        lines.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**-decade:g}</text>'
        )
        lines.append(
            f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        )
    middle = LEFT + WIDTH / 2
    lines.append(
        f'<text x="{middle}" y="{TOP + HEIGHT + 38}" text-anchor="middle">tokens after the resume</text>'
    )
    return lines


def _drawn(curve: Curve, stroke: str) -> str:
    points = " ".join(f"{_x(d):.1f},{_y(e):.1f}" for d, e in curve.points)
    dash = ' stroke-dasharray="4 4"' if curve.aligned else ""
    kind = "aligned" if curve.aligned else f"state {STATE} on node {NODE}"
    title = html.escape(f"{curve.name}, {kind}")
    return (
        f'<polyline points="{points}" fill="none" stroke="{stroke}" stroke-width="1.8"{dash}>'
        f"<title>{title}</title></polyline>"
    )


def page(found: Sequence[Curve]) -> str:
    """The page: misaligned runs drawn through, aligned ones dashed."""
    names = list(dict.fromkeys(curve.name for curve in found))
    strokes = dict(zip(names, STROKES, strict=True))
    legend = [
        f'<text x="{LEFT + WIDTH + 14}" y="{TOP + 16 + 20 * row}" fill="{strokes[name]}">{name}</text>'
        for row, name in enumerate(names)
    ]
    body = "\n".join([*_axes(), *(_drawn(c, strokes[c.name]) for c in found), *legend])
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A misplaced state, by the distance from the resume</title>
<body style="font: 14px sans-serif; max-width: 60em; margin: 2em auto">
<h1>A misplaced state, by the distance from the resume</h1>
<p>Largest error of an output relative to the largest output, float64, an extend from node {NODE}.
Drawn through: from the state of {STATE} tokens. Dashed: from the state of the node itself; what is equal bit by bit
lies on the lower edge. Half-lives of the states: 32 to 4,096 tokens; a short convolution forgets after 3.</p>
<svg viewBox="0 0 {LEFT + WIDTH + 110} {TOP + HEIGHT + 50}" font-size="12" role="img">
{body}
</svg>
</body>
</html>
"""


def main(arguments: list[str]) -> int:
    """Write the page; the exit code."""
    if len(arguments) != 1 or not arguments[0].endswith(".html"):
        print("gpu_checks: one argument is wanted, the page to write: FILE.html", file=sys.stderr)
        return 2
    try:
        import torch
    except ImportError:
        print("gpu_checks: torch is not installed; nothing was drawn", file=sys.stderr)
        return 3
    with torch.no_grad():
        text = page(curves())
    try:
        Path(arguments[0]).write_text(text, encoding="utf-8")
    except OSError as error:
        print(f"gpu_checks: {arguments[0]}: cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
