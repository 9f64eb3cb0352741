"""`gridproof explain`: every code with its examples, cases as text, as a drawing and as a page."""

import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from generators.cases.codes import codes
from generators.cases.file_format import Case, Event, read_cases
from generators.explain.timeline import timeline
from generators.sglang.explain.walkthrough import walked
from gridproof.reports.code_facts import example_of
from gridproof.reports.timeline_text import drawing

CASES = "generated_tests/cases/kimi-k3-b300-balanced.json"
CODES = codes()
WITHOUT_EXAMPLE = {"GP010", "GP014", "GP103", "GP104", "GP301", "GP404", "GP405"}


@pytest.mark.parametrize("name", CODES)
def test_the_example_of_a_code_has_the_finding_and_the_launch_beside_it_has_not(
    gridproof, name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    example = example_of(CODES[name])
    assert (example is None) == (name in WITHOUT_EXAMPLE)
    if example is None:
        return
    bad, good = (gridproof(*shlex.split(line)[1:]) for line in example)
    assert f" {name}: " in bad.out and f" {name}: " not in good.out
    severity = CODES[name].severity
    assert f"{severity} {name}: " in bad.out
    assert good.code in (0, 1) and not re.search(f"{name}", good.out)


@pytest.mark.parametrize("name", CODES)
def test_explain_gives_the_meaning_and_the_cost_of_every_code(gridproof, name):
    run = gridproof("explain", name.lower())
    assert run.code == 0 and CODES[name].means in run.out and "why it matters" in run.out


def test_a_code_that_is_not_known_gets_the_nearest(gridproof):
    run = gridproof("explain", "GP110")
    assert run.code == 2 and "did you mean GP1" in run.err


def test_a_case_is_explained_event_by_event_and_drawn(gridproof, root):
    run = gridproof(
        "explain", str(root / CASES), "--case", "decode-period2-page64-dcp8-interval256-chunk64"
    )
    lines = [" ".join(line.split()) for line in run.out.splitlines()]
    assert any(line.startswith("2 decode 768 - 768 - - 767 tokens are decoded") for line in lines)
    assert any(line.startswith("3 finish 768 - 768 512 256 ") for line in lines)
    assert any(line.startswith("replayed #") for line in lines)
    assert "GP201" not in run.out


def test_the_marks_of_the_drawing_stand_at_their_depths():
    case = Case(
        "x",
        "GP101",
        "misplaced",
        {"page_size": 16, "dcp_size": 4, "mamba_track_interval": 16},
        (
            Event("extend", 16, 16),
            Event("decode", 32, 48, 48),
            Event("finish", 0, 48, node_depth=0),
        ),
        {"state": 48, "node": 0, "replayed": 48},
        {},
    )
    rows = {line[2:12].strip(): line[12:77] for line in drawing(timeline(case, "sglang-0.5.18"))}
    assert rows["state"].index("S") == 48 and rows["node"].index("N") == 0
    assert rows["replayed"].rstrip() == "#" * 48
    assert rows["request"].rstrip() == "e" * 16 + "d" * 32
    assert [i for i, c in enumerate(rows["interval"]) if c == "^"] == [16, 32, 48, 64]


ORDERS = "generated_tests/cases/flags-that-meet-0.5.21.json"


def orders(root):
    files = sorted((root / "generated_tests/cases").glob("*.json"))
    found = [(case, file.design) for file in map(read_cases, files) for case in file.cases]
    told = [(case, design) for case, design in found if "cause" in case.klass]
    assert len(told) > 20
    return told


def test_every_committed_order_is_walked_to_the_depths_it_ends_with(root):
    for case, design in orders(root):
        standings = walked(case, design)
        assert standings is not None, case.id
        donated = standings[-1].donated
        assert (donated.state, donated.label >= case.depths["node"]) == (case.depths["state"], True)
        told = {event.snapshot_depth for event in case.trace} - {None}
        assert told <= {depth for standing in standings for _, depth in standing.written}


def test_an_overwritten_state_is_shown_with_the_slot_it_was_in(root):
    overwritten = [(case, design) for case, design in orders(root) if case.code == "GP401"]
    assert len(overwritten) >= 9
    for case, design in overwritten:
        standings = walked(case, design)
        donated = standings[-1].donated
        gone = [one for standing in standings for one in standing.overwritten]
        assert (donated.slot, donated.label) in gone and donated.state != donated.label


def test_an_order_that_ends_otherwise_in_the_model_is_shown_without_its_slots(root):
    case, design = next(found for found in orders(root) if found[0].code == "GP401")
    first, *others = case.trace
    far = replace(others[0], tokens=1 << 40, seq_len=1 << 40)
    assert walked(case, design) is not None and walked(case, "my-own") is None
    for other in (
        replace(case, depths={**case.depths, "state": 1}),
        replace(case, trace=(others[-1], *others, first)),
        replace(case, trace=(first, far, *others[1:])),
        replace(case, klass={"cause": 3}),
    ):
        assert walked(other, design) is None
        assert timeline(other, design).slots == ()


def test_an_order_is_shown_with_the_contents_of_each_slot(gridproof, root):
    name = "key-overshot-extra-buffer-overlap-speculative-grammar-page64-dcp1-interval64-chunk64"
    run = gridproof("explain", str(root / ORDERS), "--case", name)
    lines = [" ".join(line.split()) for line in run.out.splitlines()]
    assert any(line.startswith("1 extend 64 64 unwritten 64 - -") for line in lines)
    assert any(line.startswith("3 verify 128 unwritten 128 128 - -") for line in lines)
    assert any(line.startswith("4 result 65 unwritten 128 ") for line in lines)
    assert any(line.startswith("5 finish 65 unwritten 128 128 64 64 ") for line in lines)
    slot = "slot 1 is inserted with label 64; it holds the state after 128 tokens"
    assert slot in " ".join(lines)
    rows = {line[2:12].strip(): line[12:77] for line in run.out.splitlines() if line[:2] == "  "}
    assert (rows["slot 0"].index("S"), rows["slot 1"].index("S")) == (32, 64)
    assert rows["request"].rstrip() == "e" * 32 + "|" + "v" * 31


def test_the_page_of_an_order_has_a_row_a_slot_and_crosses_what_is_written_over(
    gridproof, root, tmp_path
):
    file = tmp_path / "t.html"
    assert gridproof("explain", str(root / ORDERS), "--html", str(file)).code == 0
    sections = file.read_text().split("<section")[1:]
    assert len(sections) == len(read_cases(root / ORDERS).cases)
    for section in sections:
        assert ">slot 0</text>" in section and ">slot 1</text>" in section
        assert section.count('class="end"') == section.count("<td>finish</td>")
        assert ('class="gone"' in section) == ("slot-overwritten" in section)


def test_skipped_tokens_and_slots_are_named():
    case = Case(
        "x",
        "GP401",
        "overwritten",
        {"page_size": 64},
        (
            Event("decode", 1, 256, 256, slot=0),
            Event("result", 0, 256, slot=0),
            Event("match", 0, 512, node_depth=512),
        ),
        {"state": 256, "node": 512, "replayed": -256},
        {},
    )
    told = timeline(case, "sglang-0.5.23")
    assert "slot 0" in told.steps[0].sentence and "256 tokens skipped" in told.steps[2].sentence


class Page(HTMLParser):
    """The tags of a page, and everything that would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.fetched = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [
            v for k, v in attrs if k in ("src", "href", "xlink:href", "data", "action")
        ]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_fetches_nothing(gridproof, root, tmp_path):
    file = tmp_path / "t.html"
    assert gridproof("explain", str(root / CASES), "--html", str(file)).code == 0
    text = file.read_text()
    page = Page()
    page.feed(text)
    assert page.open == [] and page.fetched == []
    assert page.tags.count("section") == page.tags.count("svg") == 3
    assert "url(" not in text and "@import" not in text and "256 replayed" in text
    assert text.count('data-step="1"') == 6


def test_nothing_that_is_given_is_markup_in_the_page(gridproof, root, tmp_path):
    named = tmp_path / "<script>alert.json"
    named.write_text((root / CASES).read_text())
    assert gridproof("explain", str(named), "--html", str(tmp_path / "t.html")).code == 0
    assert "<script>alert" not in (tmp_path / "t.html").read_text()


def test_bad_files_of_cases_are_refused(gridproof, tmp_path, root):
    (tmp_path / "x.json").write_text("{}")
    assert gridproof("explain", str(tmp_path / "x.json")).code == 2
    assert gridproof("explain", str(tmp_path / "none.json")).code == 2
    assert gridproof("explain", "GP101", "--html", str(tmp_path / "t.html")).code == 2
    assert gridproof("explain", str(root / CASES), "--case", "none").code == 2
    below_a_file = tmp_path / "x.json" / "t.html"
    assert gridproof("explain", str(root / CASES), "--html", str(below_a_file)).code == 2
