"""Values and calls as Python source, broken into lines as the project's formatter would."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 100


def literal(value: Any) -> str:
    """A value as Python source, strings in double quotes."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    if isinstance(value, tuple):
        inner = ", ".join(literal(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def configuration(values: Mapping[str, Any], positional: int) -> str:
    """A configuration as a call: its first fields by position, the others by name."""
    items = list(values.items())
    arguments = [literal(value) for _, value in items[:positional]]
    arguments += [f"{name}={literal(value)}" for name, value in items[positional:]]
    return f"Configuration({', '.join(arguments)})"


def item(function: str, arguments: Sequence[str], indent: int) -> str:
    """A call as one item of a list: on one line where it fits, else an argument a line."""
    space = " " * indent
    line = f"{space}{function}({', '.join(arguments)}),"
    if len(line) <= WIDTH:
        return line
    inner = "".join(f"{space}    {argument},\n" for argument in arguments)
    return f"{space}{function}(\n{inner}{space}),"


def listed(values: Sequence[Any], indent: int) -> str:
    """A list as an argument on lines of its own, behind its indent."""
    line = literal(list(values))
    if indent + len(line) + 1 <= WIDTH:
        return line
    space = " " * indent
    inner = "".join(f"{space}    {literal(value)},\n" for value in values)
    return f"[\n{inner}{space}]"


def signature(function: str, parameters: Sequence[str]) -> str:
    """The line or lines that define a function."""
    inner = ", ".join(parameters)
    if len(line := f"def {function}({inner}):") <= WIDTH:
        return line
    if len(line := f"    {inner}") <= WIDTH:
        return f"def {function}(\n{line}\n):"
    return f"def {function}(\n" + "".join(f"    {name},\n" for name in parameters) + "):"
