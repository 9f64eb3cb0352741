"""`gridproof search`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from generators.cases import codes, wording
from generators.cases.domain import LISTS, Domain, flag, parse_axis, read_toml
from generators.cases.file_format import CaseFile, shortest_first, text_of
from generators.common.errors import BadInput, Inconclusive, NothingToDo
from generators.engines import engine_of
from generators.launch.domain_list import is_listed, listed_domain
from generators.search.limits import SearchLimits
from gridproof import files
from gridproof.console import Output, progress
from spec.engine import DEFAULT, Design, UnknownDesign, design_named, design_of_requirement
from spec.engine import engine as engine_named


def chosen_design(engine: str | None, design: str | None, file: Path | None = None) -> Any:
    """The design named by --engine, --design or --design-file; the newest release where none is given."""
    if sum(given is not None for given in (engine, design, file)) > 1:
        raise BadInput("--engine, --design and --design-file name the same thing; give one of them")
    if file is not None:
        from generators.search.user_design.load import read_design

        return read_design(file)
    try:
        if design is not None:
            return design_named(design)
        return design_of_requirement(DEFAULT if engine is None else engine)
    except UnknownDesign as error:
        raise BadInput(str(error)) from None


def _domain(given: dict[str, Any], where: str, flags: dict[str, Any], engine: str) -> Domain:
    """The domain of an engine, from the keys of a file and from flags, a flag winning."""
    known = engine_named(engine).field_names
    for name, value in flags.items():
        if value is not None and name not in known:
            raise BadInput(f"{flag(name)}: is no field of {engine}")
    if is_listed(given):
        further = sorted({*given, *(k for k, v in flags.items() if v is not None)} - {*LISTS})
        if further:
            raise BadInput(f"{where}: is a list; {', '.join(further)} cannot be set beside it")
        return listed_domain(given, where)
    given |= {name: value for name, value in flags.items() if value is not None}
    axes = {name: parse_axis(name, value, engine) for name, value in given.items()}
    return Domain(axes, engine=engine)


@dataclass(frozen=True)
class Wanted:
    """What is searched: `kind` (None: all), how far orders go and in how many processes, the context in tokens.

    `place_flags`: those given of the flags that only places read; `events_given`: whether the most events were.
    """

    kind: str | None
    limits: SearchLimits
    jobs: int | None
    context_length: int
    place_flags: dict[str, str | None] = field(default_factory=dict)
    events_given: bool = False


def _search(design: Design, domain: Domain, wanted: Wanted, options: dict[str, Any]) -> CaseFile:
    """The cases of one kind, or of all; of all, orders whose code the grids alone give are left out."""
    from generators.search.configurations import search
    from generators.search.event_orders import search_orders

    def launches_of() -> CaseFile | None:
        return engine_of(design).search.launches(design, domain, wanted.context_length, **options)

    if wanted.kind == "configurations":
        return search(design, domain, **options)
    if wanted.kind == "launches":
        found = launches_of()
        if found is None:
            raise NothingToDo(f"launches of {design.engine} are not searched")
        return found
    if wanted.kind == "places":
        return _places(design, domain, wanted, options["progress"])
    orders = search_orders(design, domain, limits=wanted.limits, jobs=wanted.jobs, **options)
    if wanted.kind == "traces":
        return orders
    try:
        grids = search(design, domain, **options)
    except Inconclusive as error:
        grids = replace(orders, complete=False, cases=(), notes=(str(error),))
    launches = launches_of() or replace(orders, complete=True, cases=(), notes=())
    known = {case.code for case in grids.cases}
    cases = (*grids.cases, *(case for case in orders.cases if case.code not in known))
    return replace(
        orders,
        kind="all",
        complete=grids.complete and orders.complete and launches.complete,
        cases=shortest_first((*cases, *launches.cases)),
        notes=tuple(dict.fromkeys((*grids.notes, *orders.notes, *launches.notes))),
    )


def _places(design: Design, domain: Domain, wanted: Wanted, show: Any) -> CaseFile:
    """The cases of orders over many places; a flag left out keeps the engine's default."""
    flags = {
        f.name: (f.default,)
        if wanted.place_flags.get(f.name) is None
        else parse_axis(f.name, wanted.place_flags[f.name], design.engine)
        for f in engine_named(design.engine).place_fields
    }
    events = wanted.limits.events if wanted.events_given else None
    found = engine_of(design).search.places(
        design, domain, flags, wanted.limits, events=events, progress=show
    )
    if found is None:
        raise NothingToDo(f"places of {design.engine} are not searched")
    return found


