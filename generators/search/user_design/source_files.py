"""A user's Python file as it was read, with the modules of its folder that it imports, run the same in every process.

What is edited after it was read changes nothing: another process is sent the texts.  A module that a function imports
only when it is called, after the texts were sent, is read by each process for itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from generators.common.errors import BadInput, read_text


@dataclass(frozen=True)
class Text:
    """The text of a module: its name, the file it was read from, its bytes, whether it is a package."""

    name: str
    origin: str
    data: bytes
    is_package: bool


@dataclass(frozen=True)
class UserFile:
    """A file of a user's, as `path` is shown, with the modules beside it that were imported so far."""

    path: str
    text: str
    beside: tuple[Text, ...]


class _Loader(SourceFileLoader):
    """Loads a module from the text that is known, else from its file, whose text is known from then on."""

    def __init__(self, name: str, origin: str, is_package: bool, known: dict[str, Text]):
        super().__init__(name, origin)
        self._known, self._is_package = known, is_package

    def get_code(self, fullname: str) -> CodeType:
        text = self._known.get(fullname)
        if text is None:
            data = self.get_data(self.path)
            text = self._known[fullname] = Text(fullname, self.path, data, self._is_package)
        return self.source_to_code(text.data, text.origin)


class _Beside:
    """Finds what a user's file imports from its folder: the last place that is looked at, as for a script's own."""

    def __init__(self, folder: str, known: Sequence[Text] = ()):
        self.folder, self.known = folder, {text.name: text for text in known}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, _ = name.rpartition(".")
        if package and package not in self.known:
            return None
        if not package and any(self._is_elsewhere(finder, name) for finder in _others()):
            return None
        if (text := self.known.get(name)) is not None:
            return self._spec(name, text.origin, text.is_package)
        found = PathFinder.find_spec(name, list(path) if path is not None else [self.folder])
        if found is None or found.origin is None or not isinstance(found.loader, SourceFileLoader):
            return found
        return self._spec(name, found.origin, found.submodule_search_locations is not None)

    def _is_elsewhere(self, finder: Any, name: str) -> bool:
        """Whether another finder knows a module of this name outside the folder."""
        find = getattr(finder, "find_spec", None)
        found = None if find is None else find(name, None)
        if found is None or not found.has_location:
            return found is not None
        return not Path(found.origin).resolve().is_relative_to(self.folder)

    def _spec(self, name: str, origin: str, is_package: bool) -> ModuleSpec | None:
        loader = _Loader(name, origin, is_package, self.known)
        places = [str(Path(origin).parent)] if is_package else None
        return spec_from_file_location(
            name, origin, loader=loader, submodule_search_locations=places
        )


def _others() -> list[Any]:
    return [finder for finder in sys.meta_path if not isinstance(finder, _Beside)]


@dataclass
class Executed:
    """What running a user's file gave: its names, in their order, and what it imported from its folder."""

    path: str
    text: str
    names: dict[str, Any] = field(default_factory=dict)
    beside: _Beside = field(default_factory=lambda: _Beside(""))

    @property
    def file(self) -> UserFile:
        """The file, to be run again in another process."""
        return UserFile(self.path, self.text, tuple(self.beside.known.values()))


def read(path: str, failed: Callable[[BaseException], Exception]) -> Executed:
    """Read a user's file and run it as a module; `failed` says what is wrong where that raises.

    Raises `BadInput` where it cannot be read, and what `failed` gives.
    """
    return _run(UserFile(path, read_text(Path(path)), ()), failed)


@cache
def run_again(file: UserFile) -> Executed:
    """What the texts give that another process sent; they are run once, however many of their rules come."""
    return _run(file, _unexpected)


def _unexpected(error: BaseException) -> Exception:
    return BadInput(f"ran in one process and failed in another: {error!r}")


def _run(file: UserFile, failed: Callable[[BaseException], Exception]) -> Executed:
    module = ModuleType(f"{file.path} of the user's own")
    sys.modules[module.__name__] = module  # where dataclasses look for what their annotations name
    beside = _Beside(str(Path(file.path).resolve().parent), file.beside)
    sys.meta_path.insert(0, beside)
    try:
        with redirect_stdout(sys.stderr):
            exec(compile(file.text, file.path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise failed(error) from None
    return Executed(file.path, file.text, vars(module), beside)
