"""What the documents say is true: their examples are run, their catalogues are those of the library."""

import configparser
import dataclasses
import importlib.util
import inspect
import json
import re
import shlex
from pathlib import Path

import pytest

from generators.cases import codes
from generators.emit import write
from generators.engines import engine
from generators.sglang.search.public_reports import count, faults, unstated
from gridproof import cli, docs_pages
from spec.sglang.fault_frequency import Traffic
from spec.sglang.releases import RELEASES, Design
from spec.sglang.theorems import LIBRARY
from spec.smt import smtlib
from spec.smt.lemmas import LEMMAS
from tests.spec.sglang.mutants import EQUIVALENT, OF_ORDERS, OF_RULES

DOCUMENTS = ("README.md", "docs/search.md")
IN_THE_ROOT = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
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


@pytest.mark.parametrize("page", docs_pages.PAGES)
def test_the_catalogues_are_those_of_the_library(root, page):
    assert (root / "docs" / "reference" / page).read_text(encoding="utf-8") == docs_pages.PAGES[
        page
    ]()


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
    for document in [
        *root.glob("*.md"),
        *(root / "docs").rglob("*.md"),
        root / "benchmarks/README.md",
    ]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_recipes_say_what_their_launch_command_resolves_to(root):
    from generators.cases.domain import Domain, parse_axis, read_toml
    from generators.launch.launch import read_launch

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


FOLDERS = (
    *("spec", "generators", "gridproof", "gpu_checks", "tests", "generated_tests", "recipes"),
    *("docs", "benchmarks", "requirements", ".github", ".ci"),
)
# What reads like the name of a theorem or a test and is none: a function of the engine, the switches of a design.
OTHERS = {"finalize_match_result_in_cache", *(field.name for field in dataclasses.fields(Design))}


# Pages in which names of an engine stand: the engine's own tests look those up.
NAMES_OF_OTHERS = {*docs_pages.PAGES, "vocabulary.md"}


def texts(root):
    """The documents by name: those written by hand, and those written by `gridproof.docs_pages`."""
    pages = [*(root / name for name in IN_THE_ROOT), *sorted((root / "docs").rglob("*.md"))]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in pages}