def run(
    output: Output,
    engine: str | None,
    design_name: str | None,
    design_file: Path | None,
    domain_file: Path | None,
    flags: dict[str, Any],
    wanted: Wanted,
    guards: bool,
    smallest: bool,
    out: Path | None,
    form: str,
) -> int:
    """Search the domain, print or write the cases, return the exit code."""
    if wanted.kind != "places":
        for name, value in wanted.place_flags.items():
            if value is not None:
                raise BadInput(f"{flag(name)}: is read by --kind places alone")
    given = read_toml(domain_file) if domain_file else {}
    named = {key: given.pop(key, None) for key in ("engine", "design")}
    if engine is None and design_name is None and design_file is None:
        engine, design_name = named["engine"], named["design"]
    design = chosen_design(engine, design_name, design_file)
    domain = _domain(given, str(domain_file), flags, design.engine)
    if out is not None:
        files.check_writable([out])
    options = {"guards": guards, "smallest": smallest}
    with progress(output, f"search {design.name}") as show:
        found = _search(design, domain, wanted, {**options, "progress": show})
    found = replace(found, notes=(*domain.notes, *found.notes))
    most = wanted.limits.cases
    if most is not None and len(found.cases) > most:
        found = replace(found, cases=found.cases[:most], complete=False)
    if not found.cases and not found.complete:
        raise Inconclusive("; ".join(found.notes))
    text = text_of(found.document())
    if out is not None:
        files.write(out, text)
    if form == "json":
        output.raw(text)
    else:
        _print(output, found, design)
        if out is not None:
            number = len(found.cases)
            output.note(f"{number} case{'' if number == 1 else 's'} written to {out}")
    if any(codes.code_named(case.code).severity != "note" for case in found.cases):
        return 1
    return 0 if found.complete else 4


def _covered(found: CaseFile) -> str:
    """How far a complete search went, as a sentence; what it covers follows from its kind."""
    events = (found.bounds or {}).get("events")
    grids = "Grid rules: complete (proved for all lengths)."
    orders = f"Event orders: complete up to {events} events, at lengths around the grids."
    return {
        "configurations": grids,
        "traces": orders,
        "launches": "Start-up guards and reuse: every configuration was checked.",
        "all": f"{grids} {orders}",
        "places": "Places: closed, every world within the bounds below was reached.",
    }[found.kind]


_NONE = {
    "configurations": "No configuration breaks it.",
    "traces": "No order of events breaks it.",
    "launches": "No guard is stricter than necessary, and every configuration can reuse at least one checkpoint.",
    "all": "No configuration and no order of events breaks it.",
    "places": "No order of events over many places breaks it.",
}


def _print(output: Output, found: CaseFile, design: Design) -> None:
    from rich.table import Table

    count = found.domain["configurations"]
    output.line(f"{found.design}, {count:,} configuration{'' if count == 1 else 's'}")
    if found.cases:
        table = Table(box=None, pad_edge=False, show_edge=False)
        for name in ("code", "case", "of them", "what happens", "events"):
            table.add_column(name, overflow="fold")
        for case in found.cases:
            members = "?" if case.members is None else f"{case.members:,}"
            table.add_row(
                case.code, case.id, members, wording.consequence(case), wording.trace(case.trace)
            )
        output.rich(table)
        output.line()
        for code in dict.fromkeys(case.code for case in found.cases):
            output.line(f"{code}: {codes.code_named(code).means}")
    for case in found.cases if found.kind == "places" else ():
        output.line(f"\n{case.id}")
        for sentence in engine_of(design).search.story(case):
            output.line(f"  {sentence}")
    n = len(found.cases)
    classes = f"{n} class{'' if n == 1 else 'es'}"
    if found.complete:
        output.line(f"{classes + '.' if n else _NONE[found.kind]} {_covered(found)}")
    else:
        output.line(f"{classes} found; there may be more")
    if any(case.members is None for case in found.cases):
        output.line("?: the number of configurations that the class breaks is not known")
    for note in found.notes:
        output.line(f"note: {note}")
