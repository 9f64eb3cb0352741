"""What SGLang's mechanisms share: how a configuration is spelled and completed, and what a right next request is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from generators.cases.file_format import Case, spelled
from generators.emit.mechanism import (
    CASES,
    ENGINE,
    MODEL,
    Check,
    Mechanism,
    NotComparable,
    TestGroup,
    in_tier,
    once,
)
from spec.sglang.configuration import Configuration
from spec.sglang.releases import Design

__all__ = [
    "CASES",
    "CONFIGURATION_FIELDS",
    "ENGINE",
    "MODEL",
    "Check",
    "Mechanism",
    "NotComparable",
    "TestGroup",
    "completed",
    "in_tier",
    "lands",
    "numbers",
    "on",
    "once",
    "per_configuration",
]

CONFIGURATION_FIELDS = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")


def numbers(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a configuration that every emitted test sets."""
    return {name: configuration[name] for name in CONFIGURATION_FIELDS}


def completed(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as the rules read it; fields that do not matter have the engine's default."""
    given = {name: value for name, value in configuration.items() if value is not None}
    return {**vars(Configuration()), **given}


def per_configuration(cases: Iterable[Case]) -> list[Case]:
    """The cases, one for each configuration, in the order given."""
    return list({spelled(case.configuration): case for case in cases}.values())


def on(function: Callable[..., Any], *arguments: Any) -> Callable[[Design], Any]:
    """A function of a design alone."""
    return lambda design: function(design, *arguments)


def lands(least: int = 0) -> Callable[[Any], bool]:
    """Whether a follower's state has consumed just its prefix, of at least so many tokens; without one there is none."""

    def passes(follower: Any) -> bool:
        if follower == "fault" or follower["node"] < least:
            return False
        return follower["node"] == (follower["state"] or 0)

    return passes
