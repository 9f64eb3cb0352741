"""What `explain` and the catalogue tell of a finding code, told once."""

from __future__ import annotations

from collections.abc import Iterator

from generators.cases.codes import Code


def example_of(code: Code) -> tuple[str, str] | None:
    """The command lines of a code's example and of what to use instead."""
    if code.example is None or code.instead is None:
        return None
    release, launch = code.example
    check = f"gridproof check --engine sglang=={release} --"
    return f"{check} {launch}", f"{check} {code.instead}"


def facts(code: Code) -> Iterator[tuple[str, str]]:
    """A label and a sentence for each thing there is to say, the meaning apart."""
    if code.why:
        yield "why it is bad", code.why
    if code.accepted:
        yield "accepted", f"{code.accepted}."
    if code.theorem:
        yield "theorem", f"a right design excludes it: {code.theorem}"
    if code.links:
        yield "upstream", " ".join(code.links)
