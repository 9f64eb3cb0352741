"""Shows by the solver that an extend goes wrong in no further way: the end of a search over unbounded lengths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from generators.cases.domain import DOMAIN_FIELDS, Axis, Domain
from generators.common.errors import BadInput
from generators.search.batches import other_fields
from generators.search.user_design.producers import OwnClass
from generators.search.user_design.rule import NotForAll
from generators.sglang.search.producers import ExtendClass, extend_classes
from generators.sglang.search.separators import SEPARATORS, Geometry, Separation
from spec.engine import engine_of
from spec.numbers import Truth, both, either, negation
from spec.prove import shown
from spec.sglang.configuration import NUMERIC_FIELDS
from spec.sglang.releases import Design
from spec.theorem import Setting, Statement, Theorem

_LISTED = 16
_EXTEND = {"prefix": 0, "tokens": 1}
_MOST_TRIED = 4  # separators of one class that the solver is asked about


class Broken(Protocol):
    """What was found of one class: how many configurations it breaks."""

    members: int


@dataclass(frozen=True)
class Closed:
    """Whether every class is known, which member counts are exact, and what could not be shown."""

    complete: bool
    exact: set[ExtendClass]
    notes: tuple[str, ...]


def _within(term: Any, axis: Axis) -> Truth:
    """Whether a number is one of the axis's values; of a long axis only the bounds are said."""
    if len(axis) <= _LISTED:
        return either(*(both(term >= int(v), term <= int(v)) for v in axis))
    return both(term >= int(min(axis[0], axis[-1])), term <= int(max(axis[0], axis[-1])))


@dataclass(frozen=True)
class _Wrong:
    """Something that can go wrong: its name, and when it does, by lengths (tokens) of at least so many."""

    name: str
    lengths: Mapping[str, int]
    at: Callable[..., Truth]


def _of_the_class(klass: ExtendClass) -> _Wrong:
    where = "on" if klass.prefix_on_page else "off"

    def at(design: Design, c: Any, prefix: Any, tokens: Any) -> Truth:
        return klass.matches(design, c, prefix, prefix + tokens)

    return _Wrong(f"{klass.code.name} from a prefix {where} the page", _EXTEND, at)


def _statement(
    domain: Domain,
    wrong: _Wrong,
    guards: bool,
    besides: Callable[[Any], Truth] | None,
):
    """It goes wrong in no configuration of the domain; a field with one value stands in it as that number."""

    def state(design: Design, c: Any, **lengths: Any) -> Statement:
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
    return [name for name in NUMERIC_FIELDS if len(domain.axis(name)) > 1]


def _theorem(
    design: Design,
    domain: Domain,
    wrong: _Wrong,
    guards: bool,
    others: Mapping[str, Any],
    besides: Callable[[Any], Truth] | None = None,
) -> Theorem:
    fixed = {n: int(domain.axis(n)[0]) for n in NUMERIC_FIELDS if len(domain.axis(n)) == 1}
    start = {n: int(domain.axis(n)[0]) for n in _free(domain)}
    setting = Setting(engine_of(design), (start,), design, fixed={**others, **fixed})
    state = _statement(domain, wrong, guards, besides)
    name = f"no {wrong.name}"
    return Theorem(name, "search", name, state, setting, dict(wrong.lengths))


def _shown_for_all(
    design: Design,
    domain: Domain,
    klass: ExtendClass,
    guards: bool,
    besides: Callable[[Any], Truth] | None = None,
) -> bool:
    kinds = [o for o in other_fields(domain) if klass.prefix_on_page or _cuts(o)]
    wrong = _of_the_class(klass)
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


def _shown_one_by_one(
    design: Design, domain: Domain, klass: ExtendClass, geometries: Collection[Geometry] | None
) -> bool:
    """Whether the solver shows for each of these geometries apart that the class does not break it."""
    if geometries is None:
        return False
    for page, dcp, chunk in sorted(geometries):
        axes = {
            **{name: domain.axis(name) for name in DOMAIN_FIELDS},
            "page_size": (page,),
            "dcp_size": (dcp,),
            "mamba_chunk_size": (chunk,),
        }
        if not _shown_for_all(design, Domain(axes), klass, False):
            return False
    return True


def _shown_to_break_no_other(
    design: Design,
    domain: Domain,
    klass: ExtendClass,
    guards: bool,
    separation: Separation,
    besides: Sequence[Callable[[Any], Truth] | None],
) -> bool:
    """Whether the class is shown to break no configuration but those that one of `besides` names (None: none at all).

    The configurations of a list are looked at geometry by geometry.
    """
    at_once = not domain.listed and any(
        _shown_for_all(design, domain, klass, guards, members) for members in besides
    )
    return at_once or _shown_one_by_one(design, domain, klass, separation.whole)


def _cuts(others: Mapping[str, Any]) -> bool:
    return others["chunked_prefill_size"] != -1


def close_own(
    design: Design, domain: Domain, guards: bool, missing: Sequence[OwnClass]
) -> list[str]:
    """Why it is not shown, where it is not, that no configuration of the domain breaks in these ways."""
    return [
        f"not shown that no configuration has {klass.code.id} ({klass.code.name}){_because(why)}"
        for klass in missing
        if (why := _not_shown(design, domain, guards, klass)) is not None
    ]


def _not_shown(design: Design, domain: Domain, guards: bool, klass: OwnClass) -> str | None:
    """None where it is shown; else why not, which may be empty."""
    wrong = _Wrong(klass.name, klass.least, klass.matches)
    try:
        done = _all_shown(
            _theorem(design, domain, wrong, guards, others) for others in other_fields(domain)
        )
    except (NotForAll, BadInput) as error:
        return str(error)
    return None if done else ""


def _because(why: str) -> str:
    return f": {why}" if why else ""


def close_extends(
    design: Design,
    domain: Domain,
    guards: bool,
    configurations: int,
    found: Mapping[ExtendClass, Broken],
    separations: Mapping[ExtendClass, Separation],
    progress: Callable[[str, int, int], None],
) -> Closed:
    """Show that classes not found do not exist, and that those found break no more configurations than counted.

    Raises `NotForAll` or `BadInput` for a rule of a user's own that cannot be evaluated for all values.
    """
    complete, exact, notes = True, set(), []
    classes = extend_classes(design)
    for done, klass in enumerate(classes):
        progress("showing that there is no other", done, len(classes))
        separation = separations[klass]
        if klass not in found:
            if not _shown_to_break_no_other(design, domain, klass, guards, separation, [None]):
                complete = False
                where = "on" if klass.prefix_on_page else "off"
                notes.append(
                    f"not shown that no configuration has {klass.code.id} "
                    f"({klass.code.name}) from a prefix {where} the tree page"
                )
        elif found[klass].members == configurations:
            exact.add(klass)
        else:
            members = [SEPARATORS[name] for name in separation.agreeing[:_MOST_TRIED]]
            if _shown_to_break_no_other(design, domain, klass, guards, separation, members):
                exact.add(klass)
    progress("showing that there is no other", len(classes), len(classes))
    return Closed(complete, exact, tuple(notes))
