"""A domain that is a list: launch commands as they stand somewhere, or configurations field by field."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from generators.cases.domain import LISTS, Domain, check_keys, parse_axis
from generators.common.errors import BadInput, NothingToDo, UserError
from generators.launch.launch import given_values, only_launched, read_words
from generators.launch.words import Word
from spec.engine import DEFAULT, Engine
from spec.engine import engine as engine_named


def is_listed(data: Mapping[str, Any]) -> bool:
    """Whether the keys of a domain file are those of a list."""
    return any(name in data for name in LISTS)


def listed_domain(data: Mapping[str, Any], where: str, engine: Engine | None = None) -> Domain:
    """The domain of a file with tables `[[launch]]` (`command`, and in `set` what it does not hold) or `[[configuration]]`.

    `engine`: the one whose fields a configuration has, None for the one that is modelled first.  Launches of other
    engines, and those that no rule models, are left out, and the notes name them.  Raises `BadInput` for what is no
    such table, `NothingToDo` where nothing is left.
    """
    engine = engine or engine_named(DEFAULT)
    keys = {
        "launch": ("id", "source", "command", "set"),
        "configuration": ("id", *engine.field_names),
    }
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    missing: list[str] = []
    for kind in LISTS:
        tables = data.get(kind, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise BadInput(f"{where}: {kind} must be tables, each headed [[{kind}]]")
        for number, table in enumerate(tables, 1):
            place = f"{where}: {kind} {table.get('id', number)}"
            check_keys(table, place, keys[kind])
            try:
                read = _launched if kind == "launch" else _configured
                row = read(engine, table)
            except UserError as error:
                raise type(error)(f"{place}: {error}") from None
            if row is None:
                missing.append(str(table.get("id", number)))
            else:
                rows[tuple(row.values())] = row
    if not rows:
        raise NothingToDo(f"{where}: no configuration of the list is modelled")
    note = (
        f"{len(missing)} launches of the list are not modelled and left out: {', '.join(missing)}"
    )
    return Domain(listed=tuple(rows.values()), notes=(note,) if missing else ())


def _launched(engine: Engine, table: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a launch resolves to; None where no rule fits it."""
    command, beside = table.get("command"), table.get("set", {})
    if not isinstance(command, str) or not isinstance(beside, dict):
        raise BadInput("command must be a text, and set a table")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(str(error)) from None
    given = given_values(f"{name}={value}" for name, value in beside.items())
    launch = read_words(*only_launched([Word(word) for word in words]), given=given)
    if launch.unmodelled or launch.engine != engine.name:
        return None
    return _row(engine, launch.configuration)


def _configured(engine: Engine, table: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for name, value in table.items():
        if name != "id":
            axis = parse_axis(name, value)
            if len(axis) != 1:
                raise BadInput(f"{name} must be one value, not {len(axis)}")
            values[name] = axis[0]
    return _row(engine, engine.configuration_of(values))


def _row(engine: Engine, configuration: Any) -> dict[str, Any]:
    return {name: getattr(configuration, name) for name in engine.field_names}
