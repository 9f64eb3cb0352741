"""The search over many places of a domain's configurations, as cases."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from generators.cases.domain import Domain
from generators.cases.file_format import Case, CaseFile, shortest_first
from generators.common.errors import BadInput
from generators.search.limits import Progress, SearchLimits, silent
from generators.search.worlds.breadth_first import Harm, Limits, Searched, search
from generators.sglang.search.places import moves, scopes, stories
from generators.sglang.search.places.designs import Rules
from generators.sglang.search.places.world import PAGE, READY, constants

SECONDS = 300  # of a configuration
_MOST = 64  # configurations that differ in what places depend on
_OF_RULES = ("page_size", "dcp_size", "speculative_num_draft_tokens", "overlap")
_CODES = {"load_refused": "GP601", "pass_over": "GP602"}


def configurations(
    domain: Domain, flags: Mapping[str, Sequence[Any]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The configurations of a domain that differ for places, each as its fields and its flags of places."""
    names = domain.model.field_names
    axes = [domain.axis(n) if n in _OF_RULES else domain.axis(n)[:1] for n in names]
    number = 1
    for axis in (*axes, *flags.values()):
        number *= len(axis)
    if number > _MOST:
        raise BadInput(
            f"{number:,} configurations are too many: places are searched in {_MOST} at most"
        )
    return [
        (dict(zip(names, values, strict=True)), dict(zip(flags, chosen, strict=True)))
        for values in itertools.product(*axes)
        for chosen in itertools.product(*flags.values())
    ]


def search_places(
    design: Any,
    domain: Domain,
    flags: Mapping[str, Sequence[Any]],
    limits: SearchLimits,
    *,
    events: int | None = None,
    progress: Progress = silent,
) -> CaseFile:
    """The shortest trace of each class of harm; configurations with the same rules are searched once.

    `events`: most moves of a trace, None: no limit; each configuration has five minutes, or until `limits.until`.
    """
    found: dict[Rules, Searched] = {}
    cases: dict[tuple[int, frozenset[str]], Case] = {}
    notes = [f"places: {scopes.bounds()}; lengths are those of this model"]
    if "no_buffer" in domain.axis("strategy") or "extra_buffer_lazy" in domain.axis("strategy"):
        notes.append("places: the slots of every strategy are searched as those of extra_buffer")
    every = configurations(domain, flags)
    for number, (values, chosen) in enumerate(every):
        rules = scopes.rules_of(design, {**values, **chosen})
        if rules in found:
            continue
        until = time.monotonic() + SECONDS
        if limits.until is not None:
            until = min(until, limits.until)
        told = _shown(progress, design, number, len(every))
        run = search(scopes.model_of(rules), Limits(moves=events, until=until), progress=told)
        found[rules] = run
        notes.append(_note(chosen, run))
        for harm in run.harms:
            case = _case(design, values, chosen, harm)
            cases.setdefault((harm.code, harm.moves), case)
        if run.stopped == "interrupted":
            break
    return CaseFile(
        design.name,
        domain.document(len(every)),
        "places",
        all(run.closed for run in found.values()) and run.stopped != "interrupted",
        shortest_first(list(cases.values())),
        None if events is None else {"events": events},
        tuple(notes),
    )


def _shown(progress: Progress, design: Any, number: int, total: int) -> Callable[[int, int], None]:
    return lambda moves, worlds: progress(
        f"search {design.name}: {moves} moves, {worlds:,} worlds", number, total
    )


def _note(chosen: Mapping[str, Any], run: Searched) -> str:
    """How far the search of one configuration went."""
    on = [f"{name}={value}" for name, value in chosen.items() if value]
    named = ", ".join(on) or "no flag of places"
    how = "closed" if run.closed else f"bounded by {run.stopped}"
    return (
        f"{named}: {how}; {run.worlds:,} worlds, {len(run.levels) - 1} moves deep, "
        f"{run.bytes_per_world:.0f} bytes a world"
    )


def _case(design: Any, values: Mapping[str, Any], chosen: Mapping[str, Any], harm: Harm) -> Case:
    """A class of harm as a case; what its trace takes of flags is in its class."""
    place, outcome = divmod(harm.code, 4)
    state, node = _depths(harm)
    replayed = None if state is None else state - node
    code = next((_CODES[m] for m in sorted(harm.moves) if m in _CODES), "GP603")
    events = stories.events_of(harm.trace, scopes.REQUESTS)
    named = {
        moves.REQUEST: "request",
        moves.NODE: "node",
    }[place]
    how = {moves.SKIPPED: "skipped", moves.REPLAYED: "replayed", moves.FOREIGN: "foreign"}[outcome]
    spelled = "-".join(["places", named, how, *sorted(harm.moves)])
    return Case(
        id=f"{design.name}-{spelled}",
        code=code,
        outcome="foreign" if state is None else "misplaced",
        configuration={"engine": f"sglang=={design.release}", **values},
        trace=events,
        depths={
            "state": state,
            "node": node,
            "replayed": replayed,
            "tokens": "foreign" if state is None else "own",
        },
        klass={
            "place": named,
            "moves": sorted(harm.moves),
            "flags": {name: value for name, value in chosen.items() if value},
        },
    )


def _depths(harm: Harm) -> tuple[int | None, int]:
    """The tokens that the wrong state has consumed (None: of another text) and those of its claim."""
    text, node_of = constants()["text"], constants()["node"]
    after = harm.trace[-1].after

    def consumed(k: int, state: int) -> int | None:
        depths = [d for d in range(text.shape[1]) if text[k, d] == state]
        return depths[0] if depths else None

    if harm.code // 4 == moves.REQUEST:
        for r, phase in enumerate(after["request_phase"]):
            k, p, start = (after[f"request_{f}"][r] for f in ("key", "booked", "start"))
            if phase == READY and start != text[k, p]:
                return consumed(k, start), p
    for k in range(len(node_of)):
        for d in range(1, node_of.shape[1]):
            slot = after["node_slot"][node_of[k, d]]
            if slot >= 0 and after["slot_content"][slot] != text[k, PAGE * d]:
                return consumed(k, after["slot_content"][slot]), PAGE * d
    raise AssertionError("a trace ends without its harm")
