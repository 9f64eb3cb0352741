"""What the documents say is true: their examples are run, their catalogues are those of the library."""

import re
import shlex

import pytest

from gridproof import catalogue
from spec.sglang.theorems import LIBRARY
from spec.smt.lemmas import LEMMAS
from tests.spec.mutants import EQUIVALENT, OF_ORDERS, OF_RULES

DOCUMENTS = ("README.md", "docs/search.md")
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def examples(root, documents=DOCUMENTS):
    for name in documents:
        for block in BLOCK.findall((root / name).read_text(encoding="utf-8")):
            command, *expected = block.strip().splitlines()
            yield shlex.split(command.removeprefix("$ gridproof ")), expected


def squeezed(text):
    return " ".join(text.split())


def test_the_examples_of_the_documents_are_true(gridproof, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").symlink_to(root / "recipes")
    count = 0
    for arguments, expected in examples(root):
        run = gridproof(*arguments)
        printed = [squeezed(line) for line in run.out.splitlines()]
        for line in expected[:-1]:
            assert line == "..." or squeezed(line) in printed, (arguments, line, run.out, run.err)
        assert expected[-1] == f"[exit {run.code}]", (arguments, run.err)
        count += 1
    assert count >= 6


@pytest.mark.parametrize("page", catalogue.PAGES)
def test_the_catalogues_are_those_of_the_library(root, page):
    assert (root / "docs" / page).read_text(encoding="utf-8") == catalogue.PAGES[page]()


def test_the_counts_of_mutants_and_theorems_are_those_there_are(root):
    refuted, equivalent, orders = len(OF_RULES), len(EQUIVALENT), len(OF_ORDERS)
    readme = squeezed((root / "README.md").read_text(encoding="utf-8"))
    assert (
        f"Of {refuted + equivalent} one-line mutants of the rules {refuted} are refuted by a theorem and {equivalent} "
        f"shown to be equivalent, and each of {orders} of the order of events is refuted by a named test"
        in readme
    )
    assert f"what each of the {len(list(LIBRARY))} theorems refutes alone" in readme
    theory = squeezed((root / "docs" / "theory.md").read_text(encoding="utf-8"))
    assert f"the {len(list(LIBRARY)) + len(LEMMAS)} proofs (" in theory


def test_every_link_of_the_documents_leads_somewhere(root):
    for document in [root / "README.md", root / "CHANGELOG.md", *(root / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_recipes_say_what_their_launch_command_resolves_to(root):
    from generators.domain import Domain, parse_axis, read_toml
    from generators.launch import read_launch

    for path in sorted((root / "recipes").glob("*.toml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        start = next(i for i, line in enumerate(lines) if "launch_server" in line)
        words = []
        for line in lines[start:]:
            if not line.startswith("#   "):
                break
            words += shlex.split(line[1:])
        configuration = read_launch(words).configuration
        given = read_toml(path)
        domain = Domain({name: parse_axis(name, value) for name, value in given.items()})
        for name in domain.axes:
            assert list(domain.axis(name)) == [getattr(configuration, name)], (path.name, name)
