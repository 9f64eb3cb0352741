"""A domain that is a list: launch commands as they stand somewhere, or configurations field by field."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from generators.cases.domain import LISTS, Domain, check_keys, parse_axis
from generators.common.errors import BadInput, NothingToDo, UserError
from generators.sglang.launch.resolve import read_launch, told_from
from spec.sglang.configuration import Configuration
from spec.sglang.engine import FIELD_NAMES

_KEYS = {"launch": ("id", "source", "command", "set"), "configuration": ("id", *FIELD_NAMES)}


def is_listed(data: Mapping[str, Any]) -> bool:
    """Whether the keys of a domain file are those of a list."""
    return any(name in data for name in LISTS)


def listed_domain(data: Mapping[str, Any], where: str) -> Domain:
    """The domain of a file with tables `[[launch]]` (`command`, and in `set` what it does not hold) or `[[configuration]]`.

    Launches of which the rules say nothing are left out, and the notes say so.  Raises `BadInput` for what is no such
    table, `NothingToDo` where nothing is left.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    missing: list[str] = []
    for kind in LISTS:
        tables = data.get(kind, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise BadInput(f"{where}: {kind} must be tables, each headed [[{kind}]]")
        for number, table in enumerate(tables, 1):
            place = f"{where}: {kind} {table.get('id', number)}"
            check_keys(table, place, _KEYS[kind])
            try:
                row = _launched(table) if kind == "launch" else _configured(table)
            except UserError as error:
                raise type(error)(f"{place}: {error}") from None
            if row is None:
                missing.append(str(table.get("id", number)))
            else:
                rows[tuple(row.values())] = row
    if not rows:
        raise NothingToDo(f"{where}: no configuration of the list is modelled")
    note = f"{len(missing)} of the list are not modelled and left out: {', '.join(missing)}"
    return Domain(listed=tuple(rows.values()), notes=(note,) if missing else ())


def _launched(table: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a launch resolves to; None where no rule fits it."""
    command, told = table.get("command"), table.get("set", {})
    if not isinstance(command, str) or not isinstance(told, dict):
        raise BadInput("command must be a text, and set a table")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(str(error)) from None
    launch = read_launch(words, told_from([f"{name}={value}" for name, value in told.items()]))
    if launch.unmodelled or not launch.radix_cache:
        return None
    return _row(launch.configuration)


def _configured(table: Mapping[str, Any]) -> dict[str, Any]:
    values = {}
    for name, value in table.items():
        if name != "id":
            axis = parse_axis(name, value)
            if len(axis) != 1:
                raise BadInput(f"{name} must be one value, not {len(axis)}")
            values[name] = axis[0]
    return _row(Configuration(**values))


def _row(configuration: Configuration) -> dict[str, Any]:
    return {name: getattr(configuration, name) for name in FIELD_NAMES}
