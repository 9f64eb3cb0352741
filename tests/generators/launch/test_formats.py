"""Launch commands found in files of every format: their words, lines and places."""

import re
from pathlib import Path

import pytest

from generators.launch import formats
from generators.launch.commands import launches
from generators.launch.formats import Command, Problem
from generators.launch.launch import read_words
from generators.launch.words import TEMPLATE

WANTED = ["sglang", "serve", "--page-size", "64", "--dcp-size", "8"]
SHELL = "sglang serve --page-size 64 --dcp-size 8"


def found(name, text):
    items = list(formats.items(name, text, Path(name)))
    for item in items:
        for word in item.words if isinstance(item, Command) else ():
            if word.span is not None:
                raw = re.sub(r"['\"]", "", text[slice(*word.span)])
                assert TEMPLATE in word.text or word.text in raw, (word, raw)
    return items


def texts(item):
    return [word.text for word in item.words]


FILES = {
    "a.sh": f"#!/bin/sh\n# it's {SHELL}1\n{SHELL} > log 2>&1 &\n",
    "continued.sh": "X=1 exec sglang serve \\\n  --page-size 64 \\\n  --dcp-size 8\n",
    "quoted.sh": 'echo \'a b\' "c\nd"; sglang serve "--page-size" \'64\' --dcp-size "8"\n',
    "Dockerfile": 'FROM x\nRUN y\nCMD ["sglang", "serve", \\\n# why\n  "--page-size", "64", "--dcp-size", "8"]\n',
    "a.dockerfile": 'FROM x\nENTRYPOINT ["sglang", "serve"]\nCMD ["--page-size", "64", "--dcp-size", "8"]\n',
    "Dockerfile.shell": f"FROM x\nENTRYPOINT {SHELL}\n",
    "k8s.yaml": "c:\n- command: [sglang, serve]\n  args:\n  - --page-size\n  - 64\n  - --dcp-size\n  - '8'\n",
    "compose.yml": "services:\n  s:\n    command: >\n      sglang serve --page-size 64\n      --dcp-size 8\n",
    "texts.yml": "s:\n  entrypoint: sglang serve\n  command: --page-size 64\n    --dcp-size 8\n",
    "lines.yml": "s:\n  entrypoint: [sglang, serve]\n  command: |\n    --page-size 64\n    --dcp-size 8\n",
    "ci.yaml": f"run: |\n  cd x\n  {SHELL}\n",
    "quoted.yaml": f'command: ["bash", "-c", "cd x && {SHELL}"]\n',
    "d.json": '{"args": ["sglang", "serve", "--page-size", "64", "--dcp-size", "8"]}',
    "a.py": 'run(["sglang", "serve", "--page-size", str(64), "--dcp-size", "8"])\n',
    "call.py": 'popen("sglang", "serve", "--page-size", "64", "--dcp-size", "8")\n',
    "text.py": f'"""It\'s so:\n    {SHELL}\n"""\n',
    "a.md": f"It's\n\n```bash\n$ {SHELL}\n```\n",
    "listed.md": f"- x\n  ```\n  {SHELL}\n  ```\n",
    "python.md": '```python\nrun(["sglang", "serve", "--page-size", "64", "--dcp-size", "8"])\n```\n',
}


LINES = {
    **{"a.sh": 3, "quoted.sh": 2, "Dockerfile": 3, "a.dockerfile": 2, "Dockerfile.shell": 2},
    **{
        "k8s.yaml": 2,
        "compose.yml": 4,
        "texts.yml": 2,
        "lines.yml": 2,
        "ci.yaml": 3,
        "a.md": 4,
        "listed.md": 3,
        "python.md": 2,
    },
    "text.py": 2,
}


@pytest.mark.parametrize("name", FILES)
def test_each_format_gives_the_words_of_the_launch(name):
    (command,) = (item for item in found(name, FILES[name]) if isinstance(item, Command))
    ((engine, words),) = launches(command.words)
    assert engine == "sglang"
    assert texts(Command("", 0, tuple(words)))[:6] == WANTED
    assert words[0].line == LINES.get(name, 1)


