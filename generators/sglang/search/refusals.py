"""What is wrong with a launch though no state is wrong: a guard refuses it for nothing, or nothing is ever reused.

Source: SGLang 0.5.17 to 0.5.23, the guards of `spec/sglang/guards.py`; upstream reports of guards that reject
what is right, and of grids beyond every prompt (`docs/reference/public-reports.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy

from generators.cases.codes import Code
from generators.cases.domain import Domain
from generators.cases.file_format import Case, CaseFile, Event, shortest_first, spelled
from generators.search import batches
from generators.search.batches import Batch
from generators.search.configurations import check_accepted, check_size
from generators.search.limits import Progress, silent
from generators.search.representative import ranks, written_first
from generators.search.user_design.load import own_rules
from generators.search.user_design.rule import OwnRule
from generators.sglang import codes
from generators.sglang.search.part import PART
from generators.sglang.search.surveys import surveys
from spec.engine import Guard
from spec.numbers import both, either, largest, lcm, negation, smallest
from spec.sglang.checkpoints import (
    Checkpoint,
    decode_checkpoint,
    extend_checkpoint,
    node_of,
    verify_checkpoint,
)
from spec.sglang.configuration import Configuration
from spec.sglang.engine import ENGINE, FIELD_NAMES
from spec.sglang.releases import Design, current
from spec.sglang.rules import grids

# Guards that ask for whole pages or chunks; what the others refuse does not work for other reasons than a depth.
ABOUT_DEPTHS = frozenset(
    (
        *("chunk_and_page_fit", "interval_is_whole_pages"),
        *("interval_covers_draft_tokens", "prefill_chunks_are_whole_pages"),
    )
)


@dataclass(frozen=True)
class _Class:
    """Configurations with one problem: its code, its name, what distinguishes it from others of the code."""

    code: Code
    name: str
    document: tuple[tuple[str, Any], ...]


@dataclass
class _Best:
    members: int
    rank: Any
    configuration: dict[str, Any]


def is_wrong(design: Design, domain: Domain, batch: Batch) -> numpy.ndarray:
    """Which configurations of a batch some producer's grid breaks, at the lengths that a search looks at."""
    wrong = numpy.zeros(len(batch), dtype=bool)
    for survey in surveys(design, domain, guards=False):
        wrong |= survey.breaks(batch)
    return wrong


def _is_attached(design: Design, c: Any, checkpoint: Checkpoint, context: int) -> Any:
    """Whether a checkpoint is taken within the context and attached to a node that a prompt of its length can be given."""
    node = node_of(design, c, checkpoint)
    longest = current(design.longest_given)(grids.tree_page(c), context)
    return both(checkpoint.saved, checkpoint.recorded <= context, node > 0, node <= longest)


def is_inert(design: Design, c: Any, context: int) -> Any:
    """Whether no request of `context` tokens can leave a checkpoint that another one reuses."""
    reuses = (
        both(takes, _is_attached(design, c, made, context))
        for takes, made in _shallowest(design, c, context)
    )
    return negation(either(*reuses))


def _shallowest(design: Design, c: Any, context: int) -> Iterator[tuple[Any, Checkpoint]]:
    """The first checkpoints that a node can have, and the first whose depth one has; and where each is taken."""
    page, drafts = grids.tree_page(c), c.speculative_num_draft_tokens

    def depths(producer: str) -> tuple[Any, Any]:
        grid = design.grid(producer, c)
        return (page + grid - 1) // grid * grid, lcm(grid, page)

    for depth in depths("extend"):
        yield True, extend_checkpoint(design, c, *_chunk_with(c, depth, context))
    for depth in depths("decode"):
        yield drafts == 0, decode_checkpoint(design, c, depth)
    for depth in depths("verify"):
        yield drafts > 0, verify_checkpoint(design, c, depth - 1, 1)


def _chunk_with(c: Any, depth: Any, context: int) -> tuple[Any, Any]:
    """Prefix and end (tokens) of the extend of a prompt that computes the token at a depth."""
    size = c.chunked_prefill_size
    if size is None or size <= 0:
        return depth - depth, depth
    prefix = (depth - 1) // size * size
    return prefix, smallest(prefix + size, largest(depth, context))


def _refused_alone(design: Design, guard: Guard, batch: Batch) -> numpy.ndarray:
    """Which configurations this guard refuses and no other does."""
    shape = (len(batch),)
    mask = ~numpy.broadcast_to(guard.accepts(batch.c), shape).astype(bool)
    for other in design.guards:
        if other is not guard:
            mask &= numpy.broadcast_to(other.accepts(batch.c), shape).astype(bool)
    return mask


