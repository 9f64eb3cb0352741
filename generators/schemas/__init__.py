"""The JSON Schemas of every document gridproof writes: a frame a document, and the fields that each engine brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spec.engine import Engine, Field

_KINDS = {bool: "boolean", int: "integer", str: "string"}
# The words that a field without choices accepts; they are written into emitted tests.
_WORD = "^[A-Za-z0-9_.+-]{1,40}$"


def _field_schema(field: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": [_KINDS[field.kind], "null"]}
    if field.least is not None:
        schema["minimum"] = field.least
    if field.choices:
        schema["enum"] = [*field.choices, None]
    elif field.kind is str:
        schema["pattern"] = _WORD
    return schema


def case_schema(engine: Engine) -> dict[str, Any]:
    """The schema of a case's configuration: the engine's fields, of which those in the case's name are never null."""
    schema = fields_schema(engine, engine={"type": "string"})
    for field in engine.fields:
        schema["properties"][field.name].pop("enum", None)  # a case may name what no domain has
        if field.short:
            schema["properties"][field.name]["type"] = _KINDS[field.kind]
    return schema


def domain_schema(engine: Engine) -> dict[str, Any]:
    """The schema of a domain: for every field of the engine a list of values, or the text of a range."""
    names = [*engine.field_names, "configurations"]
    return {
        "type": "object",
        "properties": {name: {} for name in names},
        "required": names,
        "additionalProperties": False,
    }


def fields_schema(engine: Engine, /, **further: Any) -> dict[str, Any]:
    """The schema of a configuration of an engine: every field of it, null where it does not matter.

    `further`: schemas of keys that a document has beside the fields.
    """
    properties = {field.name: _field_schema(field) for field in engine.fields} | further
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
