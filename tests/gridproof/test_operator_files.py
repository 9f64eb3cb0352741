"""Files as operators write them: how many launches are found, at which lines, with which values; what is no launch."""

import json

import pytest

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct"
START = f"python3 -m sglang.launch_server --model-path {QWEN}"
# Name and text of a file, and of each launch its line, its verdict where the shape decides it, and values that must be read.
FILES = {
    "an array over several lines": (
        "a.sh",
        f"ARGS=(\n  --model-path {QWEN}   # the model\n  --page-size 64\n  --speculative-algorithm NEXTN\n"
        '  --speculative-num-draft-tokens 4\n)\npython3 -m sglang.launch_server "${ARGS[@]}"\n',
        [(7, None, {"page_size": 64, "speculative_num_draft_tokens": 4})],
    ),
    "a model that is not hybrid": (
        "a.sh",
        "sglang serve --model-path MiniMaxAI/MiniMax-M2.1 --tp 8\n",
        [(1, "not_modelled", {})],
    ),
    "a comment in a fence": (
        "a.md",
        "# Use\n\n```python\n  # ask sglang\nx = 1\n```\n\n```yaml\n# sglang: x: y\na: b: c\n```\n",
        [],
    ),
    "prose with an apostrophe": ("a.py", 'def f():\n    """Waits for sglang\'s reply."""\n', []),
    "prose with an apostrophe in YAML": ("a.yaml", "about: >\n  It doesn't use sglang yet.\n", []),
    "braces in braces": (
        "a.sh",
        f'D=${{D:-"${{HOME}}/d"}}\n{START} --page-size 64 --download-dir "$D"\n',
        [(2, None, {"page_size": 64})],
    ),
    "settings of several servers below the name of the engine": (
        "a.yaml",
        "image: lmsysorg/sglang:v0.5.21\nbackend:\n  sglang_config:\n    aggregated:\n"
        f"      model-path: {QWEN}\n      page-size: 64\n      mamba-track-interval: 128\n",
        [(5, None, {"page_size": 64, "mamba_track_interval": 128})],
    ),
    "settings with a list of many numbers": (
        "a.yaml",
        f"sglang_config:\n  decode:\n    model-path: {QWEN}\n    page-size: 64\n"
        f"    cuda-graph-bs: [{', '.join(map(str, range(1, 200)))}]\n",
        [(3, None, {"page_size": 64})],
    ),
    "a list that is extended": (
        "a.py",
        f'cmd = ["python", "-m", "sglang.launch_server", "--model-path", "{QWEN}"]\n'
        'cmd += ["--page-size", "64"]\ncmd.append("--mamba-track-interval")\ncmd.append("128")\nrun(cmd)\n',
        [(1, None, {"page_size": 64, "mamba_track_interval": 128})],
    ),
    "an engine in the same process": (
        "a.py",
        f'import sglang as sgl\nargs = dict(page_size=64)\ne = sgl.Engine(model_path="{QWEN}", **args)\n',
        [(3, None, {"page_size": 64})],
    ),
    "an engine of another library": (
        "a.py",
        "from other import Engine\nEngine(model_path='sglang')\n",
        [],
    ),
    "a cell of a notebook": (
        "a.ipynb",
        json.dumps(
            {
                "cells": [
                    {
                        "cell_type": "markdown",
                        "metadata": {},
                        "source": [
                            "Start:\n",
                            "```shell\n",
                            f"{START} \\\n",
                            "  --page-size 64\n",
                            "```",
                        ],
                    },
                    {"cell_type": "code", "source": f"!{START} --page-size 16 &"},
                ],
                "nbformat": 4,
            },
            indent=1,
        ),
        [(None, None, {"page_size": 64}), (None, None, {"page_size": 16})],
    ),
    "defaults of a compose file": (
        "compose.yaml",
        "services:\n  x:\n    image: lmsysorg/sglang:${TAG:-v0.5.21}\n    command: >\n      python3 -m sglang.launch_server\n"
        f"      --model-path ${{MODEL:-{QWEN}}}\n      --page-size ${{PAGE:-64}}\n",
        [(5, None, {"page_size": 64})],
    ),
    "commands for another shell": (
        "a.sh",
        f"tmux new -d -s x \"{START} --page-size 64\"\nssh h '{START} --page-size 16'\n",
        [(1, None, {"page_size": 64}), (2, None, {"page_size": 16})],
    ),
    "a table of a TOML file": (
        "a.toml",
        f'[serve]\ncommand = ["python", "-m", "sglang.launch_server", "--model-path", "{QWEN}", "--page-size", "64"]\n',
        [(2, None, {"page_size": 64})],
    ),
    "a model that a variable names": (
        "a.sh",
        "sglang serve --model-path $M\n",
        [(1, "not_modelled", {})],
    ),
    "flags that nobody can see": (
        "a.sh",
        f"{START} --page-size 64 $MORE\n",
        [(1, "not_modelled", {"page_size": 64})],
    ),
    "a command that grows": (
        "a.sh",
        f'CMD="{START}"\nCMD="$CMD --page-size 64"\nCMD+=" --tp 8"\neval "$CMD" > log 2>&1\n',
        [(1, None, {"page_size": 64})],
    ),
    "choices that decide nothing": (
        "a.sh",
        f"if [ -n \"$D\" ]; then MORE='--log-level debug'; else MORE=''; fi\n{START} --page-size 64 $MORE\n",
        [(2, "unsafe", {"page_size": 64})],
    ),
    "choices that decide": (
        "a.sh",
        f"MORE=''\nif [ -n \"$D\" ]; then MORE='--page-size 16'; fi\n{START} $MORE\n",
        [(3, "not_modelled", {})],
    ),
    "a function with arguments": (
        "a.sh",
        f'serve() {{\n  {START} --port $1 --page-size "$2" "${{@:3}}"\n}}\nserve 30000 64\n',
        [(2, None, {"page_size": 64})],
    ),
    "a loop over pages": (
        "a.sh",
        f"for p in 16 64; do\n  {START} --page-size $p\ndone\n",
        [(2, None, {"page_size": 16}), (2, None, {"page_size": 64})],
    ),
    "a script in a here-document": (
        "a.sh",
        f"P=64\nssh h <<EOF\n{START} --page-size $P\nEOF\n",
        [(3, None, {"page_size": 64})],
    ),
    "arguments of a Dockerfile": (
        "Dockerfile",
        f"ARG TAG=v0.5.21\nFROM lmsysorg/sglang:${{TAG}}\nENV PAGE=64\nCMD {START} --page-size $PAGE\n",
        [(4, None, {"page_size": 64})],
    ),
    "variables of a container": (
        "a.yaml",
        "spec:\n  containers:\n  - env:\n    - name: PAGE\n      value: '64'\n    command: [python3, -m, sglang.launch_server]\n"
        f"    args: [--model-path, {QWEN}, --page-size, $(PAGE)]\n",
        [(6, None, {"page_size": 64})],
    ),
    "a batch file": (
        "a.bat",
        f"set PAGE=64\npython -m sglang.launch_server ^\n  --model-path {QWEN} ^\n  --page-size %PAGE%\n",
        [(2, None, {"page_size": 64})],
    ),
    "PowerShell": (
        "a.ps1",
        f"python -m sglang.launch_server `\n  --model-path {QWEN} `\n  --page-size 64\n",
        [(1, None, {"page_size": 64})],
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_launch_is_read_as_it_stands(gridproof, tmp_path, kind):
    name, text, expected = FILES[kind]
    path = tmp_path / name
    path.write_text(text)
    run = gridproof("check", "--format", "json", str(path))
    if not expected:
        assert run.code == 3 and not run.out, run.out
        return
    found = json.loads(run.out)["configurations"]
    assert len(found) == len(expected), found
    for one, (line, verdict, values) in zip(found, expected, strict=True):
        assert line is None or one["line"] == line
        assert verdict is None or one["verdict"] == verdict
        assert {k: one["configuration"][k] for k in values} == values
        assert all(one["sources"][k] == "flag" for k in values)


@pytest.mark.parametrize("kind", [k for k, (_, text, _) in FILES.items() if "0.5.21" in text])
def test_the_release_is_that_of_the_image(gridproof, tmp_path, kind):
    name, text, _ = FILES[kind]
    (tmp_path / name).write_text(text)
    run = gridproof("check", "--format", "json", str(tmp_path / name))
    assert [c["engine"] for c in json.loads(run.out)["configurations"]] == ["sglang==0.5.21"]
