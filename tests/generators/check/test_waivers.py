"""Waivers excuse what they name, with a reason, where they stand; nothing else."""

import pytest

from generators.cases import codes as common
from generators.check.findings import Finding, Waived
from generators.check.waivers import applied, in_settings, in_text
from generators.common.errors import BadInput
from generators.sglang import codes


def finding(code=codes.SLOT_OVERWRITTEN, line=3, source="a.sh"):
    return Finding(code, code.severity, "sglang==0.5.23", "x", source, line)


def test_a_comment_excuses_its_code_at_the_launch_that_follows():
    waivers, wrong = in_text("a.sh", "# gridproof: waive GP401: lazily soon\n\nsglang serve\n")
    assert wrong == []
    places = {"a.sh": [(3, 4), (6, 6)]}
    first, second, other = applied(
        [finding(), finding(line=6), finding(codes.INERT)], waivers, places
    )
    assert first.waived == Waived("lazily soon", in_source=True)
    assert (second.waived, other.waived) == (None, None)


@pytest.mark.parametrize(
    "text", ["x <!-- gridproof: waive GP401: why -->", "// gridproof: waive GP401, GP002: why"]
)
def test_other_comments_and_several_codes(text):
    ((waiver,), _) = in_text("a.md", f"{text}\n")
    assert waiver.reason == "why" and "GP401" in waiver.codes


def test_a_waiver_that_is_quoted_in_prose_is_none():
    assert in_text("a.md", "write `# gridproof: waive GP401: why` above it\n") == ([], [])


def test_a_waiver_that_waives_nothing_is_a_finding():
    waivers, _ = in_text("a.sh", "# gridproof: waive GP401, GP101: why\n")
    *_, stale = applied([finding(line=1)], waivers, {"a.sh": [(1, 1)]})
    assert (stale.code, stale.line) == (common.STALE_WAIVER, 1) and "GP101" in stale.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# gridproof: waive GP401", "reason"),
        ("# gridproof: waive GP401:", "reason"),
        ("# gridproof: waive GP999: why", "GP999 is unknown"),
        ("# gridproof: waive GP4010: why", "GP4010 is unknown"),
        ("# gridproof: waive: why", "names the codes"),
        ("# gridproof: waive slots: why", "names the codes"),
    ],
)
def test_a_waiver_without_a_reason_or_of_no_known_code_is_refused(text, said):
    waivers, (wrong,) = in_text("a.sh", f"{text}\n")
    assert waivers == [] and wrong.code is common.MALFORMED and said in wrong.message


def test_a_waiver_may_name_its_code_in_small_letters():
    ((waiver,), wrong) = in_text("a.sh", "# gridproof: Waive gp401: why\n")
    assert waiver.codes == ("GP401",) and wrong == []


def test_settings_excuse_by_path():
    entries = [{"code": "GP401", "reason": "why", "path": "*.sh"}]
    marked = applied(
        [finding(), finding(source="b.yaml")],
        in_settings("pyproject.toml", entries),
        {"a.sh": [(3, 3)], "b.yaml": [(3, 3)]},
    )
    assert [f.waived for f in marked] == [Waived("why", in_source=False), None]
    assert applied([], in_settings("p", entries), {"b.yaml": [(3, 3)]}) == []
    assert len(applied([], in_settings("p", entries), {"a.sh": []})) == 1


@pytest.mark.parametrize(
    "entries",
    [
        "GP401",
        [{"code": "GP401"}],
        [{"code": "GP9", "reason": "x"}],
        [{"code": "GP401", "reason": " "}],
        [3],
    ],
)
def test_settings_of_another_shape_are_refused(entries):
    with pytest.raises(BadInput, match="waivers"):
        in_settings("pyproject.toml", entries)
