"""What stands beside the code: the workflows run the environments of tox, the tools are those that tox pins."""

import configparser
import re

import pytest
import yaml

from spec.sglang.releases import RELEASES
from tests.test_docs import environments


def tox(root):
    sections = configparser.ConfigParser(interpolation=None)
    sections.read(root / "tox.ini")
    return sections


def listed(root):
    """What a plain `tox` runs."""
    return [name.strip() for name in tox(root)["tox"]["env_list"].split(",")]


def workflow(root, name):
    return yaml.safe_load((root / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def test_the_workflow_of_a_change_runs_what_a_plain_tox_runs(root):
    matrix = workflow(root, "ci.yml")["jobs"]["tox"]["strategy"]["matrix"]["environments"]
    assert sorted(",".join(matrix).split(",")) == sorted(listed(root))


def test_the_workflow_of_the_night_runs_every_modelled_release(root):
    matrix = workflow(root, "nightly.yml")["jobs"]["releases"]["strategy"]["matrix"]
    assert tuple(matrix["release"]) == RELEASES


def test_the_environments_that_workflows_name_exist(root):
    known, named = set(environments(root)), []
    for path in (root / ".github" / "workflows").glob("*.yml"):
        for words in re.findall(r"tox -e ([\w.,-]+)(?!\S)", path.read_text(encoding="utf-8")):
            named += words.split(",")
    assert {"site", "package", "coverage", "search-plain"} <= set(named) <= known


@pytest.mark.parametrize("tool", ["ruff", "mypy"])
def test_pre_commit_and_tox_have_one_version_of_a_tool(root, tool):
    hooks = (root / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    pinned = re.findall(rf"\b{tool}==([\d.]+)", (root / "tox.ini").read_text(encoding="utf-8"))
    assert len(pinned) == 1
    assert set(re.findall(rf"\b{tool}==([\d.]+)", hooks)) == set(pinned)
    guide = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.findall(rf"\b{tool}==([\d.]+)", guide) == pinned


def test_the_issue_forms_ask_for_something(root):
    folder = root / ".github" / "ISSUE_TEMPLATE"
    forms = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.iterdir()
    }
    del forms["config"]
    assert set(forms) == {"wrong-verdict", "new-release", "engine-fault"}
    for form in forms.values():
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert form["name"] and form["description"]
        assert len({field["id"] for field in fields}) == len(fields) >= 3
        assert any(field.get("validations", {}).get("required") for field in fields)


def test_each_page_written_by_hand_is_in_the_index_and_in_the_side_bar(root):
    index = (root / "docs" / "index.md").read_text(encoding="utf-8")
    side_bar = (root / "docs" / "conf.py").read_text(encoding="utf-8")
    for page in (root / "docs").rglob("*.md"):
        name = page.relative_to(root / "docs").as_posix()
        if name != "index.md":
            assert f"]({name}" in index, name
            folder = name.rpartition("/")[0]
            named = (f'"docs/{name.removesuffix(".md")}"', f'"docs/{folder}/*"')
            assert any(one in side_bar for one in named), name
