"""Each release is what it changes against the one before it, and the page on adding one names files that exist."""

import re
from dataclasses import fields

import pytest

from spec.engine import design_named
from spec.sglang.engine import ENGINE
from spec.sglang.proposals import PROPOSALS
from spec.sglang.releases import CHANGES, CURRENT, DESIGNS, OLDEST, RELEASES, Design

BEFORE = dict(zip(RELEASES[1:], RELEASES, strict=False))
CHANGED = [(release, one) for release, changes in CHANGES.items() for one in changes]


def released(release):
    return DESIGNS[f"sglang-{release}"]


def test_the_releases_follow_each_other_from_the_oldest_to_the_newest():
    numbers = [tuple(map(int, release.split("."))) for release in RELEASES]
    assert numbers == sorted(numbers)
    assert released(RELEASES[0]) is OLDEST and released(RELEASES[-1]) is CURRENT
    assert ENGINE.releases == RELEASES and ENGINE.released(RELEASES[0]) is OLDEST


@pytest.mark.parametrize(
    ("release", "change"), [pytest.param(r, c, id=f"{r}: {c.effect}") for r, c in CHANGED]
)
def test_a_change_gives_fields_another_value_than_the_release_before(release, change):
    assert change.effect and change.source and change.fields
    for name, value in change.fields.items():
        assert getattr(released(release), name) == value
        assert getattr(released(BEFORE[release]), name) != value


@pytest.mark.parametrize(("release", "before"), list(BEFORE.items()))
def test_what_no_change_names_stays_as_it_was(release, before):
    named = [name for change in CHANGES[release] for name in change.fields]
    assert len(named) == len(set(named))
    for field in fields(Design):
        if field.name not in {"name", "release", *named}:
            assert getattr(released(release), field.name) == getattr(released(before), field.name)


@pytest.mark.parametrize("proposal", PROPOSALS)
@pytest.mark.parametrize("release", RELEASES)
def test_a_proposal_changes_its_own_field_of_any_release(release, proposal):
    base, proposed = released(release), design_named(f"sglang-{release}+{proposal}")
    changed = [f.name for f in fields(Design) if getattr(base, f.name) != getattr(proposed, f.name)]
    assert changed[0] == "name" and len(changed) == 2
    assert proposed.release == release


def test_the_page_on_adding_a_release_names_files_that_exist(root):
    text = (root / "docs" / "adding-a-release.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+)`|\]\(([\w./-]+)\)", text)
    paths = [path or f"docs/{linked}" for path, linked in named]
    files = [path for path in paths if "/" in path or path.endswith((".ini", ".py"))]
    assert len(files) > 15
    assert [path for path in files if not (root / path).exists()] == []
    assert "spec/sglang/releases.py" in files


def test_the_page_on_adding_a_release_names_modules_that_can_be_run(root):
    text = (root / "docs" / "adding-a-release.md").read_text(encoding="utf-8")
    modules = re.findall(r"python -m ([\w.]+)", text)
    assert modules
    for module in modules:
        path = root / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
