"""Writes the generated pages of the documentation, docs/reference, from the library itself::

python -m gridproof.docs_pages docs/reference
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from generators import engines
from generators.cases.codes import codes
from generators.check.findings import Judgement
from generators.check.published import configurations, verdicts
from generators.emit import write
from generators.emit.manifest import Manifest, parse
from generators.emit.predicate_coverage import TIERS, Exclusion, exclusions, instances
from generators.search.user_design.load import own_rules
from generators.search.user_design.rule import OwnRule
from gridproof import files
from gridproof.reports.code_facts import example_of, facts
from spec import worth
from spec.engine import DEFAULT, Design, engine

MODEL = engine(DEFAULT)  # the engine that the pages are about
DOCUMENTS = engines.engine(DEFAULT).documents

OUTSIDE_THE_SOLVER = (
    "",
    "## What stays outside the solver",
    "",
    "| what | where it is used | how it is covered |",
    "| --- | --- | --- |",
    "| induction: a property that holds at the start and that every event keeps holds for ever | "
    f"{', '.join(f'`{family}`' for family in DOCUMENTS.inductions)} | the start "
    "and each event are theorems of their own, and random orders of events reach no state outside the hypotheses of the "
    f"theorem for the next event (`tests/spec/{MODEL.name}/test_inductions.py`); [Horn clauses](../theory.md#a-second-method) show the same "
    "of requests and nodes, where Spacer does the induction |",
    "| a claim about one arbitrary step, length or checkpoint holds for all | every family | generalisation: the number is "
    "a parameter, and nothing is known about it but its hypotheses |",
    "| cofactors `u·x + v·y = 1` exist for any two numbers (Euclid) | every lcm and gcd | they are computed and checked at "
    "each printed witness, for every launch that `check` judges and for every configuration whose grids `search` evaluates |",
    "| an asserted instance is an instance of its lemma, and a product is one opaque name | every proof | lemmas are proved "
    "once, by both solvers; instances are made by substitution; an opaque name only allows more models |",
    "| the rules are the engine's | every family | the emitted tests run on the released wheels |",
)


def theorems() -> str:
    """The catalogue of theorems: claim, parameters, hypotheses, file, what each one catches."""
    library = MODEL.library()
    found = worth.refuters(library)
    refuted, alone = worth.refuted(found), worth.alone(found)
    lines = [
        "# Theorems",
        "",
        "Every theorem holds for all values of its parameters. Each parameter is a whole number of at least 1, without an "
        f"upper bound. {DOCUMENTS.least_values}",
        "The theorems are about the rules of the newest modelled release, unless one names a rule or a design itself. "
        "`fails on` names the releases whose own rules break it.",
        f"Lengths and depths are in tokens{_other_units()}. The proved formula comes from calling the "
        f"rules in `spec/{MODEL.name}/rules`.",
        "What a theorem is worth is counted in *mutants*, rules with one changed line "
        f"(`tests/spec/{MODEL.name}/mutants.py`): how many it refutes, and how many of those no other theorem refutes. "
        f"{worth.summary(found, [theorem.id for theorem in library])} A theorem that refutes none alone may still state "
        "something that no other states, for the mutants are only those that somebody thought of.",
        "This page is written by `tox -e docs`; a test holds it and the library together.",
        *OUTSIDE_THE_SOLVER,
    ]
    for family in library.families:
        lines += ["", f"## {family}"]
        for theorem in library:
            if theorem.family == family:
                parameters = theorem.parameters()
                statement = theorem.at({p: max(least, 1) for p, least in parameters.items()})
                hypotheses = ", ".join(f"`{h}`" for h in statement.hypotheses)
                caught = ", ".join(n.removeprefix(f"{MODEL.name}-") for n in theorem.refuted_by)
                file = theorem.state.__module__.replace(".", "/") + ".py"
                lines += [
                    "",
                    f"### `{theorem.id}`",
                    "",
                    theorem.claim,
                    "",
                    f"- parameters: {', '.join(f'`{p}`' for p in parameters)}",
                    f"- hypotheses, each needed: {hypotheses or 'none'}",
                    *([f"- proved for: `{theorem.proved_for}`"] if theorem.proved_for else []),
                    f"- fails on: {caught or 'no modelled release'}",
                    f"- refutes {refuted[theorem.id]} mutants, {alone[theorem.id]} of them alone",
                    f"- stated in: `{file}`",
                ]
    return "\n".join(lines) + "\n"


def _other_units() -> str:
    """The fields that are not in tokens, with their units."""
    return "".join(
        f", `{f.name}` is in {f.unit}" for f in MODEL.fields if f.unit not in ("", "tokens")
    )


def _named(names: Iterable[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def findings() -> str:
    """The page of finding codes, each with its example."""
    lines = [
        "# Finding codes",
        "",
        "`gridproof explain CODE` prints these. This page is written by `tox -e docs`; a test runs every example.",
        "",
        "| code | name | severity | meaning | excluded by the theorem |",
        "| --- | --- | --- | --- | --- |",
    ]
    for code in codes().values():
        theorem = f"`{code.theorem}`" if code.theorem else "-"
        cells = (code.id, code.name, code.severity, code.means, theorem)
        lines.append(f"| {' | '.join(cells)} |")
    for code in codes().values():
        lines += ["", f"## {code.id} {code.name}", "", f"{_sentence(code.means)}"]
        lines += ["", *(f"- {label}: {text}" for label, text in facts(code))]
        if (example := example_of(code)) is not None:
            lines += ["", f"    {example[0]}", "", "use instead", "", f"    {example[1]}"]
    return "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def designs() -> str:
    """The table of modelled releases: the rule that each producer of checkpoints uses."""
    summaries = {r: MODEL.released(r).summary() for r in MODEL.releases}
    lines = [
        f"# Modelled releases of {DOCUMENTS.title}",
        "",
        "The rule that each producer of checkpoints uses, by the name of its function in "
        f"`spec/{MODEL.name}/rules`. "
        "`gridproof designs` prints the same. This page is written by `tox -e docs`.",
        "",
        "| rule | " + " | ".join(summaries) + " |",
        "| --- |" + " --- |" * len(summaries),
    ]
    for rule in next(iter(summaries.values())):
        cells = " | ".join(summary[rule] for summary in summaries.values())
        lines.append(f"| {rule} | {cells} |")
    return "\n".join(lines) + "\n"


def coverage() -> str:
    """The page of emitted tests: how many each tier has, which predicates they cover, and what cannot occur."""
    tests = {tier: Counter(_mechanism(name) for name in manifest_of(tier).tests) for tier in TIERS}
    lines = [
        "# What the emitted tests cover",
        "",
        "Each mechanism names predicates of a configuration and its lengths. For every combination of them there is "
        "either an instance or an *exclusion*: predicates of which the solver shows, for all configurations and lengths "
        "(of at least 1, or 0 where the mechanism allows that), that they never hold together "
        "(`tests/generators/emit/test_predicate_coverage.py`). Tier `tiny` has every pair of predicates in each way that "
        "occurs, `small` every three, `standard` every combination. A test stands for an instance and a claim. In the proofs "
        f"lengths and the fields {_named(f.name for f in MODEL.fields if f.symbolic)} are symbolic; the other fields take "
        "the values that the mechanism lists. This page is written by `tox -e docs`.",
        "",
        "| mechanism | predicates | combinations | with an instance | excluded | by proofs | tests tiny | small | standard |",
        "| --- |" + " --- |" * 8,
    ]
    total: Counter[str] = Counter()
    for mechanism in DOCUMENTS.mechanisms():
        space = mechanism.space
        if space is None:
            continue
        every, found = 1 << len(space.predicates), len(instances(space))
        counts = [tests[tier][mechanism.name] for tier in TIERS]
        total.update(dict(zip(TIERS, counts, strict=True)))
        cells = [
            len(space.predicates),
            every,
            found,
            every - found,
            len(exclusions(space)),
            *counts,
        ]
        lines.append(f"| {mechanism.name} | " + " | ".join(map(str, cells)) + " |")
    sums = " | ".join(str(total[tier]) for tier in TIERS)
    lines.append(f"| all | | | | | | {sums} |")
    lines += _predicted(manifest_of("standard"))
    for mechanism in DOCUMENTS.mechanisms():
        if mechanism.space is not None:
            lines += ["", f"## {mechanism.name}", "", "Predicates:", ""]
            lines += [f"- `{name}`" for name in mechanism.space.predicates]
            lines += ["", "Never together:", ""]
            lines += [f"- {_spelled(e)}" for e in exclusions(mechanism.space)]
    return "\n".join(lines) + "\n"


def _predicted(document: Manifest) -> list[str]:
    """The table of what each subject is predicted to do: how many tests fail, and in brackets how many do not apply."""
    lines = [
        "",
        "## What each release is predicted to do",
        "",
        "The number of tests of tier `standard` that fail; in brackets the number that are not comparable, because the "
        "release has no such code. " + DOCUMENTS.subjects,
        "",
        "| mechanism | " + " | ".join(document.subjects) + " |",
        "| --- |" + " --- |" * len(document.subjects),
    ]
    outcomes: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for name, test in document.tests.items():
        for subject, prediction in test.by_subject.items():
            outcomes[_mechanism(name)][subject][prediction["outcome"]] += 1
    for mechanism, by_subject in outcomes.items():
        cells = []
        for subject in document.subjects:
            failing, lacking = by_subject[subject]["fails"], by_subject[subject]["not comparable"]
            cells.append(f"{failing or '-'}" + (f" ({lacking})" if lacking else ""))
        lines.append(f"| {mechanism} | " + " | ".join(cells) + " |")
    return lines


def manifest_of(tier: str) -> Manifest:
    """The manifest of the engine's tests in a tier, without any case."""
    return parse(json.loads(write.tests([], DEFAULT, tier)["manifest.json"]))


