"""Judges a configuration for one release: what each reader does, the verdict, what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from generators.cases import codes
from generators.cases.codes import Code
from generators.cases.domain import DEFAULT_CONTEXT, domain_of, flag
from generators.cases.file_format import Case
from generators.check.findings import Finding, Judgement, OrdersSearched
from generators.search.configurations import search
from generators.sglang.check import prompt_cuts
from generators.sglang.check.evidence import CUT_ON_THE_PAGE, proved_alone, rests_on
from generators.sglang.check.known_faults import known_faults
from generators.sglang.launch.flags import FLAGS, SWITCHES
from generators.sglang.launch.resolve import Beyond, Launch
from generators.sglang.search import producers
from generators.sglang.search.orders import cases_of, first_orders
from spec.sglang import bezout_check
from spec.sglang.configuration import Configuration, Guard
from spec.sglang.releases import Design
from spec.sglang.rules import grids
from spec.transition_system import Run

_READER_OF = {
    codes.DECODE_GRID.id: "decode",
    codes.VERIFY_GRID.id: "verify",
    codes.VERIFY_STEP.id: "verify",
    codes.FLUSH.id: "flush",
    **dict.fromkeys((code.id for code in codes.SLOTS), "slots"),
}
_OF_ORDERS = (codes.VERIFY_STEP, *codes.SLOTS)
# Orders of more events add nothing to those of the modelled releases.
ORDER_EVENTS = 5


def geometry(design: Design, c: Configuration) -> dict[str, int]:
    """The grids of a configuration under a design, in tokens."""
    return {
        "tree_page": grids.tree_page(c),
        "cache_chunk_size": grids.cache_chunk_size(c),
        "checkpoint_grid": grids.checkpoint_grid(c),
        "track_grid": grids.track_grid(c),
        "decode_grid": design.grid("decode", c),
    }


def refused_by(design: Design, c: Configuration) -> list[Guard]:
    """The start-up guards of a release that do not accept the configuration."""
    return [guard for guard in design.guards if not guard.accepts(c)]


# Guards that hold the strategy for recurrent states against page, DCP and overlap.
_STRATEGY_GUARDS = (
    *("no_buffer_has_page_one", "no_buffer_has_no_overlap"),
    *("lazy_has_overlap", "lazy_is_not_dflash"),
)


def _rejection(guard: Guard, design: Design, source: str) -> Finding:
    of_strategy = guard.name in _STRATEGY_GUARDS
    code = codes.CANNOT_START if of_strategy else codes.REJECTED
    return finding(code, design, source, guard.demands)


def _case_finding(design: Design, case: Case, source: str) -> Finding:
    code, depths = codes.CODES[case.code], case.depths
    end = case.trace[-1].seq_len
    if case.outcome == "fault":
        what = f"after {end} tokens the request is stopped by an assertion of the engine"
    elif depths["state"] is None:
        what = f"after {end} tokens a state that nobody wrote hangs on the node of depth {depths['node']}"
    else:
        replayed = depths["replayed"] or 0
        count = "1 token is" if abs(replayed) == 1 else f"{abs(replayed)} tokens are"
        what = (
            f"after {end} tokens a state that has consumed {depths['state']} tokens hangs on the "
            f"node of depth {depths['node']}: {count} {'consumed twice' if replayed > 0 else 'skipped'}"
        )
    return replace(finding(code, design, source, f"{code.means}; {what}"), case=case)


def _conditional(design: Design, case: Case, source: str) -> Finding:
    """A case that takes a cut which the flags of the launch do not show."""
    told = _case_finding(design, case, source)
    what = told.message.removeprefix(codes.CODES[case.code].means + "; ")
    message = f"{codes.CODES[case.code].means}; {prompt_cuts.condition(design)}; then {what}"
    return replace(told, severity="warning", message=message)


def _readers(c: Configuration, cases: Sequence[Case]) -> dict[str, str]:
    verdicts = {"decode": "safe", "extend": "safe"}
    if c.speculates:
        verdicts["verify"] = "safe"
    verdicts |= {"slots": "safe", "flush": "safe"}
    for case in cases:
        verdicts[_READER_OF.get(case.code, "extend")] = "unsafe"
    return verdicts


def _first_depths(design: Design, c: Configuration, cases: Sequence[Case]):
    """The first decode depth that no node can hold, and the first one that ends on another node."""
    page, grid = grids.tree_page(c), design.grid("decode", c)
    lost = grid if grid < page else None
    wrong = None
    if (found := producers.DECODE.find(design, c)) is not None:
        wrong = found.depths["state"]
    elif states := [case.depths["state"] for case in cases if case.depths["state"] is not None]:
        wrong = min(states)
    return lost, wrong


def _not_modelled(launch: Launch, c: Configuration) -> str | None:
    if launch.unmodelled:
        return launch.unmodelled
    if not launch.radix_cache:
        return "the radix cache is off, so no checkpoint is ever reused"
    if c.strategy == "no_buffer":
        return "the no_buffer strategy keeps its states by rules that are not modelled yet"
    return None


def judge(
    design: Design,
    launch: Launch,
    source: str,
    context_length: int | None = None,
    *,
    alone: bool = True,
    orders: dict[Any, Run] | None = None,
) -> Judgement:
    """What a release does with a launch: verdict, readers, findings.

    `alone`: where no theorem fits, the solver is asked about this one configuration; `orders`: what was found of
    the orders of events in others before, entered into by this one.
    """
    c = launch.configuration
    asked = launch.radix_cache and not launch.unmodelled
    demands = refused_by(design, c) if asked else []
    if demands or (asked and launch.refused):
        findings = [_rejection(guard, design, source) for guard in demands]
        if launch.refused:
            findings.append(finding(codes.CANNOT_START, design, source, launch.refused))
        return _unjudged(design, launch, source, "rejected", findings)
    if (missing := _not_modelled(launch, c)) is not None:
        missed = finding(codes.NOT_MODELLED, design, source, missing)
        told = _known(design, launch, source) if launch.radix_cache else ()
        # Of what is not judged at all no fault is claimed, only what may happen.
        known = [f for f in told if f.severity != "error"]
        return _unjudged(design, launch, source, "not_modelled", [missed, *known])
    bezout_check.require(design, c)
    return _judged(design, launch, source, context_length, alone, {} if orders is None else orders)


def finding(code: Code, design: Design, source: str, message: str) -> Finding:
    """A finding of a release, as severe as its code."""
    return Finding(code, code.severity, f"sglang=={design.release}", message, source)


def _known(design: Design, launch: Launch, source: str) -> Iterator[Finding]:
    """What is known to be wrong with what no rule models, and which flags reach the rest of it."""
    for fault in known_faults(design, launch):
        told = finding(fault.code, design, source, f"{fault.code.means}; {fault.happens}")
        yield replace(told, severity=fault.severity)
    if launch.unmodelled:
        return
    broken = {f.producer for f in known_faults(design, launch) if f.severity == "error"}
    for beyond in launch.beyond:
        flag = (FLAGS.get(beyond.field) or SWITCHES[beyond.field])[0]
        named = " and ".join(p for p in _concerned(launch, beyond) if p not in broken)
        if named:
            message = f"{flag} is not modelled, so {named} cannot be called safe: {beyond.why}"
            told = finding(codes.NOT_MODELLED, design, source, message)
            yield replace(told, about=(beyond.field,))


def _concerned(launch: Launch, beyond: Beyond) -> list[str]:
    """The producers that a flag takes out of the model in this launch."""
    return [p for p in beyond.producers if p != "verify" or launch.configuration.speculates]


def _beyond_the_model(
    design: Design, launch: Launch, verdicts: dict[str, str]
) -> tuple[dict[str, str], bool]:
    """The verdicts of the producers with what no rule models, and whether a known fault is among it."""
    verdicts = dict(verdicts)
    for beyond in launch.beyond:
        for producer in _concerned(launch, beyond):
            if verdicts.get(producer) != "unsafe":
                verdicts[producer] = "not_modelled"
    faults = [fault for fault in known_faults(design, launch) if fault.severity == "error"]
    verdicts |= dict.fromkeys((fault.producer for fault in faults), "unsafe")
    return verdicts, bool(faults)


def _unjudged(
    design: Design, launch: Launch, source: str, verdict: str, findings: Sequence[Finding]
) -> Judgement:
    """The judgement of a launch whose readers are not looked at."""
    further = [p for beyond in launch.beyond for p in _concerned(launch, beyond)]
    producers = ("decode", "extend", "slots", "flush", *further)
    return Judgement(
        source=source,
        engine=f"sglang=={design.release}" if launch.engine == "sglang" else launch.engine,
        configuration=launch.configuration,
        sources=launch.sources,
        geometry=geometry(design, launch.configuration),
        readers=dict.fromkeys(producers, "not_modelled"),
        verdict=verdict,
        first_lost_depth=None,
        first_wrong_depth=None,
        smallest_cached=None,
        findings=tuple(findings),
    )


def _judged(
    design: Design,
    launch: Launch,
    source: str,
    context_length: int | None,
    alone: bool,
    known: dict[Any, Run],
) -> Judgement:
    c, shape = launch.configuration, geometry(design, launch.configuration)
    orders = first_orders(
        design, c, _OF_ORDERS, ORDER_EVENTS, known, prompt_cuts.mixes(design, launch)
    )
    cut = prompt_cuts.split(design, launch, search(design, domain_of(c), close=False).cases)
    cases = [*cut.shown, *cases_of(design, c, orders)]
    verdicts, is_known = _beyond_the_model(design, launch, _readers(c, cases))
    context, said = _context(launch, context_length)
    is_inert = shape["checkpoint_grid"] > context
    verdict = "unsafe" if cases or is_known else "inert" if is_inert else "safe"
    cut_on_the_page = prompt_cuts.with_whole_prefixes(design, launch)
    theorems = rests_on(design, cut_on_the_page, verdicts)
    alone = alone and theorems is None and proved_alone(design, cut_on_the_page)
    if theorems is None and not alone:
        verdicts["extend"] = "not_modelled"
    elif theorems is not None and cut_on_the_page is not c and verdicts["extend"] == "safe":
        theorems = (*theorems, CUT_ON_THE_PAGE)
    if verdict == "safe" and "not_modelled" in verdicts.values():
        verdict = "not_modelled"
    findings = [_case_finding(design, case, source) for case in cases]
    findings += [_conditional(design, case, source) for case in cut.conditional]
    findings += _known(design, launch, source)
    if is_inert:
        message = (
            f"nothing shorter than {shape['checkpoint_grid']} tokens can ever be reused, and the context is "
            f"{context} tokens ({said})"
        )
        findings.append(finding(codes.INERT, design, source, message))
    if shape["decode_grid"] > c.mamba_track_interval:
        message = (
            f"decode checkpoints are {shape['decode_grid']} tokens apart, not the "
            f"{c.mamba_track_interval} of {flag('mamba_track_interval')}"
        )
        findings.append(finding(codes.SPARSER, design, source, message))
    lost, wrong = _first_depths(design, c, cases)
    return Judgement(
        source=source,
        engine=f"sglang=={design.release}",
        configuration=c,
        sources=launch.sources,
        geometry=shape,
        readers=verdicts,
        verdict=verdict,
        first_lost_depth=lost,
        first_wrong_depth=wrong,
        smallest_cached=shape["checkpoint_grid"],
        findings=tuple(findings),
        theorems=theorems or (),
        shown_alone=alone,
        orders=OrdersSearched(orders.events, orders.is_all, orders.untried),
    )


def _context(launch: Launch, given: int | None) -> tuple[int, str]:
    if given is not None:
        return given, "--context-length of this check"
    if launch.context_length is not None:
        return launch.context_length, "--context-length of the launch"
    return DEFAULT_CONTEXT, "assumed"
