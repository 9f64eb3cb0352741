"""Reading is linear: a text of twice the size takes about twice the work, which is counted, not timed."""

import json
import sys
from pathlib import Path

import pytest

from generators.check.sources import Found, LaunchReader
from generators.launch import formats
from generators.launch.commands import launches
from generators.launch.formats import Command

LAUNCH = "python3 -m sglang.launch_server --model-path x/y --page-size 64"
# Methods that pass over all characters of the text they belong to.
_WHOLE = ("decode", "encode", "replace", "split", "splitlines", "translate")


def work(action):
    """Calls of functions of Python and of C, and for each pass over a whole text a sixteenth of its characters."""
    count = 0

    def counted(_frame, event, called):
        nonlocal count
        if event in ("call", "c_call"):
            count += 1
        if event == "c_call" and called.__name__ in _WHOLE:
            owner = called.__self__
            count += len(owner) // 16 if isinstance(owner, (str, bytes)) else 0

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def read(name, text):
    found = list(formats.items(name, text, Path(name)))
    return [pair for item in found if isinstance(item, Command) for pair in launches(item.words)]


TEXTS = {
    "launches.sh": lambda n: f"{LAUNCH}\n" * n,
    "words.sh": lambda n: f"{LAUNCH}{' x' * 10 * n}\n",
    "words that are no ASCII.sh": lambda n: f"# é\n{LAUNCH}{' é' * 10 * n}\n",
    "lines that go on.sh": lambda n: LAUNCH + " \\\n  --x" * 10 * n,
    "an array that grows.sh": lambda n: f"A=({LAUNCH})\n" + "A+=(--x 1)\n" * n + '"${A[@]}"\n',
    "a case.sh": lambda n: "case $1 in\na)\n" + "echo x\n" * n + f"{LAUNCH};;\nesac\n",
    "a function.sh": lambda n: f"f() {{\n{LAUNCH} --port $1\n}}\n" + "f 1\n" * n,
    "launches.bat": lambda n: "python -m sglang.launch_server ^\n  --page-size 64\n" * n,
    "blocks.yaml": lambda n: f"- run: |\n    {LAUNCH}\n" * n,
    "texts.yaml": lambda n: f"- run: '{LAUNCH}'\n" * n,
    "lists.yaml": lambda n: f"- command: [{', '.join(LAUNCH.split())}]\n" * n,
    "fences.md": lambda n: f"Text\n\n```bash\n{LAUNCH}\n```\n\n" * n,
    "blocks.rst": lambda n: f".. code-block:: bash\n\n   {LAUNCH}\n\n" * n,
    "calls.py": lambda n: "import os\n" + f'os.system("{LAUNCH}")\n' * n,
    "a list that grows.py": lambda n: f"c = {LAUNCH.split()}\n" + 'c.append("--x")\n' * n,
    "one long line.py": lambda n: f"run({LAUNCH.split() + ['é'] * 10 * n})\n",
    "cells.ipynb": lambda n: json.dumps(
        {"cells": [{"cell_type": "code", "source": [f"!{LAUNCH}\n"]}] * n}, indent=1
    ),
    "tables.toml": lambda n: "".join(f"[a{i}]\ncommand = {LAUNCH.split()}\n" for i in range(n)),
    "Dockerfile": lambda n: "FROM x\n" + f"RUN {LAUNCH}\n" * n,
}


@pytest.mark.parametrize("name", TEXTS)
def test_twice_the_text_takes_about_twice_the_work(name):
    file = name if name == "Dockerfile" else "a" + Path(name).suffix
    once, twice = (TEXTS[name](n) for n in (60, 120))
    assert read(file, once), "nothing is found in it"
    assert work(lambda: read(file, twice)) < 2.4 * work(lambda: read(file, once))


def test_twice_the_files_of_a_folder_take_about_twice_the_work(tmp_path):
    def folder(count):
        path = tmp_path / str(count)
        path.mkdir()
        for i in range(count):
            (path / f"{i}.sh").write_text(f"{LAUNCH} --port {i}\n")
        return path

    def found(path):
        everything = Found()
        LaunchReader().of_paths([path], everything)
        return len(everything.targets)

    small, large = folder(20), folder(40)
    assert found(small) == 20
    assert work(lambda: found(large)) < 2.4 * work(lambda: found(small))


def test_each_file_of_a_folder_is_reported_while_it_is_read(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.sh").write_text(LAUNCH)
    seen = []
    LaunchReader().of_paths([tmp_path], Found(), lambda *step: seen.append(step))
    assert seen == [(str(tmp_path / "a.sh"), 0, 2), (str(tmp_path / "b.sh"), 1, 2)]