def _mechanism(test: str) -> str:
    return test.partition(".py")[0].removeprefix("test_")


def _spelled(exclusion: Exclusion) -> str:
    return ", ".join(f"`{n}`" if truth else f"not `{n}`" for n, truth in exclusion.literals)


_SHORT = {"not_modelled": "not modelled"}


def published() -> str:
    """The table of published configurations: the verdict of every modelled release, and the producers that are unsafe."""
    lines = [
        "# Published configurations",
        "",
        "Launches from upstream's tests, cookbooks, pull requests and issue texts "
        "(`recipes/published/configurations.toml`), checked for every modelled release. After `unsafe` stand the producers "
        "of checkpoints that are unsafe. A test compares every verdict with the rules run on plain numbers. "
        "This page is written by `tox -e docs`.",
        "",
        f"| {' | '.join(('launch', *DOCUMENTS.lengths, *MODEL.releases))} |",
        "|" + " --- |" * (1 + len(DOCUMENTS.lengths) + len(MODEL.releases)),
    ]
    for one in configurations():
        judged = verdicts(one)
        newest = judged[MODEL.newest]
        cells = [one.id, *DOCUMENTS.lengths_of(newest)]
        cells += [_verdict(judged[release]) for release in MODEL.releases]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _verdict(judgement: Judgement) -> str:
    unsafe = [name for name, verdict in judgement.producers.items() if verdict == "unsafe"]
    text = _SHORT.get(judgement.verdict, judgement.verdict)
    return f"{text} ({', '.join(unsafe)})" if unsafe else text