def _refused(design: Design, domain: Domain, batch: Batch) -> Iterator[tuple[_Class, Batch]]:
    known = ABOUT_DEPTHS | {g.name for g in design.guards if isinstance(g.accepts, OwnRule)}
    for guard in design.guards:
        if guard.name in known:
            refused = batch.where(_refused_alone(design, guard, batch))
            if len(refused):
                valid = refused.where(~is_wrong(design, domain, refused))
                name = f"{codes.REFUSED_THOUGH_VALID.name}-{guard.name.replace('_', '-')}"
                yield (
                    _Class(codes.REFUSED_THOUGH_VALID, name, (("guard", guard.name),)),
                    valid,
                )


def _inert(design: Design, batch: Batch, context: int) -> Iterator[tuple[_Class, Batch]]:
    accepted = batches.accepted(design, batch)
    if len(accepted):
        mask = numpy.broadcast_to(is_inert(design, accepted.c, context), (len(accepted),))
        failure_class = _Class(codes.INERT, codes.INERT.name, (("context_length", context),))
        yield failure_class, accepted.where(mask.astype(bool))


def launch_cases(
    design: Design,
    domain: Domain,
    context: int,
    *,
    smallest_shown: bool = False,
    progress: Callable[[str, int, int], None],
) -> list[Case]:
    """Every guard that refuses what nothing would break, and what nothing of `context` tokens can reuse, a case each."""
    best: dict[_Class, _Best] = {}
    order, done = written_first(domain, smallest_shown), 0
    for batch, points in batches.batches(design, domain, guards=False):
        done += points
        if not len(batch) or batch.others["strategy"] == "no_buffer":
            continue
        for failure_class, members in (
            *_refused(design, domain, batch),
            *_inert(design, batch, context),
        ):
            if not len(members):
                continue
            rank = ranks(order, members, smallest_shown)
            where = int(numpy.argmin(rank))
            known = best.get(failure_class)
            if known is None or rank[where] < known.rank:
                count = known.members if known else 0
                known = best[failure_class] = _Best(count, rank[where], members.at(where))
            known.members += len(members)
        progress(f"{len(best)} launches", done, domain.size())
    return [_case(design, failure_class, found) for failure_class, found in best.items()]


def _case(design: Design, failure_class: _Class, found: _Best) -> Case:
    """A class with the first decode checkpoint that its configuration would have."""
    values = found.configuration
    c = Configuration(**values)
    depth = int(lcm(design.grid("decode", c), grids.tree_page(c)))
    inert = failure_class.code is codes.INERT
    finish = Event("finish", 0, depth, node_depth=None if inert else depth)
    return Case(
        id=f"{failure_class.name}-{spelled(values)}",
        code=failure_class.code.id,
        outcome="lost" if inert else "right",
        configuration={
            **{name: values[name] for name in FIELD_NAMES},
            "engine": ENGINE.requirement(design.release),
        },
        trace=(
            Event("extend", 1, 1),
            Event("decode", depth - 1, depth, snapshot_depth=depth),
            finish,
        ),
        depths={"state": depth, "node": None if inert else depth, "replayed": None if inert else 0},
        klass=dict(failure_class.document),
        members=found.members,
    )


def search_launches(
    design: Design,
    domain: Domain,
    context_length: int,
    *,
    guards: bool = True,
    smallest: bool = False,
    progress: Progress = silent,
) -> CaseFile:
    """Every guard that refuses what would be right, and whether `context_length` tokens leave anything to be reused.

    Without `guards` none refuses.  Raises `BadInput` for a domain too large to enumerate, `Vacuous` where the guards
    exclude all of it and rightly so.
    """
    check_size(domain)
    design = design if guards else replace(design, guards=())
    cases = launch_cases(design, domain, context_length, smallest_shown=smallest, progress=progress)
    if not cases:
        check_accepted(design, domain, sum(len(b) for b, _ in batches.batches(design, domain)))
    note = f"a context of {context_length:,} tokens is taken for what can be reused"
    inert = any(case.outcome == "lost" for case in cases)
    missing = PART.unmodelled(domain)
    if own_rules(design) and any(case.outcome == "right" for case in cases):
        missing.append(
            "that what is refused would break nothing was looked at around the grids, not shown"
        )
    return CaseFile(
        design.name,
        domain.document(domain.size()),
        "launches",
        not missing,
        shortest_first(cases),
        None,
        (*missing, *((note,) if inert else ())),
    )
