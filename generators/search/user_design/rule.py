"""A rule from a user's file, run as ours are: on plain integers, on arrays, on terms; its errors are reported as the user's.

A rule that cannot take arrays is run on each of their values.  One that cannot take terms raises `NotForAll`: what was
to be shown for all values is then not shown.  What a file prints goes to stderr: stdout is for results.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any

import numpy

from generators.common.errors import BadInput
from generators.search.user_design import source_files
from generators.search.user_design.source_files import Executed, UserFile

_MOST_DIGITS = 100  # of a number that a rule gives
_MOST_SHOWN = 80  # characters of a value in a sentence
_RAISED = (Exception, SystemExit)  # what the user's code may raise; an interrupt is the user's own
_SPOTS = 8  # values of an array on which a rule is held against what it gives for plain integers


class NotForAll(Exception):
    """A rule that cannot be evaluated on terms: where in the file, and why."""


class _Lent:
    """A configuration as the user's code gets it: to be read."""

    __slots__ = ("_of",)

    def __init__(self, of: Any):
        object.__setattr__(self, "_of", of)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        return _read_only(value) if isinstance(value, numpy.ndarray) else value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a rule must not change the configuration ({name})")


def _lent(argument: Any, fields: tuple[str, ...]) -> Any:
    """An argument that cannot be changed: of an array, whose values ``+=`` would change in place, a view."""
    if isinstance(argument, numpy.ndarray):
        return _read_only(argument)
    return _Lent(argument) if hasattr(argument, fields[0]) else argument


def _read_only(array: numpy.ndarray) -> numpy.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


