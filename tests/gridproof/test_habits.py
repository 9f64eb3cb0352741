"""The pre-commit hook and the GitHub Action run `check` as they should."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

LAZY = "--mamba-radix-cache-strategy extra_buffer_lazy"
SAFE = f"sglang serve {LAZY} --page-size 1\n"
UNSAFE = f"sglang serve {LAZY} --page-size 64\n"


def test_the_hook_passes_what_is_safe_or_no_launch_and_stops_the_rest(gridproof, root, tmp_path):
    (hook,) = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    entry = shlex.split(hook["entry"])
    assert entry[0] == "gridproof" and hook["language"] == "python"
    for text, code in ((SAFE, 0), ("echo\n", 0), (UNSAFE, 1)):
        (tmp_path / "a.sh").write_text(text)
        assert gridproof(*entry[1:], str(tmp_path / "a.sh")).code == code


@pytest.mark.parametrize(("text", "code"), [(SAFE, 0), ("echo\n", 0), (UNSAFE, 1)])
def test_the_action_annotates_and_writes_sarif(root, tmp_path, text, code):
    action = yaml.safe_load((root / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    given = {
        "paths": "my file.sh\n\n",
        "engine": "sglang==0.5.23",
        "min-severity": "warning",
        "sarif": "o.sarif",
    }
    assert set(given) == set(action["inputs"])
    values = {f"${{{{ inputs.{name} }}}}": value for name, value in given.items()}
    (tmp_path / "my file.sh").write_text(text)
    tool = tmp_path / "bin" / "gridproof"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gridproof "$@"\n')
    tool.chmod(0o755)
    environment = {name: values[value] for name, value in step["env"].items()}
    environment |= {"PATH": f"{tool.parent}:{os.environ['PATH']}", "PYTHONPATH": str(root)}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("::") and ("file=my file.sh,line=1" in done.stdout) == bool(code)
    assert Path(tmp_path / "o.sarif").read_text().startswith("{")
