"""Reads a design of the user's own: a Python file that gives rules in place of a release's.

A function of the file stands for the rule of its name; which there are, the engine knows.  A function `guard_NAME`
stands for the start-up guard of that name, its docstring for what it demands.  `BASE` names the design that all else is
taken from.  Names that begin with an underscore are the file's own business.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from generators.common.errors import BadInput
from generators.engines import DesignRules, engine_of
from generators.search.user_design.rule import OwnRule, executed
from generators.search.user_design.source_files import Executed
from spec.engine import DEFAULT, Design, Guard, UnknownDesign, design_named, engine
from spec.engine import engine_of as model_of

_GUARD = "guard_"


def read_design(path: Path) -> Any:
    """The design of a file; whatever is wrong with the file is `BadInput`, with the line."""
    run = executed(str(path))
    names = run.names
    base = _base(path, names.get("BASE"))
    loader = _Loader(path, run, base)
    public = {name: value for name, value in names.items() if loader.is_meant(name, value)}
    if not public:
        raise BadInput(f"{path}: gives no rule; accepted are functions named {loader.accepted()}")
    changes: dict[str, Any] = {}
    guards = {guard.name: guard for guard in base.guards}
    for name, value in public.items():
        if name.startswith(_GUARD):
            guard = loader.guard(name, value)
            guards[guard.name] = guard
        else:
            changes[name] = loader.change(name, value)
    return loader.design_rules.changed(base, path.stem, changes, tuple(guards.values()))


def _base(path: Path, name: Any) -> Any:
    newest = engine(DEFAULT)
    try:
        return newest.released(newest.newest) if name is None else design_named(str(name))
    except UnknownDesign as error:
        raise BadInput(f"{path}: BASE: {error}") from None


class _Loader:
    """What a file gives for the rules of one engine, each of them checked."""

    def __init__(self, path: Path, run: Executed, base: Design):
        self.path, self.run = path, run
        self.design_rules: DesignRules = engine_of(base).search.design_rules
        self.rules: Mapping[str, Callable[..., Any]] = self.design_rules.rules
        self.switches: tuple[str, ...] = self.design_rules.switches
        # What a configuration can be recognised by among the arguments of a rule.
        self.fields = model_of(base).numeric

    def is_meant(self, name: str, value: Any) -> bool:
        """Whether a name of the file is to be a rule: not its own business, and not imported."""
        if name == "BASE" or name.startswith("_"):
            return False
        if inspect.ismodule(value) or isinstance(value, type):
            return False
        own = self.run.names["__name__"]
        origin = getattr(value, "__module__", own)
        imported = origin != own and origin in sys.modules
        return not imported or name in self.rules or name.startswith(_GUARD)

    def accepted(self) -> str:
        """The names that a file can give, in words."""
        switches = f", and {', '.join(self.switches)} as True or False" if self.switches else ""
        return f"{', '.join(sorted(self.rules))} and {_GUARD}NAME{switches}"

    def change(self, name: str, value: Any) -> Any:
        """A rule or a switch of the file."""
        if name in self.switches:
            if not isinstance(value, bool):
                raise BadInput(f"{self.path}: {name} must be True or False, not {value!r}")
            return value
        if name not in self.rules:
            near = difflib.get_close_matches(name, [*self.rules, *self.switches], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"accepted are {self.accepted()}"
            where = f":{value.__code__.co_firstlineno}" if isinstance(value, FunctionType) else ""
            raise BadInput(f"{self.path}{where}: {name!r} is no rule; {hint}")
        wanted = tuple(inspect.signature(self.rules[name]).parameters)
        return self._callable(name, value, wanted, name in self.design_rules.truths)

    def guard(self, name: str, value: Any) -> Guard:
        """A start-up guard of the file."""
        rule = self._callable(name, value, ("c",), True)
        short = name.removeprefix(_GUARD)
        demands = inspect.getdoc(value) or f"{short} of {self.path.name} must hold"
        return Guard(short, " ".join(demands.split()), self.path.name, rule)

    def _callable(self, name: str, value: Any, wanted: tuple[str, ...], truth: bool) -> OwnRule:
        if not isinstance(value, FunctionType):
            raise BadInput(
                f"{self.path}: {name} must be a function of {', '.join(wanted)}, not {value!r}"
            )
        where = f"{self.path}:{value.__code__.co_firstlineno}"
        try:
            inspect.signature(value).bind(*wanted)
        except TypeError:
            raise BadInput(
                f"{where}: {name} must take {', '.join(wanted)}, in this order"
            ) from None
        return OwnRule(name, value, self.run, truth, self.fields)


def own_rules(design: Design) -> tuple[str, ...]:
    """The rules of a design that a file gives, by name."""
    given = engine_of(design).search.design_rules.of(design)
    return tuple(name for name, rule in given.items() if isinstance(rule, OwnRule))
