"""Reads a design of the user's own: a Python file that gives rules in place of a release's.

A function of the file stands for the rule of its name, a field of `spec.sglang.releases.Design`; `extend_depth` and
`extend_donates` for those of every extend; a function `guard_NAME` for the start-up guard of that name, its docstring
for what it demands.  `BASE` names the design that all else is taken from.  Names that begin with an underscore are
the file's own business.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

from generators.common.errors import BadInput
from generators.search.user_design.rule import OwnRule, executed
from generators.search.user_design.source_files import Executed
from spec.engine import Guard, UnknownDesign
from spec.sglang.releases import CURRENT, Design, ExtendRule, design_named

_GUARD = "guard_"
_OF_AN_EXTEND = {f"extend_{name}": name for name in ("depth", "donates")}


def rules() -> dict[str, Callable[..., Any]]:
    """The rules that a file can give, with the one that the newest release has."""
    given = {name: rule for name, rule in vars(CURRENT).items() if isinstance(rule, FunctionType)}
    del given["window_grid"]  # of a draft's convolution windows, which no search follows
    extends = {name: getattr(CURRENT.extend_rule, part) for name, part in _OF_AN_EXTEND.items()}
    return given | extends


def switches() -> tuple[str, ...]:
    """The properties that a file can set to True or False."""
    return tuple(name for name, value in vars(CURRENT).items() if isinstance(value, bool))


def read_design(path: Path) -> Design:
    """The design of a file; whatever is wrong with the file is `BadInput`, with the line."""
    run = executed(str(path))
    names = run.names
    base = _base(path, names.get("BASE", CURRENT.name))
    own = names["__name__"]
    public = {name: value for name, value in names.items() if _is_meant(name, value, own)}
    if not public:
        raise BadInput(f"{path}: gives no rule; accepted are functions named {_accepted()}")
    changes: dict[str, Any] = {"name": f"{base.name}+{path.stem}"}
    guards = {guard.name: guard for guard in base.guards}
    extends: dict[str, Any] = {}
    for name, value in public.items():
        if name in switches():
            changes[name] = _switch(path, name, value)
        elif name.startswith(_GUARD):
            guard = _guard(path, name, value, run)
            guards[guard.name] = guard
        elif name in _OF_AN_EXTEND:
            extends[_OF_AN_EXTEND[name]] = _rule(path, name, value, run)
        else:
            changes[name] = _rule(path, name, value, run)
    if extends:
        plain, under_dcp = (
            _extend_rule(path, known, extends)
            for known in (base.extend_rule, base.extend_rule_under_dcp)
        )
        changes["extend_rule"] = plain
        # One object where it is one rule: by that the readers know it.
        changes["extend_rule_under_dcp"] = plain if under_dcp == plain else under_dcp
    return replace(base, guards=tuple(guards.values()), **changes)


def _extend_rule(path: Path, known: ExtendRule, extends: dict[str, Any]) -> ExtendRule:
    return replace(known, name=f"{path.stem}-{known.name}", **extends)


def _base(path: Path, name: Any) -> Design:
    try:
        return design_named(str(name))
    except UnknownDesign as error:
        raise BadInput(f"{path}: BASE: {error}") from None


def _is_meant(name: str, value: Any, own: str) -> bool:
    """Whether a name of the file, the module `own`, is to be a rule: not its own business, and not imported."""
    if name == "BASE" or name.startswith("_"):
        return False
    if inspect.ismodule(value) or isinstance(value, type):
        return False
    origin = getattr(value, "__module__", own)
    imported = origin != own and origin in sys.modules
    return not imported or name in rules() or name.startswith(_GUARD)


def _accepted() -> str:
    return f"{', '.join(sorted(rules()))} and {_GUARD}NAME, and {', '.join(switches())} as True or False"


def _switch(path: Path, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{path}: {name} must be True or False, not {value!r}")
    return value


def _rule(path: Path, name: str, value: Any, run: Executed) -> OwnRule:
    """A rule of the file, its name and its parameters checked."""
    if name not in rules():
        near = difflib.get_close_matches(name, [*rules(), *switches()], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"accepted are {_accepted()}"
        where = f":{value.__code__.co_firstlineno}" if isinstance(value, FunctionType) else ""
        raise BadInput(f"{path}{where}: {name!r} is no rule; {hint}")
    wanted = tuple(inspect.signature(rules()[name]).parameters)
    return _callable(path, name, value, wanted, run)


def _callable(path: Path, name: str, value: Any, wanted: tuple[str, ...], run: Executed) -> OwnRule:
    if not isinstance(value, FunctionType):
        raise BadInput(f"{path}: {name} must be a function of {', '.join(wanted)}, not {value!r}")
    where = f"{path}:{value.__code__.co_firstlineno}"
    try:
        inspect.signature(value).bind(*wanted)
    except TypeError:
        raise BadInput(f"{where}: {name} must take {', '.join(wanted)}, in this order") from None
    return OwnRule(name, value, run)


def _guard(path: Path, name: str, value: Any, run: Executed) -> Guard:
    rule = _callable(path, name, value, ("c",), run)
    short = name.removeprefix(_GUARD)
    demands = inspect.getdoc(value) or f"{short} of {path.name} must hold"
    return Guard(short, " ".join(demands.split()), path.name, rule)


def own_rules(design: Design) -> tuple[str, ...]:
    """The rules of a design that a file gives, by name."""
    given = {name: getattr(design, name, None) for name in rules()}
    given |= {name: getattr(design.extend_rule, part) for name, part in _OF_AN_EXTEND.items()}
    return tuple(name for name, rule in given.items() if isinstance(rule, OwnRule))
