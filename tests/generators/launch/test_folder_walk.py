"""Folders are walked as git sees them, and the release beside a file is found."""

import json

import pytest

from generators.launch import pinned_release
from generators.launch.folder_walk import files_below


def names(folder):
    return [path.relative_to(folder).as_posix() for path in files_below(folder)]


def test_what_gitignore_names_is_left_out_and_the_deepest_file_has_the_last_word(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/x.sh").write_text("")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n/top.sh\n")
    (tmp_path / "a/build").mkdir(parents=True)
    (tmp_path / "a/.gitignore").write_text("!kept.log\n")
    for name in (
        "top.sh",
        "x.log",
        "a/top.sh",
        "a/kept.log",
        "a/build/x.sh",
        "a/x.bin",
        "a/z.yaml",
    ):
        (tmp_path / name).write_text("")
    assert names(tmp_path) == ["a/kept.log", "a/top.sh", "a/z.yaml"]
    assert names(tmp_path / "a") == ["kept.log", "top.sh", "z.yaml"]


def test_a_loop_of_links_is_not_entered(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").symlink_to(tmp_path)
    (tmp_path / "a/self.sh").symlink_to(tmp_path / "a/self.sh")
    (tmp_path / "a/x.sh").write_text("")
    assert names(tmp_path) == ["a/x.sh"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "# x\ntorch\nsglang[all]==0.5.18 ; python_version > '3'\n"),
        ("requirements-gpu.txt", "sglang == 0.5.18\n"),
        ("uv.lock", '[[package]]\nname = "sglang"\nversion = "0.5.18"\n'),
        (
            "poetry.lock",
            '[[package]]\nname = "x"\n[[package]]\nname = "sglang"\nversion = "0.5.18"\n',
        ),
        ("pylock.toml", '[[packages]]\nname = "sglang"\nversion = "0.5.18"\n'),
        ("Pipfile.lock", json.dumps({"default": {"sglang": {"version": "==0.5.18"}}})),
        ("pyproject.toml", '[project]\ndependencies = ["x", "sglang==0.5.18"]\n'),
    ],
)
def test_the_release_that_a_file_beside_it_pins(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    found = pinned_release.beside("sglang", tmp_path)
    assert (found.release, found.where) == ("0.5.18", name)


@pytest.mark.parametrize(
    "text", ["sglang>=0.5.18\n", "sglang-router==0.5.18\n", "", "#sglang==0.5.18"]
)
def test_what_is_not_pinned_is_no_release(tmp_path, text):
    (tmp_path / "requirements.txt").write_text(text)
    assert pinned_release.beside("sglang", tmp_path) is None


def test_a_broken_lock_file_is_passed_over(tmp_path):
    (tmp_path / "uv.lock").write_text("sglang = [")
    (tmp_path / "Pipfile.lock").write_text('["sglang"]')
    assert pinned_release.beside("sglang", tmp_path) is None


def test_the_release_in_the_tag_of_an_image():
    assert pinned_release.of_image("sglang", "lmsysorg/sglang:v0.5.18-cu126").release == "0.5.18"
    assert (
        pinned_release.of_image("sglang", "lmsysorg/sglang:v0.5.20.post1").release == "0.5.20.post1"
    )
    assert (
        pinned_release.of_image("sglang", "lmsysorg/sglang:latest") is None
        and pinned_release.of_image("sglang", None) is None
    )
