"""A domain: a set of values for each field of a configuration, given by flags or in TOML."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generators.common.errors import BadInput, NothingToDo, read_text
from spec.engine import DEFAULT, PACKAGES, Engine, Field
from spec.engine import engine as engine_named

DEFAULT_CONTEXT = 32_768  # tokens, where a launch gives no context length
LISTS = ("launch", "configuration")  # the tables that a file has which is a list
_WORDS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_RANGE = re.compile(r"^\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*(?::\s*(\d+)\s*)?$")

_NAME = re.compile(r"^[A-Z0-9_]{1,40}$")
_MOST_VALUES = 10**12
_MOST_LISTED = 10_000_000

Axis = Sequence[Any]


def flag(name: str) -> str:
    """A field's flag on the command line."""
    return "--" + name.replace("_", "-")


def _integer(field: Field, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise BadInput(
            f"{flag(field.name)}: {text.strip()[:40]!r} is not a whole number; accepted are numbers, "
            "lists (1,16,64) and ranges (1..64, 64..4096:64)"
        ) from None
    least = 1 if field.least is None else field.least
    if value < least or (least < 0 and value == 0):
        wanted = f"{least} (off) or at least 1" if least < 0 else f"at least {least}"
        raise BadInput(f"{flag(field.name)}: {value} is not accepted; it must be {wanted}")
    return value


def _integers(field: Field, text: str) -> Axis:
    parts: list[Sequence[int]] = []
    for item in text.split(","):
        if match := _RANGE.match(item):
            low, high = _integer(field, match[1]), _integer(field, match[2])
            step = int(match[3] or 1)
            if step < 1:
                raise BadInput(
                    f"{flag(field.name)}: the step of {item.strip()!r} must be at least 1"
                )
            if (high - low) // step >= _MOST_VALUES:
                raise BadInput(
                    f"{flag(field.name)}: more than {_MOST_VALUES:,} values; give fewer, or a step"
                )
            parts.append(range(low, high + 1, step))
        elif item.strip():
            parts.append((_integer(field, item),))
        elif text.strip():
            raise BadInput(f"{flag(field.name)}: {text!r} has an empty item; accepted is 1,16,64")
    if len(parts) == 1:
        return parts[0]
    if sum(map(len, parts)) > _MOST_LISTED:
        raise BadInput(
            f"{flag(field.name)}: more than {_MOST_LISTED:,} listed values; give one range instead"
        )
    return tuple(sorted({value for part in parts for value in part}))


def _word(field: Field, value: Any) -> Any:
    text = str(value).strip()
    if field.kind is bool:
        if text.lower() not in _WORDS:
            raise BadInput(f"{flag(field.name)}: {text!r} is neither 'on' nor 'off'")
        return _WORDS[text.lower()]
    if field.may_be_none and text.lower() in ("", "any", "none"):
        return None
    if not field.choices:
        if not _NAME.match(text.upper()):
            example = f", such as {field.example}" if field.example else ""
            raise BadInput(f"{flag(field.name)}: {text!r} is no name{example}")
        return text.upper()
    if text not in field.choices:
        raise BadInput(
            f"{flag(field.name)}: {text!r} is not known; accepted are {', '.join(field.choices)}"
        )
    return text


def parse_axis(name: str, value: Any, engine: str = DEFAULT) -> Axis:
    """The values of an engine's field from a flag's text or a TOML value; an empty set is `NothingToDo`."""
    field = engine_named(engine).field(name)
    items = value if isinstance(value, list) else [value]
    if field.kind is int:
        for item in items:
            if isinstance(item, bool) or not isinstance(item, int | str):
                raise BadInput(
                    f"{flag(name)}: {item!r} is neither a whole number nor a text like '1..64'"
                )
        axis = _integers(field, ",".join(str(i) for i in items))
    else:
        words = [w for i in items for w in (str(i).split(",") if str(i) else [])]
        axis = tuple(dict.fromkeys(_word(field, w) for w in words))
    if not len(axis):
        raise NothingToDo(f"{flag(name)}: {value!r} is an empty set of values; give at least one")
    return axis


@dataclass(frozen=True)
class Domain:
    """A set of values for each field, or a list of configurations; a field left out keeps the engine's default.

    `listed`: the configurations of a list, each once, all fields given; `notes`: what of the list was left out;
    `engine`: the name of the engine whose fields they are.
    """

    axes: Mapping[str, Axis] = field(default_factory=dict)
    listed: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    engine: str = DEFAULT

    @property
    def model(self) -> Engine:
        """The engine whose fields the domain has."""
        return engine_named(self.engine)

    def axis(self, name: str) -> Axis:
        """The values of a field."""
        if self.listed:
            values = {row[name] for row in self.listed}
            return tuple(sorted(values, key=lambda v: (v is not None, v)))
        return self.axes.get(name, (self.model.field(name).default,))

    def size(self) -> int:
        """How many configurations there are, the guards not yet asked."""
        if self.listed:
            return len(self.listed)
        return math.prod(len(self.axis(name)) for name in self.model.field_names)

    def document(self, configurations: int | None) -> dict[str, Any]:
        """The domain as JSON: short sets as lists, long ranges as the text that gives them."""
        shown = {name: _shown(self.axis(name)) for name in self.model.field_names}
        return {**shown, "configurations": configurations}


def _shown(axis: Axis) -> Any:
    if isinstance(axis, range) and len(axis) > 16:
        step = f":{axis.step}" if axis.step != 1 else ""
        return f"{axis[0]}..{axis[-1]}{step}"
    return list(axis)


def domain_of(configuration: Any, engine: str = DEFAULT) -> Domain:
    """The domain of exactly one configuration of an engine."""
    names = engine_named(engine).field_names
    return Domain({name: (getattr(configuration, name),) for name in names}, engine=engine)


def check_keys(keys: Iterable[str], where: str, accepted: Sequence[str]) -> None:
    """Refuse keys that are not known, with the nearest one that is."""
    for key in keys:
        if key not in accepted:
            near = difflib.get_close_matches(key, accepted, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"accepted are {', '.join(accepted)}"
            raise BadInput(f"{where}: unknown key {key!r}; {hint}")


def engine_of_names(names: Mapping[str, Any]) -> str:
    """The name of the engine that `engine` or `design` names, the default one where neither is given.

    A name that is none of the registry's is given back as it stands: whoever asks for its design refuses it.
    """
    for key, separator in (("engine", "=="), ("design", "-")):
        if names.get(key):
            return str(names[key]).partition(separator)[0].strip()
    return DEFAULT


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a domain file, those of its engine's fields checked but not yet parsed."""
    try:
        data = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: not valid TOML ({error})") from None
    for name in ("engine", "design"):
        if not isinstance(data.get(name, ""), str):
            raise BadInput(f"{path}: {name} must be a text, such as {_example(name)!r}")
    known = engine_of_names(data)
    fields = engine_named(known if known in PACKAGES else DEFAULT).field_names
    check_keys(data, str(path), (*fields, "engine", "design", *LISTS))
    return data


def _example(name: str) -> str:
    newest = engine_named(DEFAULT)
    return (
        newest.requirement(newest.newest)
        if name == "engine"
        else newest.released(newest.newest).name
    )
