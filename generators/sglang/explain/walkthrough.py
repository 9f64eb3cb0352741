"""An order of events walked through on the model: what each event writes, what the slots hold after it, what is donated."""

from __future__ import annotations

from generators.cases.file_format import Case
from generators.explain.timeline import Donated, Held, Standing
from generators.sglang.search.moves import MOST_BOUNDARIES
from spec.engine import UnknownDesign
from spec.sglang.engine import ENGINE
from spec.sglang.releases import design_named
from spec.sglang.scheduler import Donation, Request, Scheduler
from spec.sglang.slot_buffer import NO_SLOT, UNWRITTEN
from spec.sglang.trace_runner import BadTrace, after_each


def walked(case: Case, design: str) -> tuple[Standing, ...] | None:
    """How things stand after each event of an order under the design it was found in.

    None where the case is no order, the design is not known, or the model does not end as the case says.
    """
    if not isinstance(case.klass.get("cause"), str) or not case.trace:
        return None
    try:
        scheduler = Scheduler(design_named(design), ENGINE.configuration_of(case.configuration))
        if not _is_short(scheduler, case):
            return None
        before, standings = scheduler.admit(), list[Standing]()
        for after in after_each(scheduler, case.trace, case.grammar):
            standings.append(_standing(before, after[-1] if after else before))
            before = after[-1] if after else before
    except (UnknownDesign, BadTrace):
        return None
    donated = standings[-1].donated
    ends_alike = case.outcome == "fault" or (donated and donated.state == case.depths["state"])
    return tuple(standings) if ends_alike and len(standings) == len(case.trace) else None


def _is_short(scheduler: Scheduler, case: Case) -> bool:
    """Whether no event passes more boundaries than an order that was found does."""
    least = min(scheduler.grid, scheduler.verify_grid)
    computed = [event for event in case.trace if event.event in ("decode", "verify")]
    return all(event.tokens // least <= MOST_BOUNDARIES for event in computed)


def _standing(before: Request, after: Request) -> Standing:
    """How things stand after an event; a slot is new behind its donation."""
    kept, donated = int(before.slots.kept), None
    held = {0: int(before.slots.first), 1: int(before.slots.second)}
    written, overwritten, seen = list[Held](), list[Held](), {*before.writes}
    donations = [d for d in after.donated[len(before.donated) :] if d.checkpoint.saved]
    for donation in (*donations, None):
        for write in donation.writes if donation else after.writes:
            if write not in seen and write.state >= 0:
                slot = write.by.entry
                overwritten += [(slot, held[slot])] if held[slot] >= 0 else []
                written.append((slot, write.state))
                held[slot] = write.state
            seen.add(write)
        if donation is not None:
            donated = _donated(donation, kept)
            held[donated.slot] = UNWRITTEN
    slots = _holds(int(after.slots.first)), _holds(int(after.slots.second))
    return Standing(tuple(written), tuple(overwritten), slots, donated)


def _holds(state: int) -> str:
    return {UNWRITTEN: "unwritten", NO_SLOT: "no slot"}.get(state, str(state))


def _donated(donation: Donation, kept: int) -> Donated:
    """A donation of the slot that its state was written to, or of the one that was kept where nobody wrote it."""
    label, state = int(donation.checkpoint.recorded), int(donation.checkpoint.state)
    slots = (write.by.entry for write in reversed(donation.writes) if write.state == state)
    return Donated(label, None if state == UNWRITTEN else state, next(slots, kept))