class OwnRule:
    """The function that a user's file gives for a rule or a guard.

    `name`: the rule's; `run`: the file it stands in; `gives_truth`: whether it gives a truth and not a whole number;
    `fields`: the numbers of a configuration, by which one is recognised among the arguments.  A call raises `BadInput` where the function raises, gives
    something else than a whole number (of at least 1, for a grid), respectively a truth, or gives two values for the
    same arguments.  It cannot change what it is given.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        run: Executed,
        gives_truth: bool,
        fields: tuple[str, ...],
    ):
        self.__name__, self.__module__ = name, run.path
        self.function, self.path, self._run = function, run.path, run
        self.gives_truth, self.fields = gives_truth, fields
        self.least = 1 if name.endswith(("_grid", "_stride")) else None

    def __reduce__(self) -> Any:
        return again, (self.__name__, self._run.file, self.gives_truth, self.fields)

    def __call__(self, *arguments: Any) -> Any:
        values = [v for argument in arguments for v in _parts(argument).values()]
        if any(hasattr(v, "ledger") for v in values):
            return self._on_terms(arguments)
        arrays = [v for v in values if isinstance(v, numpy.ndarray)]
        return self._on_arrays(arguments, arrays) if arrays else self._on_integers(arguments)

    def _on_integers(self, arguments: tuple[Any, ...]) -> Any:
        given, again = (self._given(arguments) for _ in range(2))
        if given == again:
            return given
        raise BadInput(
            f"{self._line()}: {self._shown_call(arguments)} gives {given}, and then {again}; "
            "it must give the same for the same arguments"
        )

    def _given(self, arguments: tuple[Any, ...]) -> int | bool:
        """What the function gives for plain integers, once it is what a rule may give."""
        try:
            given = self._called(arguments)
        except _RAISED as error:
            raise BadInput(
                f"{self._place(error)}: {self._shown_call(arguments)}: {said(error)}"
            ) from None
        if self._fits(given):
            return bool(given) if self.gives_truth else int(given)
        least = "" if self.least is None else f"at least {self.least} and "
        number = f"a whole number of {least}at most {_MOST_DIGITS} digits"
        wanted = "True or False" if self.gives_truth else number
        raise BadInput(
            f"{self._line()}: {self._shown_call(arguments)} gives {_shown(given)}; it must give {wanted}"
        )

    def _called(self, arguments: tuple[Any, ...]) -> Any:
        with redirect_stdout(sys.stderr):
            return self.function(*(_lent(argument, self.fields) for argument in arguments))

    def _fits(self, given: Any) -> bool:
        is_truth = isinstance(given, bool | numpy.bool_)
        if self.gives_truth or is_truth:
            return self.gives_truth and is_truth
        if not isinstance(given, int | numpy.integer) or abs(int(given)) >= 10**_MOST_DIGITS:
            return False
        return self.least is None or bool(given >= self.least)

    def _all_fit(self, given: numpy.ndarray) -> bool:
        if given.dtype.kind == "O":
            return all(map(self._fits, given.flat))
        return self.least is None or bool((given >= self.least).all())

    def _on_arrays(self, arguments: tuple[Any, ...], arrays: list[numpy.ndarray]) -> Any:
        shape = numpy.broadcast_shapes(*(numpy.shape(array) for array in arrays))
        size = int(numpy.prod(shape))

        def alone(index: int) -> Any:
            return self._on_integers(tuple(_at(a, shape, index) for a in arguments))

        given = self._at_once(arguments, shape)
        if given is not None:
            spots = numpy.unique(numpy.linspace(0, size - 1, min(size, _SPOTS), dtype=int))
            if self._all_fit(given) and all(given.flat[spot] == alone(spot) for spot in spots):
                return given
        values = [alone(index) for index in range(size)]
        return numpy.array(values, dtype=bool if self.gives_truth else None).reshape(shape)

    def _at_once(self, arguments: tuple[Any, ...], shape: tuple[int, ...]) -> numpy.ndarray | None:
        """What the function gives for whole arrays; None where it cannot take them."""
        try:
            with numpy.errstate(all="raise"):
                given = numpy.broadcast_to(self._called(arguments), shape)
        except _RAISED:
            return None
        return given if given.dtype.kind in ("b" if self.gives_truth else "iuO") else None

    def _on_terms(self, arguments: tuple[Any, ...]) -> Any:
        try:
            return self._called(arguments)
        except _RAISED as error:
            raise NotForAll(f"{self._place(error)}: {self.__name__}: {said(error)}") from None

    def _place(self, error: BaseException) -> str:
        line = line_of(error, self.path)
        return f"{self.path}:{line}" if line else self._line()

    def _line(self) -> str:
        return f"{self.path}:{self.function.__code__.co_firstlineno}"

    def _shown_call(self, arguments: tuple[Any, ...]) -> str:
        names = inspect.signature(self.function).parameters
        shown = (
            f"{name}={_short(a, self.fields)}" for name, a in zip(names, arguments, strict=False)
        )
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
    return picked[""] if "" in picked else type(argument)(**picked)


def _short(argument: Any, fields: tuple[str, ...]) -> str:
    """An argument in a sentence; of a configuration its numbers."""
    if "" in _parts(argument):
        return str(argument)
    return ", ".join(f"{name} {getattr(argument, name)}" for name in fields)


def executed(path: str) -> Executed:
    """A user's file, read and run; what is wrong with it is `BadInput`, with the line.

    It is run as a module, whose imports are looked for in its own folder as well.
    """

    def failed(error: BaseException) -> BadInput:
        if isinstance(error, SyntaxError) and error.filename == path:
            return BadInput(f"{path}:{error.lineno or 1}: not valid Python ({error.msg})")
        return BadInput(f"{path}:{line_of(error, path) or 1}: {said(error)}")

    return source_files.read(path, failed)


def again(name: str, file: UserFile, gives_truth: bool, fields: tuple[str, ...]) -> OwnRule:
    """The rule of a file, in another process, from the texts that were read in the first."""
    run = source_files.run_again(file)
    return OwnRule(name, run.names[name], run, gives_truth, fields)


def line_of(error: BaseException, path: str) -> int | None:
    """The last line of a file at which an error passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return frames[-1].lineno if frames else None


def said(error: BaseException) -> str:
    """An error in a sentence, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _shown(value: Any) -> str:
    """A value in a sentence, whatever it is."""
    try:
        text = repr(value)
    except Exception:
        return f"something of type {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
