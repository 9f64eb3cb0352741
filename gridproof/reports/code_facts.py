"""What `explain` and the page of finding codes give of a code beside its meaning."""

from __future__ import annotations

from collections.abc import Iterator

from generators.cases.codes import Code


def example_of(code: Code) -> tuple[str, str] | None:
    """The command lines of a code's example and of a launch that has not the finding."""
    if code.example is None:
        return None
    check = f"gridproof check --engine {code.example.requirement} --"
    return f"{check} {code.example.launch}", f"{check} {code.example.instead}"


def facts(code: Code) -> Iterator[tuple[str, str]]:
    """A label and a text for each thing there is to know."""
    if code.why:
        yield "why it matters", code.why
    if code.symptom:
        yield "what is seen", f"{code.symptom}."
    if code.remedy:
        yield "what to do", f"{code.remedy}."
    if code.afterwards:
        yield "afterwards", f"{code.afterwards}."
    if code.not_explained:
        yield "this does not explain", f"{code.not_explained}."
    if code.theorem:
        yield "theorem", f"{code.theorem} (excludes it in a design that keeps to the rule)"
    if code.upstream:
        yield "upstream", " ".join(code.upstream)