FLAGS_ONLY = {
    "a.flags": "# x\n--page-size 64\n--dcp-size=8\n",
    "server.txt": "--page-size 64 --dcp-size=8\n",
    "args.py": 'other_args=["--page-size", "64", "--dcp-size", "8", "--tp-size", "8"]\n',
    "Dockerfile": 'FROM lmsysorg/sglang\nCMD ["--page-size", "64", "--dcp-size", "8"]\n',
    "args.yaml": "args:\n  - --page-size\n  - '64'\n  - --dcp-size=8\n",
    "config.yaml": "page-size: 64\ndcp_size: 8\ntrust-remote-code: true\n",
    "map.yaml": "data:\n  worker.yaml: |-\n    model-path: x\n    page_size: 64\n    dcp-size: 8\n  other: 1\n",
    "start.log": "[x] server_args=ServerArgs(model_path='m', page_size=64, dcp_size=8, tp_size=8)\n",
}


@pytest.mark.parametrize("name", FLAGS_ONLY)
def test_flags_alone_are_those_of_the_engine_that_has_them(name):
    (item,) = found(name, FLAGS_ONLY[name])
    assert item.engine == "sglang"
    launch = read_words(item.engine, item.words, resolved=item.resolved)
    assert (launch.configuration.page_size, launch.configuration.dcp_size) == (64, 8)
    assert launch.sources["page_size"] == ("log" if name == "start.log" else "flag")


@pytest.mark.parametrize(
    "text",
    [
        "echo sglang serve --page-size 64",
        "# sglang serve --page-size 64",
        "other_args = ['--page-limit', '64']",
        "pip install sglang==0.5.18",
        "FLAGS = ('--page-size', '--dcp-size')",
        "FLAGS = ('--page-size',)",
        "CASE = ('--page-size 64 --dcp-size 8', 'unsafe')",
        "case: {page_size: 64, dcp_size: 8}",
    ],
)
@pytest.mark.parametrize("name", ["a.sh", "a.py", "a.yaml", "a.md"])
def test_what_starts_no_engine_gives_nothing(name, text):
    assert [i for i in found(name, text) if isinstance(i, Command)] == []


def test_a_template_is_a_hole_and_the_rest_is_read():
    text = (
        "args:\n- sglang\n- serve\n- --dcp-size\n- {{ .Values.dcp }}\n{{- if .Values.page }}\n"
        "- --page-size={{ .Values.page }}\n{{- end }}\n- --tp-size\n- 8\n"
    )
    (item,) = found("chart.yaml", text)
    assert [w.is_unresolved for w in item.words] == [False] * 3 + [True, True, False, False]


def test_a_template_may_go_on_over_several_lines():
    text = (
        '{{- /*\nmade: by hand\n*/ -}}\ncommand:\n- sglang\n- serve\n{{- with (dict\n  "a" 1\n) }}\n'
        "- --page-size=64\n{{- end }}\n- --dcp-size=8\n"
    )
    (item,) = found("chart.yaml", text)
    assert texts(item) == ["sglang", "serve", "--page-size=64", "--dcp-size=8"]
    assert item.line == 5


@pytest.mark.parametrize(
    "text",
    [
        f"image: x/sglang:v0.5.18\ncommand: {SHELL}\n",
        f"image: x/sglang:v0.5.18\ncommand: [bash, -c]\nargs:\n- |\n  cd x\n  {SHELL}\n",
        "image: x/sglang:v0.5.18\ncommand: [sglang, serve, --page-size, '64']\n",
        "image: x/sglang:v0.5.18\nentrypoint: sglang serve\ncommand: --page-size 64\n",
        "image: {repository: x/sglang, tag: v0.5.18}\nextraArgs: [--page-size, '64']\n",
        f"c:\n- image: x/sglang:v0.5.18\n  run: {{command: '{SHELL}'}}\n- image: other\n",
    ],
)
def test_a_command_is_known_by_the_image_it_stands_beside(text):
    (item,) = found("a.yaml", text)
    assert item.image == "x/sglang:v0.5.18"


def test_where_a_redirection_leads_is_no_word_of_the_command():
    for target in ('> "$LOG" 2>&1', ">>$LOG 2>&-", "< x", "2> $LOG", "&> $LOG", ">&2 | tee $LOG"):
        item, *_ = found("a.sh", f"{SHELL} {target}\n")
        assert texts(item) == WANTED, target
    (item,) = found("a.sh", "sglang serve > $LOG --page-size 64 --dcp-size 8\n")
    assert texts(item) == WANTED