def quoted(text):
    """What a document writes as code: between backticks, and the lines of its blocks."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    yield from (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", plain))
    for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
        yield from (line.removeprefix("$ ") for line in block.splitlines())
    yield from (line.strip() for line in plain.splitlines() if line.startswith("    "))


def test_the_paths_that_documents_name_exist(root):
    for name, text in texts(root).items():
        for path in quoted(text):
            if re.fullmatch(rf"({'|'.join(map(re.escape, FOLDERS))})/[\w./-]+", path):
                assert (root / path).exists(), f"{name}: {path}"
            elif re.fullmatch(r"(tox|[A-Z]+)\.(md|ini)", path):
                assert (root / path).is_file(), f"{name}: {path}"
            elif re.fullmatch(r"test_\w+\.py", path):
                assert (root / "generated_tests" / "sglang" / path).is_file(), f"{name}: {path}"


def test_the_theorems_tests_and_findings_that_documents_name_exist(root):
    tests = "".join(path.read_text(encoding="utf-8") for path in (root / "tests").rglob("*.py"))
    for name, text in texts(root).items():
        for word in () if Path(name).name in NAMES_OF_OTHERS else quoted(text):
            if re.fullmatch(r"[a-z]+(_[a-z0-9]+){4,}", word):
                ours = word in LIBRARY or f"def {word}(" in tests
                assert ours or word in OTHERS, f"{name}: {word}"
        for code in re.findall(r"\bGP\d{3}\b", text):
            assert code in codes.codes(), f"{name}: {code}"


def test_the_rules_that_a_design_file_may_give_are_listed_with_what_they_take(root):
    text = texts(root)["docs/search.md"]
    listed, given = {}, engine("sglang").search.design_rules
    for names, takes in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| `([^`]+)` \|", text, re.MULTILINE):
        listed |= dict.fromkeys(re.findall(r"\w+", names), takes)
    assert listed.pop("guard_NAME") == "c"
    own = {
        name: ", ".join(inspect.signature(rule).parameters) for name, rule in given.rules.items()
    }
    assert listed == own
    assert all(f"`{name}`" in text for name in given.switches)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_the_guides_name_many_files(root, name):
    """A page whose paths are no longer recognised would pass the test of paths."""
    paths = {p for p in quoted(texts(root)[name]) if p.partition("/")[0] in FOLDERS and "/" in p}
    assert len(paths) >= 20


def environments(root):
    """The names of the environments of tox."""
    sections = configparser.ConfigParser(interpolation=None)
    sections.read(root / "tox.ini")
    yield from (name.strip() for name in sections["tox"]["env_list"].split(","))
    for section in sections.sections():
        name = section.removeprefix("testenv:")
        before, brace, inside = name.partition("{")
        alternatives = inside.rstrip("}").split(",") if brace else [""]
        yield from (before + one for one in alternatives)


def test_the_commands_that_documents_name_exist(root):
    tox = set(environments(root))
    for name, text in texts(root).items():
        for line in quoted(text):
            for environment in re.findall(r"\btox -e ([\w.-]+)", line):
                assert environment in tox, f"{name}: {line}"
            for module in re.findall(r"^python -m ([\w.]+)", line):
                assert importlib.util.find_spec(module), f"{name}: {line}"
            if line.startswith("gridproof ") and "--help" not in line:
                verb, *words = line.split()[1:]
                assert verb in cli.main.commands, f"{name}: {line}"
                known = {o for p in cli.main.commands[verb].params for o in p.opts}
                words = words[: words.index("--")] if "--" in words else words
                for option in (word for word in words if word.startswith("--")):
                    assert option.split("=")[0] in known, f"{name}: {line}: {option}"


def test_the_readme_names_the_releases_that_are_modelled_and_those_that_tox_runs(root):
    text = texts(root)["README.md"]
    assert f"Modelled: SGLang {RELEASES[0]} to {RELEASES[-1]} " in text
    sections = configparser.ConfigParser(interpolation=None)
    sections.read(root / "tox.ini")
    listed = re.findall(r"sglang-([\d.]+)", sections["tox"]["env_list"])
    assert f"SGLang {', '.join(listed[:-1])} and {listed[-1]} wheels" in text


def test_the_readme_has_the_exit_codes_of_the_help(root, gridproof):
    readme = (
        texts(root)["README.md"]
        .replace("`", "")
        .replace("none exists in the domain", "none exists")
    )
    codes_of_readme = re.findall(r"^\| (\d+) \| (.+) \|$", readme, re.MULTILINE)
    assert codes_of_readme == re.findall(
        r"^    (\d+)\s+(.+)$", gridproof("--help").out, re.MULTILINE
    )
    assert len(codes_of_readme) == 8


def test_the_readme_says_about_how_many_tests_a_tier_has(root):
    readme = squeezed(texts(root)["README.md"])
    said = re.search(r"\(about (\d+) tests.*?\(about (\d+), .*?\(about ([\d,]+), ", readme).groups()
    for about, tier in zip(said, ("tiny", "small", "standard"), strict=True):
        exactly = len(json.loads(write.tests([], "sglang", tier)["manifest.json"])["tests"])
        assert int(about.replace(",", "")) == pytest.approx(exactly, rel=0.1)


def test_the_readme_counts_the_reports_as_the_catalogue_does(root):
    text = squeezed(texts(root)["README.md"])
    mechanisms = count(fault for fault in faults() if fault.cause is None)
    outcomes = count(fault for fault in faults() if fault.cause is not None)
    link = (
        f"{mechanisms} public reports whose mechanism it finds again, and {outcomes} whose outcome"
    )
    assert f"[{link}](docs/reference/public-reports.md)" in text
    total = mechanisms + outcomes + count(unstated())
    assert (
        f"Of {total} reports the mechanism of {mechanisms} "
        in texts(root)["docs/reference/public-reports.md"]
    )


def test_the_lemmas_are_as_many_as_the_theory_says(root):
    text = squeezed(texts(root)["docs/theory.md"])
    nonlinear = sum("QF_NIA" in smtlib.text(lemma.query()) for lemma in LEMMAS.values())
    assert f"**Lemmas.** {len(LEMMAS)} facts " in text
    assert f"{nonlinear} are nonlinear" in text


def sections_of(text):
    """The sections of `docs/found.md` by number."""
    return {
        int(number): body
        for number, body in re.findall(r"^## (\d+)\.(.*?)(?=^## |\Z)", text, re.M | re.DOTALL)
    }


def test_how_often_the_first_fault_strikes_is_computed(root):
    text = squeezed(sections_of(texts(root)["docs/found.md"])[1])
    figures = re.findall(r"1 in ([\d,]+)(?: leaves such a state, where| at) (\d+) %", text)
    assert len(figures) == 3
    for figure, share in figures:
        assert figure == f"{Traffic(256, 600, int(share) / 100).one_in:,.0f}"
    assert f"1 in {figures[0][0]} of the requests" in codes.code_named("GP401").why


def test_each_fault_of_the_newest_release_has_what_was_looked_for_upstream(root):
    sections = sections_of(texts(root)["docs/found.md"])
    for number in range(1, 9):
        (upstream,) = re.findall(r"^Upstream(.*?)(?=\n\n)", sections[number], re.M | re.DOTALL)
        assert "Looked for: " in upstream
        assert re.search(r"[Nn]o(ne| report).* found", squeezed(upstream)), number


def test_a_finding_credits_no_change_that_was_reverted():
    reverted = "31369"  # by 31622
    links = [link for code in codes.codes().values() for link in code.upstream]
    assert links and not [link for link in links if link.rpartition("/")[2] == reverted]
