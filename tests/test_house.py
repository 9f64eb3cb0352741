"""The house: which room may import which, and that only an engine's own folders know the engine."""

import ast
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from spec.engine import PACKAGES, engine

ROOT = Path(__file__).parents[1]
FLOORS = ("spec", "generators", "gpu_checks", "gridproof")
# The jobs of `generators` and `engines.py`, from the ground up: each may import those that it names.
MAY_IMPORT = {
    "common": set(),
    "schemas": set(),
    "engines": {"common"},
    "cases": {"common", "engines", "schemas"},
    "launch": {"common", "engines", "cases"},
    "search": {"common", "engines", "cases", "launch"},
    "check": {"common", "engines", "cases", "launch", "search"},
    "emit": {"common", "engines", "cases", "search", "schemas"},
    "explain": {"common", "engines", "cases", "search"},
}
# The registry is where the engines' names stand.
REGISTRY = "spec/engine.py"
# Real model classes, whose configurations have names of their own.
OF_MODELS = "gpu_checks/models"


def sources(*folders: str) -> list[Path]:
    """The Python files below these folders, or one floor's."""
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


def place(path: Path) -> str:
    """A file's path from the project's folder."""
    return path.relative_to(ROOT).as_posix()


def engine_named_in(path: Path) -> str | None:
    """The engine whose name a folder above the file bears."""
    return next((part for part in path.relative_to(ROOT).parts[:-1] if part in PACKAGES), None)


def above_the_seam() -> list[Path]:
    """The files that stand for every engine."""
    return [p for p in sources(*FLOORS) if engine_named_in(p) is None and place(p) != REGISTRY]


def is_type_checking(node: ast.AST) -> bool:
    """Whether it is an `if TYPE_CHECKING:`, whose imports are for types alone."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that run, those for types alone left out."""
    for child in ast.iter_child_nodes(node):
        if not is_type_checking(child):
            yield child
            yield from running(child)


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, as `package.module` where a module is imported from its package."""
    for node in running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(module: str) -> str | None:
    """The room of `generators` that a module lies in."""
    parts = module.split(".")
    return parts[1] if parts[0] == "generators" and len(parts) > 1 else None


def arrows() -> dict[tuple[str, str], set[str]]:
    """Which room imports which, with the files that do."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in sources("generators"):
        here = path.relative_to(ROOT).with_suffix("").parts[1]
        for module in imported(path):
            there = room(module)
            if (
                there not in (None, here)
                and (ROOT / "generators").joinpath(there).exists()
                | (ROOT / f"generators/{there}.py").exists()
            ):
                found.setdefault((here, there), set()).add(place(path))
    return found


def test_the_jobs_import_one_another_in_one_direction():
    jobs = {pair: files for pair, files in arrows().items() if not set(pair) & set(PACKAGES)}
    wrong = {
        f"{here} imports {there}": sorted(files)
        for (here, there), files in jobs.items()
        if here != "__init__" and there not in MAY_IMPORT.get(here, set())
    }
    assert not wrong


def test_every_job_has_its_place_in_the_order():
    jobs = {p.stem for p in (ROOT / "generators").iterdir() if p.is_dir() or p.suffix == ".py"}
    assert jobs - set(PACKAGES) - {"__init__", "__pycache__"} == set(MAY_IMPORT)


def test_the_order_of_the_jobs_has_no_circle():
    for here, there in combinations(MAY_IMPORT, 2):
        assert there not in MAY_IMPORT[here], f"{here} stands before {there}"


@pytest.mark.parametrize("path", above_the_seam(), ids=place)
def test_nothing_outside_an_engines_folders_imports_the_engine(path):
    for module in imported(path):
        parts = module.split(".")
        if parts[0] in FLOORS:
            assert not set(parts) & set(PACKAGES), f"{place(path)} imports {module}"


@pytest.mark.parametrize(
    "path", [p for p in sources(*FLOORS) if engine_named_in(p) is not None], ids=place
)
def test_no_engine_imports_another(path):
    others = set(PACKAGES) - {engine_named_in(path)}
    for module in imported(path):
        assert not others & set(module.split(".")), f"{place(path)} imports {module}"


def docstrings(tree: ast.AST) -> set[int]:
    """The nodes of a tree that are docstrings, by identity."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr):
            found.add(id(node.body[0].value))
    return found


def spelled(path: Path) -> Iterator[tuple[int, str]]:
    """Every name and text that a file's code spells, with its line; docstrings and comments apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    aside = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.value.lineno, node.arg


def words_of(name: str) -> re.Pattern[str]:
    """What gives an engine away: its name, its fields and their flags, its finding codes."""
    fields = [f for f in engine(name).field_names if "_" in f]
    flags = ["--" + f.replace("_", "-") for f in fields]
    numbers = r"\bGP[1-9]\d\d\b"
    return re.compile(
        "|".join([rf"(?<!\w){name}", numbers, *(rf"(?<!\w){w}\b" for w in (*fields, *flags))])
    )


@pytest.mark.parametrize(
    "path", [p for p in above_the_seam() if not place(p).startswith(OF_MODELS)], ids=place
)
@pytest.mark.parametrize("name", PACKAGES)
def test_nothing_outside_an_engines_folders_spells_what_is_the_engines(name, path):
    pattern = words_of(name)
    found = {f"line {line}: {text[:60]!r}" for line, text in spelled(path) if pattern.search(text)}
    assert not found, f"{place(path)}: {'; '.join(sorted(found))}"
