"""The patch beside the emitted tests turns those green that the insert-time guard is predicted to, and no other.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.sglang.comparison import engine

ROOT = Path(__file__).parents[3]
EMITTED = ROOT / "generated_tests" / "sglang"
PATCHED = "0.5.23"
PATCH = EMITTED / f"insert_guard-{PATCHED}.patch"

pytestmark = pytest.mark.skipif(
    engine.release() != PATCHED, reason=f"the patch is for {PATCHED}, this is {engine.release()}"
)


@pytest.fixture(scope="module")
def patched_engine(tmp_path_factory):
    """A tree of links to the installed engine, in which the patched file is a changed copy."""
    tree = tmp_path_factory.mktemp("patched")
    installed = Path(engine.sglang.__file__).parent
    shutil.copytree(
        installed,
        tree / "sglang",
        copy_function=os.symlink,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    changed = tree / PATCH.read_text().splitlines()[0].removeprefix("--- a/")
    original = changed.resolve()
    changed.unlink()
    shutil.copyfile(original, changed)
    subprocess.run(["git", "apply", "--unsafe-paths", f"--directory={tree}", PATCH], check=True)
    return tree


def test_with_the_patch_the_tests_are_as_predicted_for_the_guard(patched_engine):
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"),
        *("-p", "generators.emit.run.pytest_plugin", "--predictions", EMITTED / "manifest.json"),
        *("--source", patched_engine, "--subject", f"{PATCHED}+insert-guard", EMITTED),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
