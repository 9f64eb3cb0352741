"""A rule from a user's file, run as ours are: on plain integers, on arrays, on terms; its errors are told as the user's.

A rule that cannot take arrays is run on each of their values.  One that cannot take terms raises `NotForAll`: what was
to be shown for all values is then not shown.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy

from generators.errors import BadInput, read_text

# What these rules give is a truth; the others give a whole number (tokens, or a draft step).
TRUTHS = frozenset(
    (
        *("extend_assertion", "extend_donates", "branching_kept", "decode_snapshots"),
        *("verify_crosses", "verify_plans", "insert_guard", "swap"),
    )
)
_SPOTS = 8  # values of an array on which a rule is held against what it gives for plain integers


class NotForAll(Exception):
    """A rule that cannot be evaluated on terms: where in the file, and why."""


class OwnRule:
    """The function that a user's file gives for a rule or a guard.

    `name`: the rule's; `path`: the file's, as it is shown.  A call raises `BadInput` where the function raises, or
    gives something else than a whole number (of at least 1, for a grid), respectively a truth.
    """

    def __init__(self, name: str, function: Callable[..., Any], path: str):
        self.__name__, self.__module__ = name, path
        self.function, self.path = function, path
        self.gives_truth = name in TRUTHS or name.startswith("guard_")
        self.least = 1 if name.endswith(("_grid", "_stride")) else None

    def __reduce__(self) -> Any:
        return again, (self.__name__, self.path)

    def __call__(self, *arguments: Any) -> Any:
        values = [v for argument in arguments for v in _parts(argument).values()]
        if any(hasattr(v, "ledger") for v in values):
            return self._on_terms(arguments)
        arrays = [v for v in values if isinstance(v, numpy.ndarray)]
        return self._on_arrays(arguments, arrays) if arrays else self._on_integers(arguments)

    def _on_integers(self, arguments: tuple[Any, ...]) -> Any:
        try:
            given = self.function(*arguments)
        except Exception as error:
            raise BadInput(
                f"{self._place(error)}: {self._told(arguments)}: {said(error)}"
            ) from None
        if self._fits(given):
            return bool(given) if self.gives_truth else int(given)
        least = "" if self.least is None else f" of at least {self.least}"
        wanted = "True or False" if self.gives_truth else f"a whole number{least}"
        place = f"{self.path}:{self.function.__code__.co_firstlineno}"
        raise BadInput(f"{place}: {self._told(arguments)} gives {given!r}; it must give {wanted}")

    def _fits(self, given: Any) -> bool:
        is_truth = isinstance(given, bool | numpy.bool_)
        if self.gives_truth or is_truth:
            return self.gives_truth and is_truth
        whole = isinstance(given, int | numpy.integer)
        return whole and (self.least is None or given >= self.least)

    def _on_arrays(self, arguments: tuple[Any, ...], arrays: list[numpy.ndarray]) -> Any:
        shape = numpy.broadcast_shapes(*(numpy.shape(array) for array in arrays))
        size = int(numpy.prod(shape))

        def alone(index: int) -> Any:
            return self._on_integers(tuple(_at(a, shape, index) for a in arguments))

        given = self._at_once(arguments, shape)
        if given is not None:
            spots = numpy.unique(numpy.linspace(0, size - 1, min(size, _SPOTS), dtype=int))
            too_small = self.least is not None and bool(numpy.any(given < self.least))
            if not too_small and all(given.flat[spot] == alone(spot) for spot in spots):
                return given
        values = [alone(index) for index in range(size)]
        return numpy.array(values, dtype=bool if self.gives_truth else None).reshape(shape)

    def _at_once(self, arguments: tuple[Any, ...], shape: tuple[int, ...]) -> numpy.ndarray | None:
        """What the function gives for whole arrays; None where it cannot take them."""
        try:
            with numpy.errstate(all="raise"):
                given = numpy.broadcast_to(self.function(*arguments), shape)
        except Exception:
            return None
        return given if given.dtype.kind in ("b" if self.gives_truth else "iuO") else None

    def _on_terms(self, arguments: tuple[Any, ...]) -> Any:
        try:
            return self.function(*arguments)
        except Exception as error:
            raise NotForAll(f"{self._place(error)}: {self.__name__}: {said(error)}") from None

    def _place(self, error: BaseException) -> str:
        line = line_of(error, self.path) or self.function.__code__.co_firstlineno
        return f"{self.path}:{line}"

    def _told(self, arguments: tuple[Any, ...]) -> str:
        names = inspect.signature(self.function).parameters
        shown = (f"{name}={_short(a)}" for name, a in zip(names, arguments, strict=False))
        return f"{self.__name__}({', '.join(shown)})"


def _parts(argument: Any) -> Mapping[str, Any]:
    """The numbers of an argument: the fields of a configuration, or itself."""
    if hasattr(argument, "ledger") or not hasattr(argument, "__dict__"):
        return {"": argument}
    return vars(argument)


def _at(argument: Any, shape: tuple[int, ...], index: int) -> Any:
    """An argument at one place of its arrays."""
    picked = {
        name: numpy.broadcast_to(value, shape).flat[index].item()
        if isinstance(value, numpy.ndarray)
        else value
        for name, value in _parts(argument).items()
    }
    return picked[""] if "" in picked else SimpleNamespace(**picked)


def _short(argument: Any) -> str:
    """An argument in a sentence; of a configuration what gives it its grids."""
    if "" in _parts(argument):
        return str(argument)
    wanted = ("page_size", "dcp_size", "mamba_chunk_size", "mamba_track_interval")
    return ", ".join(f"{name} {getattr(argument, name)}" for name in wanted)


def executed(path: str) -> dict[str, Any]:
    """The names that a user's file defines, in its order; what is wrong with it is `BadInput`, with the line."""
    names: dict[str, Any] = {"__name__": path, "__file__": path}
    try:
        exec(compile(read_text(Path(path)), path, "exec"), names)
    except SyntaxError as error:
        raise BadInput(f"{path}:{error.lineno}: not valid Python ({error.msg})") from None
    except (Exception, SystemExit) as error:
        raise BadInput(f"{path}:{line_of(error, path) or 1}: {said(error)}") from None
    return names


def again(name: str, path: str) -> OwnRule:
    """The rule of a file, in another process."""
    return OwnRule(name, executed(path)[name], path)


def line_of(error: BaseException, path: str) -> int | None:
    """The last line of a file at which an error passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return frames[-1].lineno if frames else None


def said(error: BaseException) -> str:
    """An error in a sentence."""
    return f"{type(error).__name__}: {error}"[:200]
