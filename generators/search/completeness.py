"""Shows by the solver that nothing goes wrong in a certain way: the end of a search over unbounded lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from generators.cases.domain import Axis, Domain
from generators.search.batches import other_fields
from spec.engine import Design
from spec.numbers import Truth, both, either, negation
from spec.prove import shown
from spec.theorem import Setting, Statement, Theorem

_LISTED = 16


@dataclass(frozen=True)
class Wrong:
    """Something that can go wrong: its name, and when it does, by lengths (tokens) of at least so many."""

    name: str
    lengths: Mapping[str, int]
    at: Callable[..., Truth]


def shown_for_all(
    design: Design,
    domain: Domain,
    wrong: Wrong,
    guards: bool,
    *,
    besides: Callable[[Any], Truth] | None = None,
    possible: Callable[[Mapping[str, Any]], bool] = lambda others: True,
) -> bool:
    """Whether it is shown to go wrong in no configuration of the domain.

    `besides`: those it may go wrong in; `possible`: whether it can happen at all with these values of the fields that
    rules do not compute with.  Raises what a rule raises that cannot be evaluated for all values.
    """
    kinds = (others for others in other_fields(domain) if possible(others))
    return _all_shown(_theorem(design, domain, wrong, guards, o, besides) for o in kinds)


def _all_shown(theorems: Iterable[Theorem]) -> bool:
    """Whether all are shown; those that differ in nothing that they read are one."""
    done: set[frozenset[tuple[str, Any]]] = set()
    for theorem in theorems:
        read = frozenset(theorem.constants().items())
        if read not in done and not shown(theorem):
            return False
        done.add(read)
    return True


def _within(term: Any, axis: Axis) -> Truth:
    """Whether a number is one of the axis's values; of a long axis only the bounds are demanded."""
    if len(axis) <= _LISTED:
        return either(*(both(term >= int(v), term <= int(v)) for v in axis))
    return both(term >= int(min(axis[0], axis[-1])), term <= int(max(axis[0], axis[-1])))


def _statement(
    domain: Domain, wrong: Wrong, guards: bool, besides: Callable[[Any], Truth] | None
) -> Callable[..., Statement]:
    """It goes wrong in no configuration of the domain; a field with one value stands in it as that number."""

    def state(design: Any, c: Any, **lengths: Any) -> Statement:
        hypotheses: dict[str, Truth] = {
            f"domain_of_{name}": _within(getattr(c, name), domain.axis(name))
            for name in _free(domain)
        }
        if guards:
            hypotheses |= {g.name: g.accepts(c) for g in design.guards}
        if besides is not None:
            hypotheses["the configuration is none of the members"] = negation(besides(c))
        return Statement(hypotheses, negation(wrong.at(design, c, **lengths)))

    return state


def _free(domain: Domain) -> list[str]:
    return [name for name in domain.model.numeric if len(domain.axis(name)) > 1]


def _theorem(
    design: Design,
    domain: Domain,
    wrong: Wrong,
    guards: bool,
    others: Mapping[str, Any],
    besides: Callable[[Any], Truth] | None,
) -> Theorem:
    model = domain.model
    fixed = {n: int(domain.axis(n)[0]) for n in model.numeric if len(domain.axis(n)) == 1}
    start = {n: int(domain.axis(n)[0]) for n in _free(domain)}
    setting = Setting(model, (start,), design, fixed={**others, **fixed})
    state = _statement(domain, wrong, guards, besides)
    return Theorem(f"no {wrong.name}", "search", wrong.name, state, setting, dict(wrong.lengths))
