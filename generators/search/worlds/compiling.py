"""The same functions as machine code: what numba, where it is installed, has to be given of `spec.numbers`.

A rule is compiled as it stands: the functions that it calls are found in its module and registered, `both`, `choose` and
the others of `spec.numbers` are given as numba sees them.  numba is an extra (`gridproof[compiled]`) and imported only here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from spec import numbers


def is_installed() -> bool:
    """Whether worlds can be searched by machine code."""
    return importlib.util.find_spec("numba") is not None


@cache
def _registered() -> set[Any]:
    """The functions that numba has been given; at first those of `spec.numbers`."""
    from numba.extending import overload

    def joined(number: int, word: str) -> Callable[..., Any]:
        conditions = f" {word} ".join(f"bool(conditions[{i}])" for i in range(number))
        return eval(f"lambda *conditions: {conditions}")

    @overload(numbers.both)
    def both(*conditions):
        return joined(len(conditions), "and")

    @overload(numbers.either)
    def either(*conditions):
        return joined(len(conditions), "or")

    @overload(numbers.negation)
    def negation(condition):
        return lambda condition: not condition

    @overload(numbers.implies)
    def implies(premise, conclusion):
        return lambda premise, conclusion: (not premise) or bool(conclusion)

    @overload(numbers.choose)
    def choose(condition, then, otherwise):
        return lambda condition, then, otherwise: then if condition else otherwise

    return {
        numbers.both,
        numbers.either,
        numbers.negation,
        numbers.implies,
        numbers.choose,
    }


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _called(function: FunctionType) -> Iterator[FunctionType]:
    """The Python functions that a function names: of its module, of modules that it names, of its closure."""
    names = set(_names(function.__code__))
    values = [function.__globals__[n] for n in sorted(names) if n in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in values:
        if isinstance(value, ModuleType):
            of_module = (getattr(value, n, None) for n in sorted(names))
            yield from (v for v in of_module if isinstance(v, FunctionType))
        elif isinstance(value, FunctionType):
            yield value


def register(function: FunctionType) -> None:
    """Let numba compile what a function calls, at any depth."""
    from numba.extending import register_jitable

    for called in _called(function):
        if called not in _registered():
            _registered().add(called)
            register(called)
            register_jitable(called)


def compiled(function: Any, *signature: Any) -> Any:
    """A function as machine code; with a signature at once, and as a value that other compiled functions may call."""
    import numba

    register(function)
    return numba.njit(signature[0])(function) if signature else numba.njit(function)
