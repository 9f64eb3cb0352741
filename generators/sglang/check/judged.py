"""What SGLang's rules make of one launch: the cases of its grids and of its slots, and what a safe verdict rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from generators.cases.codes import Code, code_named
from generators.cases.file_format import Case
from generators.check.findings import Judged, OrdersSearched
from generators.launch.launch import Launch
from generators.search.configurations import WrongCheckpoint
from generators.sglang import codes
from generators.sglang.check import prompt_cuts
from generators.sglang.check.conditions import mixes
from generators.sglang.check.evidence import CUT_ON_THE_PAGE, proved_alone, rests_on
from generators.sglang.check.not_modelled import concerned
from generators.sglang.search import producers
from generators.sglang.search.orders import depths_of, events_of, first_orders, outcome_of
from generators.sglang.search.producers import ExtendClass
from spec.sglang import bezout_check
from spec.sglang.checkpoints import extend_checkpoint
from spec.sglang.configuration import Configuration
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.transition_system import Trace

# What is looked for among orders of events; orders of more of them add nothing to those of the modelled releases.
_OF_ORDERS = (codes.VERIFY_STEP, *codes.SLOTS)
ORDER_EVENTS = 5


def _extends(design: Design, c: Configuration) -> Iterator[tuple[ExtendClass, WrongCheckpoint]]:
    """The shortest failing extend of each class, if it has one, among the lengths at which one can first go wrong."""
    classes = producers.extend_classes(design)
    left = [k for k in classes if k.prefix_on_page or c.chunked_prefill_size != -1]
    for prefix, end in sorted(producers.extend_candidates(design, c), key=lambda pair: pair[1]):
        checkpoint = extend_checkpoint(design, c, prefix, end)
        for failure_class in [k for k in left if k.describes(design, c, prefix, checkpoint)]:
            left.remove(failure_class)
            shortest = producers.shrink_extend(design, c, failure_class, int(prefix), int(end))
            yield failure_class, producers.find_extend(design, c, failure_class, *shortest)


def _case(code: Code, found: WrongCheckpoint) -> Case:
    return Case(code.name, code.id, found.outcome, {}, found.trace, found.depths, {})


def _order_case(design: Design, c: Configuration, trace: Trace) -> Case:
    events, depths = events_of(design, c, trace), depths_of(design, c, trace)
    return Case(trace.kind.name, trace.kind.id, outcome_of(trace), {}, events, depths, {})


def _failures(
    design: Design, c: Configuration
) -> Iterator[tuple[ExtendClass | None, Code, WrongCheckpoint]]:
    """What the grids alone break in one configuration; an extend with its class."""
    for producer in producers.GRID_PRODUCERS:
        if (found := producer.find(design, c)) is not None:
            yield None, producer.code, found
    for failure_class, found in _extends(design, c):
        yield failure_class, failure_class.code, found


def grid_cases(design: Design, c: Configuration) -> list[Case]:
    """What the grids alone break in one configuration, wherever prompts are cut."""
    return [_case(code, found) for _, code, found in _failures(design, c)]


def judged(
    design: Design,
    launch: Launch,
    broken: Collection[str],
    *,
    alone: bool,
    known: dict[Any, Any],
) -> Judged:
    """What the release does with a launch; the arguments are those of `generators.engines.Checking.judged`."""
    c = launch.configuration
    bezout_check.require(design, c)
    cases: list[Case] = []
    conditional: list[tuple[Case, str]] = []
    for failure_class, code, found in _failures(design, c):
        condition = None
        if failure_class is not None:
            found, condition = prompt_cuts.cut(design, launch, failure_class, found)
        if condition is None:
            cases.append(_case(code, found))
        else:
            conditional.append((_case(code, found), condition))
    cases.sort(key=lambda case: case.code)
    mixed = mixes(design, launch)
    orders = first_orders(design, c, _OF_ORDERS, ORDER_EVENTS, known, mixed)
    cases += [_order_case(design, c, trace) for trace in orders.traces]
    verdicts = _verdicts(launch, cases, broken)
    cut_on_the_page = prompt_cuts.with_whole_prefixes(design, launch)
    theorems = rests_on(design, cut_on_the_page, verdicts)
    shown_alone = alone and theorems is None and proved_alone(design, cut_on_the_page)
    if theorems is None and not shown_alone:
        verdicts["extend"] = "not_modelled"
    elif theorems is not None and cut_on_the_page is not c and verdicts["extend"] == "safe":
        theorems = (*theorems, CUT_ON_THE_PAGE)
    return Judged(
        producers=verdicts,
        cases=tuple(cases),
        conditional=tuple(conditional),
        theorems=theorems or (),
        shown_alone=shown_alone,
        orders=OrdersSearched(orders.events, orders.is_all, orders.untried),
        first_lost_depth=_first_lost(design, c),
        first_wrong_depth=_first_wrong(cases),
        smallest_cached=int(grids.checkpoint_grid(c)),
    )


def _verdicts(launch: Launch, cases: Iterable[Case], broken: Collection[str]) -> dict[str, str]:
    """The verdict on each producer by its cases, by flags that no rule models, and by known faults."""
    verify = ("verify",) if launch.configuration.speculates else ()
    verdicts = dict.fromkeys(("decode", "extend", *verify, "slots", "flush"), "safe")
    for case in cases:
        verdicts[code_named(case.code).producer or "extend"] = "unsafe"
    for beyond in launch.facts.beyond:
        for producer in concerned(launch, beyond):
            if verdicts.get(producer) != "unsafe":
                verdicts[producer] = "not_modelled"
    return verdicts | dict.fromkeys(sorted(broken), "unsafe")


def _first_lost(design: Design, c: Configuration) -> int | None:
    """The first depth of decode that no node can hold."""
    grid = int(design.grid("decode", c))
    return grid if grid < grids.tree_page(c) else None


def _first_wrong(cases: Iterable[Case]) -> int | None:
    """The first depth that ends on another node: of decode where its grid is wrong, else of any case."""
    depths = [(case.code != codes.DECODE_GRID.id, case.depths["state"]) for case in cases]
    wrong = [(is_other, depth) for is_other, depth in depths if depth is not None]
    return min(wrong)[1] if wrong else None
