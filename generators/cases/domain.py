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
from spec.sglang.configuration import NUMERIC_FIELDS, RECURRENCES, STRATEGIES, Configuration

DEFAULTS = Configuration()
DEFAULT_CONTEXT = 32_768  # tokens, where nothing is said of it
DOMAIN_FIELDS = (
    "page_size",
    "dcp_size",
    "mamba_track_interval",
    "speculative_num_draft_tokens",
    "speculative_algorithm",
    "chunked_prefill_size",
    "strategy",
    "overlap",
    "mamba_chunk_size",
    "recurrence",
    "page_size_given",
)
LISTS = ("launch", "configuration")  # the tables that a file has which is a list
_CHOICES = {"strategy": STRATEGIES, "recurrence": RECURRENCES}
_BOOLEAN = ("overlap", "page_size_given")
_INTEGER = (*NUMERIC_FIELDS, "chunked_prefill_size")
_WORDS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_RANGE = re.compile(r"^\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*(?::\s*(\d+)\s*)?$")

_ALGORITHM = re.compile(r"^[A-Z0-9_]{1,40}$")
_MOST_VALUES = 10**12
_MOST_LISTED = 10_000_000

Axis = Sequence[Any]


def flag(name: str) -> str:
    """A field's flag on the command line."""
    return "--" + name.replace("_", "-")


def _least(name: str) -> int:
    if name == "speculative_num_draft_tokens":
        return 0
    return -1 if name == "chunked_prefill_size" else 1


def _integer(name: str, text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise BadInput(
            f"{flag(name)}: {text.strip()[:40]!r} is not a whole number; accepted are numbers, "
            "lists (1,16,64) and ranges (1..64, 64..4096:64)"
        ) from None
    if value < _least(name) or (name == "chunked_prefill_size" and value == 0):
        wanted = {0: "at least 0", -1: "-1 (off) or at least 1"}.get(_least(name), "at least 1")
        raise BadInput(f"{flag(name)}: {value} is not accepted; it must be {wanted}")
    return value


def _integers(name: str, text: str) -> Axis:
    parts: list[Sequence[int]] = []
    for item in text.split(","):
        if match := _RANGE.match(item):
            low, high = _integer(name, match[1]), _integer(name, match[2])
            step = int(match[3] or 1)
            if step < 1:
                raise BadInput(f"{flag(name)}: the step of {item.strip()!r} must be at least 1")
            if (high - low) // step >= _MOST_VALUES:
                raise BadInput(
                    f"{flag(name)}: more than {_MOST_VALUES:,} values; give fewer, or a step"
                )
            parts.append(range(low, high + 1, step))
        elif item.strip():
            parts.append((_integer(name, item),))
        elif text.strip():
            raise BadInput(f"{flag(name)}: {text!r} has an empty item; accepted is 1,16,64")
    if len(parts) == 1:
        return parts[0]
    if sum(map(len, parts)) > _MOST_LISTED:
        raise BadInput(
            f"{flag(name)}: more than {_MOST_LISTED:,} listed values; give one range instead"
        )
    return tuple(sorted({value for part in parts for value in part}))


def _word(name: str, value: Any) -> Any:
    text = str(value).strip()
    if name in _BOOLEAN:
        if text.lower() not in _WORDS:
            raise BadInput(f"{flag(name)}: {text!r} is neither 'on' nor 'off'")
        return _WORDS[text.lower()]
    if name == "speculative_algorithm":
        if text.lower() in ("", "none"):
            return None
        if not _ALGORITHM.match(text.upper()):
            raise BadInput(
                f"{flag(name)}: {text!r} is no name of an algorithm, such as EAGLE or DSPARK"
            )
        return text.upper()
    if name == "recurrence" and text.lower() in ("any", "none"):
        return None
    if text not in _CHOICES[name]:
        raise BadInput(
            f"{flag(name)}: {text!r} is not known; accepted are {', '.join(_CHOICES[name])}"
        )
    return text


def parse_axis(name: str, value: Any) -> Axis:
    """The values of a field from a flag's text or a TOML value; an empty set is `NothingToDo`."""
    items = value if isinstance(value, list) else [value]
    if name in _INTEGER:
        for item in items:
            if isinstance(item, bool) or not isinstance(item, int | str):
                raise BadInput(
                    f"{flag(name)}: {item!r} is neither a whole number nor a text like '1..64'"
                )
        axis = _integers(name, ",".join(str(i) for i in items))
    else:
        words = [w for i in items for w in (str(i).split(",") if str(i) else [])]
        axis = tuple(dict.fromkeys(_word(name, w) for w in words))
    if not len(axis):
        raise NothingToDo(f"{flag(name)}: {value!r} is an empty set of values; give at least one")
    return axis


@dataclass(frozen=True)
class Domain:
    """A set of values for each field, or a list of configurations; a field left out keeps the engine's default.

    `listed`: the configurations of a list, each once, all fields given; `notes`: what of the list was left out.
    """

    axes: Mapping[str, Axis] = field(default_factory=dict)
    listed: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    def axis(self, name: str) -> Axis:
        """The values of a field."""
        if self.listed:
            values = {row[name] for row in self.listed}
            return tuple(sorted(values, key=lambda v: (v is not None, v)))
        return self.axes.get(name, (getattr(DEFAULTS, name),))

    def size(self) -> int:
        """How many configurations there are, the guards not yet asked."""
        if self.listed:
            return len(self.listed)
        return math.prod(len(self.axis(name)) for name in DOMAIN_FIELDS)

    def document(self, configurations: int | None) -> dict[str, Any]:
        """The domain as JSON: short sets as lists, long ranges as the text that gives them."""
        shown = {name: _shown(self.axis(name)) for name in DOMAIN_FIELDS}
        return {**shown, "configurations": configurations}


def _shown(axis: Axis) -> Any:
    if isinstance(axis, range) and len(axis) > 16:
        step = f":{axis.step}" if axis.step != 1 else ""
        return f"{axis[0]}..{axis[-1]}{step}"
    return list(axis)


def domain_of(configuration: Configuration) -> Domain:
    """The domain of exactly one configuration."""
    return Domain({name: (getattr(configuration, name),) for name in DOMAIN_FIELDS})


def check_keys(keys: Iterable[str], where: str, accepted: Sequence[str] = DOMAIN_FIELDS) -> None:
    """Refuse keys that are not known, with the nearest one that is."""
    for key in keys:
        if key not in accepted:
            near = difflib.get_close_matches(key, accepted, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"accepted are {', '.join(accepted)}"
            raise BadInput(f"{where}: unknown key {key!r}; {hint}")


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a domain file, checked but not yet parsed."""
    try:
        data = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: not valid TOML ({error})") from None
    check_keys(data, str(path), (*DOMAIN_FIELDS, "engine", "design", *LISTS))
    for name in ("engine", "design"):
        if not isinstance(data.get(name, ""), str):
            raise BadInput(f"{path}: {name} must be a text, such as 'sglang==0.5.18'")
    return data
