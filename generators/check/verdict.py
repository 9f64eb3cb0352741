"""Judges a launch for one release: the engine's rules say what goes wrong, this frame makes the verdict and the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from generators import engines
from generators.cases import codes, wording
from generators.cases.domain import DEFAULT_CONTEXT
from generators.cases.file_format import Case
from generators.check.findings import Alternative, Finding, Judged, Judgement, Remark
from generators.launch.launch import Launch
from spec.engine import engine_of

_WORST_FIRST = ("unsafe", "inert", "not_modelled", "rejected", "safe")


def judge(
    design: Any,
    launch: Launch,
    source: str,
    context_length: int | None = None,
    *,
    alone: bool = True,
    orders: dict[Any, Any] | None = None,
) -> Judgement:
    """What a release does with a launch: the verdict, that on each producer, and findings.

    `alone`: where no theorem fits, the solver is asked about this one configuration; `orders`: what earlier
    launches found of orders of events, entered into by this one.
    """
    if design is None or launch.engine != design.engine:
        return _of_another_engine(launch, source)
    possible = engines.engine_of(design).launch.possibilities(design, launch)
    judged = []
    for one, condition in possible:
        judgement = _judge_one(design, one, source, context_length, alone, orders)
        findings = tuple(replace(finding, judged=one) for finding in judgement.findings)
        judged.append((replace(judgement, findings=findings), condition))
    return _together(judged) if len(judged) > 1 else judged[0][0]


def _together(judged: list[tuple[Judgement, str | None]]) -> Judgement:
    """One judgement of what a release may make of a launch: safe only where all are; what only some have, with its condition.

    The likeliest comes first: what the release refuses there is refused, and what it refuses elsewhere is not what the
    launch is meant for.
    """
    first, condition = judged[0]
    accepted = [one for one in judged if one[0].verdict != "rejected"]
    accepted = accepted if first.verdict != "rejected" else judged[:1]
    others = [one for one in judged if one[0] is not first]
    verdict = next(v for v in _WORST_FIRST if v in [judgement.verdict for judgement, _ in accepted])
    everywhere = set.intersection(*({f.code for f in one.findings} for one, _ in judged))
    own = [f if f.code in everywhere else _only(f, condition, f.severity) for f in first.findings]
    seen = {f.code for f in first.findings}
    further = []
    for judgement, its_condition in others:
        is_why = judgement.verdict == verdict != first.verdict
        for finding in judgement.findings:
            if finding.code not in seen:
                severity = finding.severity
                if judgement.verdict == "rejected":
                    severity = "note"
                elif severity == "error" and not is_why:
                    severity = "warning"
                further.append(_only(finding, its_condition, severity))
        seen |= {f.code for f in judgement.findings}
    alternatives = tuple(
        Alternative(c or "", j.verdict, j.configuration, j.sources, j.geometry) for j, c in others
    )
    return replace(
        first,
        verdict=verdict,
        findings=(*own, *further),
        condition=condition,
        alternatives=alternatives,
    )


def _only(finding: Finding, condition: str | None, severity: str) -> Finding:
    """A finding that a condition takes beside what the launch shows."""
    if condition is None:
        return finding
    message = f"{condition[:1].upper()}{condition[1:]}: {finding.message}"
    return replace(finding, message=message, severity=severity)


def _judge_one(
    design: Any,
    launch: Launch,
    source: str,
    context_length: int | None,
    alone: bool,
    orders: dict[Any, Any] | None,
) -> Judgement:
    """What a release does with one configuration of a launch; not safe where it is with what is assumed alone."""
    checking = engines.engine_of(design).check
    judgement = _by_what_is_taken(design, launch, source, context_length, alone, orders)
    is_judged = judgement.verdict != "not_modelled"
    if judgement.verdict == "safe":
        for words, other in checking.alternatives(launch):
            further = _by_what_is_taken(design, other, source, context_length, alone, orders)
            if further.verdict != "safe":
                judgement = _open(judgement, words, further)
                break
    if is_judged and (assumed := checking.assumed(launch)) is not None:
        # What a verdict rests on without being given stands before all that follows from it.
        first = _with(replace(judgement, findings=()), (Remark(codes.ASSUMED, assumed),))
        judgement = replace(judgement, findings=(*first.findings, *judgement.findings))
    return judgement


def _open(judgement: Judgement, words: str, other: Judgement) -> Judgement:
    """A safe judgement as one that says nothing, because with another value of what is assumed it is not safe."""
    found = ", ".join(dict.fromkeys(f.code.id for f in other.findings if f.severity != "note"))
    message = (
        f"not checked: with what is assumed this launch is safe, but with {words} it is {other.verdict}"
        + (f" ({found})" if found else "")
    )
    producers = {
        name: verdict if other.producers.get(name) == verdict else "not_modelled"
        for name, verdict in judgement.producers.items()
    }
    bare = replace(judgement, verdict="not_modelled", producers=producers, theorems=())
    return _with(
        replace(bare, shown_alone=False, orders=None), (Remark(codes.NOT_MODELLED, message),)
    )


def _by_what_is_taken(
    design: Any,
    launch: Launch,
    source: str,
    context_length: int | None,
    alone: bool,
    orders: dict[Any, Any] | None,
) -> Judgement:
    """The judgement of a launch with the values that it has, whether given or assumed."""
    checking, model = engines.engine_of(design).check, engine_of(design)
    bare = Judgement(
        source,
        model.requirement(design.release),
        "not_modelled",
        {name: getattr(launch.configuration, name) for name in model.field_names},
        launch.sources,
        model.geometry(design, launch.configuration),
        dict.fromkeys(checking.producers(launch), "not_modelled"),
        model=checking.model(launch),
    )
    if checking.concerns(launch) and (refusals := tuple(checking.refusals(design, launch))):
        rejected = _with(replace(bare, verdict="rejected"), refusals)
        return _with(rejected, _noted(design, launch, rejected))
    known = tuple(_known(design, launch))
    broken = frozenset(r.code.producer for r in known if r.code.producer and _is_error(r))
    further = (*known, *checking.remarks(design, launch, broken))
    if (missing := checking.not_modelled(design, launch)) is not None:
        # A launch that is not judged gets no errors, only warnings of what may happen.
        may_happen = (remark for remark in further if not _is_error(remark))
        return _with(bare, (Remark(codes.NOT_MODELLED, missing), *may_happen))
    found = {} if orders is None else orders
    judged = checking.judged(design, launch, broken, alone=alone, known=found)
    return _judged(design, launch, bare, judged, further, context_length)


def _of_another_engine(launch: Launch, source: str) -> Judgement:
    bare = Judgement(source, launch.engine, "not_modelled")
    why = launch.unmodelled or f"not checked: the launch starts {launch.engine}"
    return _with(bare, (Remark(codes.NOT_MODELLED, why),))


def _judged(
    design: Any,
    launch: Launch,
    bare: Judgement,
    judged: Judged,
    further: Iterable[Remark],
    context_length: int | None,
) -> Judgement:
    """The judgement of a launch by what the rules make of it, what is known beyond them, and the context."""
    remarks = [_of_case(case) for case in judged.cases]
    remarks += [_of_case(case, condition) for case, condition in judged.conditional]
    remarks += further
    context, whose = _context(launch, context_length)
    is_inert = judged.smallest_cached is not None and judged.smallest_cached > context
    if is_inert:
        message = (
            f"no prefix shorter than {judged.smallest_cached} tokens can be reused, and the context is "
            f"{context} tokens ({whose})"
        )
        remarks.append(Remark(codes.INERT, message))
    complete = replace(
        bare,
        verdict=_verdict(judged.producers.values(), is_inert),
        producers=judged.producers,
        first_lost_depth=judged.first_lost_depth,
        first_wrong_depth=judged.first_wrong_depth,
        smallest_cached=judged.smallest_cached,
        theorems=judged.theorems,
        shown_alone=judged.shown_alone,
        orders=judged.orders,
    )
    complete = _with(complete, remarks)
    return _with(complete, _noted(design, launch, complete))


def _verdict(producers: Iterable[str], is_inert: bool) -> str:
    verdicts = set(producers)
    if "unsafe" in verdicts:
        return "unsafe"
    if is_inert:
        return "inert"
    return "not_modelled" if "not_modelled" in verdicts else "safe"


def _with(judgement: Judgement, remarks: Iterable[Remark]) -> Judgement:
    """The judgement with further findings."""
    engine = judgement.engine.partition("==")[0]
    found = []
    for remark in remarks:
        code = codes.entry(engine, remark.code)
        severity = remark.severity or code.severity
        found.append(
            Finding(
                *(code, severity, judgement.engine, remark.message, judgement.source),
                case=remark.case,
                about=remark.about,
            )
        )
    return replace(judgement, findings=(*judgement.findings, *found))


def _is_error(remark: Remark) -> bool:
    return (remark.severity or remark.code.severity) == "error"


def _of_case(case: Case, condition: str | None = None) -> Remark:
    """What a case is reported as; `condition`: what it takes that the launch does not show."""
    code = codes.code_named(case.code)
    if condition is None:
        return Remark(code, f"{code.means}. Example: {wording.outcome(case)}.", case=case)
    message = f"{code.means}. This happens only {condition}. Example: {wording.outcome(case)}."
    return Remark(code, message, "warning", case=case)


def _known(design: Any, launch: Launch) -> Iterator[Remark]:
    """The faults that a launch has in a release though no rule models them."""
    engine = engines.engine_of(design)
    if engine.check.keeps_checkpoints(launch):
        for code in engine.codes:
            for fault in code.known:
                if design.release in fault.releases and fault.has(design, launch):
                    message = f"{code.means}. {fault.happens}."
                    yield Remark(code, message, fault.severity)


def _noted(design: Any, launch: Launch, judgement: Judgement) -> Iterator[Remark]:
    """What else the codes of the engine note of a judgement."""
    for code in engines.engine_of(design).codes:
        if code.noted and (message := code.noted(design, launch, judgement)) is not None:
            yield Remark(code, message)


def _context(launch: Launch, given: int | None) -> tuple[int, str]:
    """The length of the context in tokens, and where it comes from."""
    if given is not None:
        return given, "--context-length of this check"
    if launch.context_length is not None:
        return launch.context_length, "--context-length of the launch"
    return DEFAULT_CONTEXT, "assumed"
