"""The rules of SGLang that a user's file can give in place of a release's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

from spec.engine import Guard
from spec.sglang.releases import CURRENT, Design

# The parts of the rule by which every extend picks its depth.
_OF_AN_EXTEND = {f"extend_{name}": name for name in ("depth", "donates")}


def _rules() -> dict[str, Callable[..., Any]]:
    given = {name: rule for name, rule in vars(CURRENT).items() if isinstance(rule, FunctionType)}
    del given["window_grid"]  # of a draft's convolution windows, which no search follows
    extends = {name: getattr(CURRENT.extend_rule, part) for name, part in _OF_AN_EXTEND.items()}
    return given | extends


class Rules:
    """What a file can give: functions by the names of a design's fields, and switches.

    `rules`: each with the function that the newest release has; `truths`: those that give a truth, the others give a
    whole number (tokens, or a draft step); `switches`: what is True or False.
    """

    rules: Mapping[str, Callable[..., Any]] = _rules()
    switches = tuple(name for name, value in vars(CURRENT).items() if isinstance(value, bool))
    truths = frozenset(
        (
            *("extend_assertion", "extend_donates", "branching_kept", "decode_snapshots"),
            *("verify_crosses", "verify_plans", "insert_guard", "swap"),
        )
    )

    def of(self, design: Design) -> dict[str, Any]:
        """What a design has for each of the rules."""
        given = {name: getattr(design, name, None) for name in self.rules}
        parts = {n: getattr(design.extend_rule, part) for n, part in _OF_AN_EXTEND.items()}
        return given | parts

    def changed(
        self, base: Design, name: str, changes: Mapping[str, Any], guards: tuple[Guard, ...]
    ) -> Design:
        """A design with these rules, switches and guards in place of its own, named after the file."""
        extends = {part: changes[n] for n, part in _OF_AN_EXTEND.items() if n in changes}
        fields_changed = {n: v for n, v in changes.items() if n not in _OF_AN_EXTEND}
        if extends:
            plain, under_dcp = (
                replace(known, name=f"{name}-{known.name}", **extends)
                for known in (base.extend_rule, base.extend_rule_under_dcp)
            )
            fields_changed["extend_rule"] = plain
            # One object where it is one rule: by that the producers know it.
            fields_changed["extend_rule_under_dcp"] = plain if under_dcp == plain else under_dcp
        return replace(base, name=f"{base.name}+{name}", guards=guards, **fields_changed)
