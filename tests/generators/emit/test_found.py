"""The page of faults found: every test that it names is in each tier and predicted to fail on just the releases named.

A list item `- fails on 0.5.18 to 0.5.23: ` and a table row, whose second column has the releases, name tests in code spans
as `file::test[run]`.
"""

import json
import re
from dataclasses import dataclass

import pytest

from generators.emit import manifest, write
from spec.sglang.releases import RELEASES

TEST = re.compile(r"`(test_\w+\.py::\w+\[[^\]`]+\])`")
RELEASE = r"\d+\.\d+\.\d+"
SPAN = re.compile(rf"(?:all\b|up to ({RELEASE})|({RELEASE})(?: to ({RELEASE}))?)")
FAILS_ON = "fails on "
SECTIONS = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10")


@dataclass(frozen=True)
class Named:
    """A test that the page names, the section it stands in, and the releases it is said to fail on."""

    section: str
    test: str
    releases: tuple[str, ...]


def releases(text):
    """The releases that a text begins with."""
    found = SPAN.match(text)
    assert found, f"names no releases: {text}"
    up_to, first, last = found.groups()
    first, last = first or RELEASES[0], last or first or up_to or RELEASES[-1]
    return RELEASES[RELEASES.index(first) : RELEASES.index(last) + 1]


def lines(text):
    """The lines of the page with the number of their section."""
    section = None
    for line in text.splitlines():
        if heading := re.match(r"## (\d+)?", line):
            section = heading[1]
        yield section, line


def named(text):
    """Every test that the page names."""
    for section, line in lines(text):
        tests = TEST.findall(line)
        if not tests:
            continue
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        told = line.partition(FAILS_ON)[2] or (cells[1] if cells else "")
        assert told, f"names no releases: {line}"
        yield from (Named(section, test, releases(told)) for test in tests)


def without_a_test(text):
    """Sections, and rows of the tables of known faults, that name no test; what was only read has none."""
    tested = {name.section for name in named(text)}
    yield from (section for section in SECTIONS if section not in tested)
    for section, line in lines(text):
        row = line.startswith("| ") and not line.startswith(("| what", "| ---"))
        if section in SECTIONS[8:] and row and not TEST.search(line):
            where = line.split("|")[-2].strip()
            if where != "read":
                yield line


def wrong(text, tests):
    """The names that are no test's, or of a test that fails on other releases than the page says."""
    for name in named(text):
        if name.test not in tests:
            yield f"{name.test} is no test"
            continue
        by_subject = tests[name.test].by_subject
        failing = tuple(r for r in RELEASES if by_subject[r]["outcome"] == "fails")
        if failing != name.releases:
            yield f"{name.test} fails on {failing}, not on {name.releases}"


@pytest.fixture(scope="module")
def page(request):
    return (request.config.rootpath / "docs" / "found.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def smallest():
    """The tests of the smallest tier, which the larger ones have as well, without any case."""
    return manifest.parse(json.loads(write.tests([], "sglang", "tiny")["manifest.json"])).tests


def test_every_fault_that_ran_names_a_test(page):
    assert list(without_a_test(page)) == []


def test_every_test_named_is_in_each_tier_and_fails_on_just_the_releases_named(page, smallest):
    assert list(wrong(page, smallest)) == []


def test_every_test_named_is_committed(page, request):
    path = request.config.rootpath / "generated_tests" / "sglang" / "manifest.json"
    assert {name.test for name in named(page)} <= set(manifest.read(path).tests)


def test_the_shortest_trace_of_the_defaults_is_played_on_the_real_loop(page, smallest):
    launch = "page64-dcp1-interval256-chunk64-extra-buffer"
    test = f"test_orders.py::test_a_follower_is_served_the_state_of_its_own_prefix[{launch}-prompt255-stop511]"
    assert Named("1", test, RELEASES[1:]) in set(named(page))
    assert smallest[test].by_subject["0.5.23"]["observed"] == {"node": 256, "state": 512}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fails on 0.5.18 to 0.5.23", "fails on 0.5.17 to 0.5.23"),
        ("fails on 0.5.18 to 0.5.23", "fails on 0.5.18 to 0.5.22"),
        ("-prompt255-stop511", "-prompt255-stop512"),
    ],
)
def test_a_wrong_name_or_release_is_noticed(page, smallest, old, new):
    assert old in page
    assert list(wrong(page.replace(old, new, 1), smallest))


def test_a_fault_without_a_test_is_noticed(page):
    assert list(without_a_test(re.sub(r"^- fails on .*test_nested.*$", "", page, flags=re.M))) == [
        "5"
    ]
    row = next(line for _, line in lines(page) if "test_windows.py::" in line)
    assert len(list(without_a_test(page.replace(row, TEST.sub("-", row))))) == 1
