"""What may be imported where, and what is not imported before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Each floor may use those before it.
FLOORS = ("spec", "generators", "gpu_checks", "gridproof")
MAY_USE = {
    "spec": {"spec"},
    "generators": {"spec", "generators"},
    "gpu_checks": {"spec", "gpu_checks"},
    "gridproof": set(FLOORS),
}
ONLY_IN = {
    "z3": "spec/smt",
    "cvc5": "spec/smt/cvc5_solver.py",
    # The drivers are copied beside the emitted tests and run on an engine.
    "torch": ("gpu_checks", "generators/sglang/emit/drivers"),
    "transformers": "gpu_checks/models",
    "jinja2": ("generators", "gridproof"),
}
ALLOWED_BESIDES = {"z3": {"spec/prove.py"}}


def sources():
    return sorted(p for floor in FLOORS for p in (ROOT / floor).rglob("*.py"))


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downwards(path):
    floor = path.relative_to(ROOT).parts[0]
    for module in imported(path):
        if (top := module.split(".")[0]) in FLOORS:
            assert top in MAY_USE[floor], f"{path} imports {module}, which stands above it"


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_packages_stay_in_their_room(path):
    place = path.relative_to(ROOT).as_posix()
    for module in imported(path):
        room = ONLY_IN.get(module.split(".")[0])
        if room and place not in ALLOWED_BESIDES.get(module.split(".")[0], ()):
            assert place.startswith(room), f"{place} imports {module}"


@pytest.mark.parametrize("path", sorted((ROOT / "spec").glob("*.py")), ids=lambda p: p.name)
def test_the_shared_part_of_spec_knows_no_engine(path):
    assert not [m for m in imported(path) if m.startswith("spec.sglang")]


def loaded_by(statement):
    code = f"import sys; {statement}; print(*sorted(m.split('.')[0] for m in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import spec.sglang.rules.extend, spec.sglang.releases, spec.sglang.checkpoints",
        "import gridproof.cli",
        "import generators.search.configurations, generators.check.verdict, generators.sglang.launch.resolve",
        "import generators.emit.write",
        "import gridproof.commands.replay, gpu_checks.choices, gpu_checks.__main__",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    assert not loaded_by(statement) & {"z3", "torch", "cvc5", "pytest", "hypothesis"}


def test_proving_needs_neither_torch_nor_cvc5():
    assert not loaded_by("import spec.prove, spec.sglang.theorems") & {"torch", "cvc5"}
