"""Searches a domain for everything that breaks a design: the complete set of classes, one readable case each.

Decode, verify and flush are decided by evaluating the design's rules on every configuration of the domain.
For an extend, whose lengths are unbounded, a class that was not found is shown by the solver not to exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy

from generators.cases.domain import DOMAIN_FIELDS, Domain, flag
from generators.cases.file_format import Case, CaseFile, shortest_first, spelled
from generators.common.errors import BadInput, Inconclusive, Vacuous
from generators.search import batches
from generators.search.batches import Block
from generators.search.limits import Progress, silent
from generators.search.representative import ranks, written_first
from generators.search.user_design.load import own_rules
from generators.search.user_design.producers import OwnClass, own_classes, with_a_period
from generators.search.user_design.rule import NotForAll
from generators.sglang.search import producers
from generators.sglang.search.producers import GEOMETRY, ExtendClass, Found, PeriodReader
from generators.sglang.search.separators import Geometry, Separation
from spec.sglang import bezout_check
from spec.sglang.checkpoints import misplaced
from spec.sglang.configuration import NUMERIC_FIELDS
from spec.sglang.releases import Design

MODELLED_STRATEGIES = ("extra_buffer", "extra_buffer_lazy")


@dataclass
class _Best:
    """The members of one class so far: how many, and the one to show."""

    members: int = 0
    rank: Any = None
    configuration: dict[str, Any] = field(default_factory=dict)
    lengths: Any = None

    def offer(
        self,
        count: int,
        rank: Any,
        configuration: dict[str, Any],
        lengths: Any = None,
    ) -> None:
        self.members += count
        if self.rank is None or rank < self.rank:
            self.rank, self.configuration, self.lengths = rank, configuration, lengths


@dataclass
class _Survey:
    """What enumeration found: classes by reader, and of those of which no period is known.

    `separations`: for each class of extends what the geometries of the domain leave of the separators.
    """

    separations: dict[ExtendClass, Separation]
    configurations: int = 0
    periods: dict[tuple[str, int], _Best] = field(default_factory=dict)
    extends: dict[ExtendClass, _Best] = field(default_factory=dict)
    own: dict[OwnClass, _Best] = field(default_factory=dict)


def _offer_groups(
    best: dict[tuple[str, int], _Best], reader: str, block: Block, period: Any, rank: Any
) -> None:
    """Enter the wrong configurations of a block under their periods."""
    order = numpy.argsort(rank, kind="stable")
    values, first, counts = numpy.unique(period[order], return_index=True, return_counts=True)
    for value, index, count in zip(values, first, counts, strict=True):
        where = int(order[index])
        entry = best.setdefault((reader, int(value)), _Best())
        entry.offer(int(count), rank[where], block.at(where))


def _survey_periods(design: Design, block: Block, rank: Any, survey: _Survey) -> None:
    size = len(block)
    for reader in with_a_period(design):
        wrong, period = reader.breaks(design, block.c)
        mask = numpy.broadcast_to(wrong, (size,)).astype(bool)
        if mask.any():
            period = numpy.broadcast_to(period, (size,))[mask]
            _offer_groups(survey.periods, reader.name, block.where(mask), period, rank[mask])


def _survey_own(
    design: Design, block: Block, rank: Any, survey: _Survey, classes: list[OwnClass]
) -> None:
    for klass in classes:
        which, candidates = klass.shortest(design, block.c, len(block))
        members = numpy.flatnonzero(which >= 0)
        if len(members):
            where = int(members[numpy.argmin(rank[members])])
            lengths = {
                name: int(numpy.broadcast_to(value, (len(block),))[where])
                for name, value in candidates[which[where]].items()
            }
            best = survey.own.setdefault(klass, _Best())
            best.offer(len(members), rank[where], block.at(where), lengths)


def _distinct(block: Block, reads_more: bool) -> tuple[Block, numpy.ndarray]:
    """The configurations that an extend can tell apart, and which of them each one of the block is.

    `reads_more`: it reads more than the geometry, and can tell all of them.
    """
    if reads_more:
        return block, numpy.arange(len(block))
    key = numpy.zeros(len(block), dtype=object)
    for name in GEOMETRY:
        key = key * (int(block.numeric[name].max()) + 1) + block.numeric[name]
    if key.size and int(max(key.max(), 0)) < 1 << 62:
        key = key.astype(numpy.int64)
    _, first, inverse = numpy.unique(key, return_index=True, return_inverse=True)
    return block.where(first), inverse


def _survey_extends(
    design: Design, block: Block, rank: numpy.ndarray, survey: _Survey, reads_more: bool
) -> None:
    distinct, inverse = _distinct(block, reads_more)
    for klass, (prefixes, ends) in _shortest_failures(design, distinct).items():
        _separate(design, klass, distinct, ends >= 0, survey.separations[klass], reads_more)
        members = numpy.flatnonzero((ends >= 0)[inverse])
        if not len(members):
            continue
        where = int(members[numpy.argmin(rank[members])])
        lengths = (int(prefixes[inverse[where]]), int(ends[inverse[where]]))
        best = survey.extends.setdefault(klass, _Best())
        best.offer(len(members), rank[where], block.at(where), lengths)


def _separate(
    design: Design,
    klass: ExtendClass,
    block: Block,
    broken: numpy.ndarray,
    separation: Separation,
    reads_more: bool,
) -> None:
    """Enter what is broken, and what is not, of those configurations of a block that use the rule of the class."""
    if reads_more:  # whether it breaks is then no matter of a geometry
        separation.agreeing = ()
        separation.spare(_geometries_of(block))
        return
    uses = numpy.broadcast_to(klass.rule_applies(design, block.c), broken.shape).astype(bool)
    using = block.where(uses)
    separation.see(using.c, broken[uses], _geometries_of(using.where(~broken[uses])))


def broken_by_extends(design: Design, block: Block) -> numpy.ndarray:
    """Which configurations of a block some extend breaks, of the candidate lengths."""
    distinct, inverse = _distinct(block, _extend_reads_more(design))
    broken = numpy.zeros(len(distinct), dtype=bool)
    for _, ends in _shortest_failures(design, distinct).values():
        broken |= ends >= 0
    return broken[inverse]


def _geometries_of(block: Block) -> Iterator[Geometry]:
    columns = (block.numeric[n] for n in GEOMETRY)
    for page, dcp, chunk in zip(*columns, strict=True):
        yield int(page), int(dcp), int(chunk)


def _shortest_failures(
    design: Design, block: Block
) -> dict[ExtendClass, tuple[numpy.ndarray, numpy.ndarray]]:
    """For each class the prefix and end (tokens) of the shortest failing candidate; an end of -1 is none."""
    c, size = block.c, len(block)
    chunked = block.others["chunked_prefill_size"] != -1
    classes = [k for k in producers.extend_classes(design) if k.prefix_on_page or chunked]
    shortest = {
        k: (numpy.zeros(size, dtype=object), numpy.full(size, -1, dtype=object)) for k in classes
    }
    for prefix, end in producers.extend_candidates(design, c):
        checkpoint = producers.extend_checkpoint(design, c, prefix, end)
        if not (numpy.any(checkpoint.fault) or numpy.any(misplaced(design, c, checkpoint))):
            continue
        for klass, (prefixes, ends) in shortest.items():
            hit = klass.describes(design, c, prefix, checkpoint)
            hit = numpy.broadcast_to(hit, (size,)).astype(bool)
            if hit.any():
                better = hit & ((ends < 0) | (end < ends))
                ends[better], prefixes[better] = end[better], prefix[better]
    return shortest


def _survey(
    design: Design, domain: Domain, guards: bool, smallest: bool, progress: Progress
) -> _Survey:
    separations = {klass: Separation() for klass in producers.extend_classes(design)}
    survey, done, total = _Survey(separations), 0, domain.size()
    order = written_first(domain, smallest)
    reads_more, own = _extend_reads_more(design), own_classes(design)
    for block, points in batches.blocks(design, domain, guards):
        done += points
        survey.configurations += len(block)
        if len(block) and block.others["strategy"] in MODELLED_STRATEGIES:
            bezout_check.require(design, block.c)
            rank = ranks(order, block.numeric, smallest)
            _survey_periods(design, block, rank, survey)
            _survey_own(design, block, rank, survey, own)
            _survey_extends(design, block, rank, survey, reads_more)
        classes = len(survey.periods) + len(survey.extends) + len(survey.own)
        progress(f"{classes} classes", done, total)
    return survey


def _extend_reads_more(design: Design) -> bool:
    """Whether the design's extend may depend on more than the geometry, as no release's does."""
    return not {"extend_grid", "extend_row_stride"}.isdisjoint(own_rules(design))


# Fields of a case that its reader depends on; the others are null in it.
_MATTERS = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size", "strategy")


def _configuration(
    values: dict[str, Any], design: Design, verifies: bool, chunked: bool
) -> dict[str, Any]:
    matters = [*_MATTERS]
    if verifies:
        matters += ["speculative_num_draft_tokens", "speculative_algorithm"]
    if chunked:
        matters.append("chunked_prefill_size")
    shown = {name: values[name] if name in matters else None for name in DOMAIN_FIELDS}
    return {**shown, "engine": f"sglang=={design.release}"}


def _case(
    name: str,
    code: str,
    found: Found,
    klass: dict[str, Any],
    values: dict[str, Any],
    design: Design,
    members: int | None,
) -> Case:
    verifies = any(e.event == "verify" for e in found.trace)
    chunked = klass.get("prefix_on_page") is False
    return Case(
        id=f"{name}-{spelled(values)}",
        code=code,
        outcome=found.outcome,
        configuration=_configuration(values, design, verifies, chunked),
        trace=found.trace,
        depths=found.depths,
        klass=klass,
        members=members,
    )


def _period_case(design: Design, reader: PeriodReader, period: int, best: _Best) -> Case:
    c = SimpleNamespace(**best.configuration)
    found = reader.find(design, c)
    if found is None:
        raise AssertionError(f"{reader.name}: the array and the integer rule differ on {c}")
    name = f"{reader.name}-period{period}"
    return _case(
        name, reader.code.id, found, {"period": period}, best.configuration, design, best.members
    )


def _extend_case(design: Design, klass: ExtendClass, best: _Best, exact: bool) -> Case:
    c = SimpleNamespace(**best.configuration)
    prefix, end = producers.shrink_extend(design, c, klass, *(best.lengths or (0, 0)))
    found = producers.find_extend(design, c, klass, prefix, end)
    where = "on-page" if klass.prefix_on_page else "off-page"
    name = f"{klass.code.name}-{klass.rule}-{where}"
    members = best.members if exact else None
    return _case(
        name, klass.code.id, found, klass.document(design, c), best.configuration, design, members
    )


def _own_case(design: Design, klass: OwnClass, best: _Best) -> Case:
    c = SimpleNamespace(**best.configuration)
    found = klass.find(design, c, best.lengths)
    document = {"rules": list(own_rules(design))}
    return _case(
        f"{klass.name}-own", klass.code.id, found, document, best.configuration, design, None
    )


def _cases(design: Design, survey: _Survey, exact: set[ExtendClass]) -> Iterator[Case]:
    by_name = {reader.name: reader for reader in producers.PERIOD_READERS}
    for (name, period), best in survey.periods.items():
        yield _period_case(design, by_name[name], period, best)
    for klass, best in survey.extends.items():
        yield _extend_case(design, klass, best, klass in exact)
    for own, best in survey.own.items():
        yield _own_case(design, own, best)


def check_size(domain: Domain) -> None:
    """Refuse a domain that is too large to enumerate."""
    advice = "give fewer values, for example a step (64..4096:64)"
    if domain.size() > batches.MOST_POINTS:
        raise BadInput(
            f"the domain has {domain.size():,} combinations; at most {batches.MOST_POINTS:,} are "
            f"enumerated: {advice}"
        )
    for name in NUMERIC_FIELDS:
        if len(domain.axis(name)) > batches.MOST_VALUES:
            raise BadInput(
                f"{flag(name)}: has {len(domain.axis(name)):,} values; at most "
                f"{batches.MOST_VALUES:,} are enumerated: {advice}"
            )


def check_accepted(design: Design, domain: Domain, configurations: int) -> None:
    """Refuse a domain of which the start-up guards leave nothing."""
    if not configurations:
        demands = "; ".join(guard.demands for guard in batches.refusing(design, domain))
        raise Vacuous(
            f"the start-up guards of {design.name} exclude every configuration of the domain "
            f"({demands}); --no-guards lifts them"
        )


def unmodelled(domain: Domain) -> list[str]:
    """What of the domain is not modelled, as sentences."""
    strategies = sorted(set(domain.axis("strategy")) - set(MODELLED_STRATEGIES))
    said = f"{', '.join(strategies)} keeps its states by rules that are not modelled yet"
    return [said] if strategies else []


def search(
    design: Design,
    domain: Domain,
    *,
    guards: bool = True,
    smallest: bool = False,
    close: bool = True,
    progress: Progress = silent,
) -> CaseFile:
    """Every class of configurations in the domain that the grid rules break, with a representative each.

    `close`: let the solver show that no further class of extends exists; without it the result rests on
    the candidate lengths alone and on the theorems of the library.
    Raises `BadInput` for a domain too large to enumerate, `Vacuous` where the guards exclude all of it,
    `Inconclusive` where nothing was found and the solver could not show that there is nothing.
    """
    check_size(domain)
    survey = _survey(design, domain, guards, smallest, progress)
    check_accepted(design, domain, survey.configurations)
    exact, complete = set(survey.extends), True
    notes: tuple[str, ...] = ()
    if close:
        from generators.search.completeness import Closed, close_extends, close_own

        try:
            closed = close_extends(
                design,
                domain,
                guards,
                survey.configurations,
                survey.extends,
                survey.separations,
                progress,
            )
        except (NotForAll, BadInput) as why:
            note = f"not shown that no extend goes wrong otherwise ({why})"
            closed = Closed(complete=False, exact=set(), notes=(note,))
        others = [klass for klass in own_classes(design) if klass not in survey.own]
        left = close_own(design, domain, guards, others)
        exact, complete = closed.exact, closed.complete and not left
        notes = (*closed.notes, *left)
    if missing := unmodelled(domain):
        complete, notes = False, (*notes, *missing)
    cases = shortest_first(list(_cases(design, survey, exact)))
    if not cases and not complete:
        raise Inconclusive("; ".join(notes))
    return CaseFile(
        design.name,
        domain.document(survey.configurations),
        "configurations",
        complete,
        cases,
        None,
        notes,
    )