def reported() -> str:
    """The tables of public reports: how each is modelled and found, by its mechanism or its outcome, or why it is not."""
    faults, unstated, count = DOCUMENTS.faults(), DOCUMENTS.unstated(), DOCUMENTS.count
    mechanisms = [fault for fault in faults if fault.cause is None]
    outcomes = [fault for fault in faults if fault.cause is not None]
    lines = [
        "# Public reports",
        "",
        "Public issues and pull requests about recurrent-state checkpoints that went wrong "
        "(`recipes/faults/reports.toml`). A report that the rules can model becomes a design. A test finds the fault again by "
        "`search`, which is given the design and nothing else, and does not find it in the right design. This page is "
        "written by `tox -e docs`.",
        "",
        f"Of {count([*faults, *unstated])} reports the mechanism of {count(mechanisms)} is modelled and found again, and "
        f"of {count(outcomes)} the outcome alone; {count(unstated)} are not modelled.",
        "",
        "## Mechanisms",
        "",
        "| report | what went wrong | modelled as | found as |",
        "| --- | --- | --- | --- |",
        *(f"| {' | '.join(_found(fault))} |" for fault in mechanisms),
        "",
        "## Outcomes",
        "",
        "The rules model the wrong state or grid that was seen; how it came about is in none of them.",
        "",
        "| report | what went wrong | modelled as | found as | cause, according to the report |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {' | '.join((*_found(fault), str(fault.cause)))} |" for fault in outcomes),
    ]
    lines += [
        "",
        "## Not modelled",
        "",
        "| report | what went wrong | why not |",
        "| --- | --- | --- |",
    ]
    for entry in unstated:
        lines.append(f"| {_pages(entry.reports)} | {entry.title} | {entry.reason} |")
    return "\n".join(lines) + "\n"


def _found(fault: Any) -> tuple[str, ...]:
    """The cells of a report that is modelled."""
    own = ", ".join(f"`{name}`" for name in _own(fault.faulty()))
    stated = f"`{fault.design}`" if fault.design else f"own {own}" if own else "a switch"
    depths = f", state {fault.state}" if fault.state is not None else ""
    depths += f" on node {fault.node}" if fault.node is not None else ""
    return _pages(fault.reports), fault.title, stated, f"{fault.code} ({fault.kind}){depths}"


def _own(design: Design) -> tuple[str, ...]:
    """The rules and the guards that the file of a design gives, as the file names them."""
    guards = (guard.name for guard in design.guards if isinstance(guard.accepts, OwnRule))
    return (*own_rules(design), *(f"guard_{name}" for name in guards))


def _pages(pages: tuple[str, ...]) -> str:
    """Links whose text is like `sglang 34808`."""
    named = ((page, page.partition("#")[0].split("/")) for page in pages)
    return ", ".join(f"[{parts[4]} {parts[-1]}]({page})" for page, parts in named)


PAGES = {
    "theorems.md": theorems,
    "findings.md": findings,
    "designs.md": designs,
    "coverage.md": coverage,
    "published.md": published,
    "public-reports.md": reported,
}


def main(folder: Path) -> None:
    """Write every page into this folder."""
    for name, page in PAGES.items():
        files.write(folder / name, page())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
