"""A timeline as text: a ruler in tokens with the grids, the states and nodes, and what is replayed."""

from __future__ import annotations

from generators.explain.timeline import Timeline

WIDTH = 64
_MARKS = "|'^"  # of the grids in their order, the tree's first
_LEGEND = "e extend, d decode, v verify, | finished here; S state, N node, # replayed or skipped"


class _Row:
    """One line of the drawing; marks are put at depths (tokens)."""

    def __init__(self, length: int):
        self.length = length
        self.cells = [" "] * (WIDTH + 1)

    def at(self, depth: int) -> int:
        return round(min(max(depth, 0), self.length) * WIDTH / self.length)

    def mark(self, depth: int, mark: str) -> None:
        self.cells[self.at(depth)] = mark

    def fill(self, start: int, end: int, mark: str) -> None:
        low, high = sorted((self.at(start), self.at(end)))
        for cell in range(low, max(high, low + 1)):
            self.cells[cell] = mark

    def write(self, depth: int, text: str) -> None:
        at = min(self.at(depth), WIDTH + 1 - len(text))
        self.cells[max(at, 0) : max(at, 0) + len(text)] = text

    def line(self, name: str) -> str:
        return f"  {name:<10}{''.join(self.cells)}".rstrip()


def _ruler(timeline: Timeline) -> str:
    row = _Row(timeline.length)
    for quarter in range(5):
        row.write(timeline.length * quarter // 4, str(timeline.length * quarter // 4))
    return row.line("tokens")


def drawing(timeline: Timeline) -> list[str]:
    """The lines of the drawing; at its scale a mark is up to `length / 64` tokens off."""
    lines = [_ruler(timeline)]
    for number, ticks in enumerate(timeline.ticks):
        row = _Row(timeline.length)
        for depth in ticks.depths:
            row.mark(depth, _MARKS[number % len(_MARKS)])
        lines.append(f"{row.line(ticks.name)}   every {ticks.step}")
    request, nodes, replayed = (_Row(timeline.length) for _ in range(3))
    states = {slot: _Row(timeline.length) for slot in (timeline.slots or (None,))}
    for step in timeline.steps:
        if step.reaches > step.begin:
            request.fill(step.begin, step.reaches, step.event.event[0])
        if step.event.event == "finish" and step.event.seq_len < step.begin:
            request.mark(step.event.seq_len, "|")
        for slot, depth in step.written:
            states[slot if timeline.slots else None].mark(depth, "S")
        if step.node_depth is not None:
            nodes.mark(step.node_depth, "N")
        if step.replayed and step.node_depth is not None:
            replayed.fill(step.node_depth, step.node_depth + step.replayed, "#")
    lines.append(request.line("request"))
    lines += [row.line("state" if slot is None else f"slot {slot}") for slot, row in states.items()]
    lines.append(nodes.line("node"))
    if any(step.replayed for step in timeline.steps):
        lines.append(replayed.line("replayed"))
    return [*lines, f"  {_LEGEND}"]