def test_a_word_may_hold_a_hash_and_a_comment_ends_a_command():
    (item,) = found("a.sh", "sglang serve --api-key 'a'#b --page-size 64 #--dcp-size 8\n")
    assert texts(item) == ["sglang", "serve", "--api-key", "a#b", "--page-size", "64"]


def test_behind_an_unclosed_quote_the_next_lines_are_read():
    text = f"sglang serve --model 'x\n{SHELL}\n"
    problem, command = found("a.sh", text)
    assert isinstance(problem, Problem) and problem.line == 1 and "never closed" in problem.message
    assert texts(command) == WANTED and command.line == 2


def test_an_unclosed_quote_where_no_engine_is_started_is_nobodys_business():
    assert texts(*found("a.sh", f"echo it's\n{SHELL}\n")) == WANTED


def test_an_anchor_is_read_once_however_often_it_is_named():
    bomb = "a: &a [sglang, serve, --page-size, '64']\n"
    for name, before in zip("bcdefghij", "abcdefghi", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    assert len(found("bomb.yaml", bomb)) == 1


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", "sglang: [\n", "not valid YAML"),
        ("a.yaml", "sglang: " + "[" * 100_000, "nested too deeply"),
        ("a.yaml", "sglang:\n" + "- " * 100_000, "nested too deeply"),
        ("a.json", '{"sglang": ' * 5000, "nested too deeply"),
        ("a.py", "sglang = (", "not valid Python"),
        ("a.py", "sglang = " + "(" * 5000 + ")" * 5000, "not valid Python"),
        ("Dockerfile", 'FROM x\nCMD ["sglang", serve]\n', "neither a JSON list"),
        ("Dockerfile", 'FROM x\nCMD ["sglang", 1]\n', "not a list of texts"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_place(name, text, said):
    problems = [item for item in found(name, text) if isinstance(item, Problem)]
    assert [said in p.message for p in problems] == [True], problems


@pytest.mark.parametrize(
    "text",
    [
        "sglang " + "$(" * 60_000,
        "sglang '" * 60_000,
        'sglang "\n' * 60_000,
        "`sglang\n" * 60_000,
        "sglang serve " * 60_000,
        "sglang {{" * 60_000,
        "sglang <a " * 60_000,
    ],
)
def test_what_is_never_closed_is_given_up_after_a_while(text):
    assert len(found("a.sh", text)) <= 21


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "sglang " + "[" * 200_000),
        ("a.md", "> " * 50_000 + "sglang"),
        ("a.md", "```\n" * 50_000 + "sglang"),
        ("Dockerfile", "FROM sglang\nCMD " + "\\\n" * 50_000),
        ("Dockerfile", "FROM sglang\nCMD " + "\\ " * 100_000),
        ("a.log", "server_args=ServerArgs(" + "a" * 200_000 + "=" * 200_000),
        ("a.yaml", "sglang: " + "&a " * 50_000),
        ("a.yaml", "sglang: {" + "a: {" * 50 + "[" * 20),
        ("a.py", "sglang = [" + "-" * 90_000 + "1]"),
    ],
)
def test_texts_made_to_be_slow_come_to_an_end(name, text):
    assert all(isinstance(item, Problem) for item in found(name, text))


def test_python_ends_lines_at_lone_returns_too():
    (item,) = found("a.py", "x = 1\rrun(['sglang', 'serve',\r '--page-size', '64'])\n")
    assert texts(item) == WANTED[:4]


def test_warnings_of_python_about_a_file_are_not_shown(recwarn):
    assert found("a.py", "x = '\\d' # sglang\n") == [] and not recwarn.list


def test_the_format_of_a_text_without_a_name_is_seen_by_its_looks():
    def named(text):
        return formats.format_of(Path(), text).name

    assert named("FROM x\nCMD y\n") == "Dockerfile"
    assert named("apiVersion: v1\nkind: Pod\n") == "YAML"
    assert named("# x\n\n```\ny\n```\n") == "Markdown"
    assert named("import os\n") == "Python"
    assert named("--page-size 64\n") == "flags"
    assert named("x server_args=ServerArgs(page_size=1)\n") == "start-up log"
    assert named("sglang serve\n") == "shell"
