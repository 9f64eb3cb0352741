"""What a person reads is free of the private dialect: documents, `--help`, texts and names of the covered modules."""

import re

import pytest

from gridproof import cli
from tests.language import COVERED, WORDS, findings, private_words, prose, python_prose


def test_what_is_covered_has_no_private_words(root):
    assert findings(root) == []


@pytest.mark.parametrize("pattern", COVERED)
def test_each_glob_of_what_is_covered_finds_files_with_prose(root, pattern):
    paths = list(root.glob(pattern))
    assert any(prose(path).strip() for path in paths)


@pytest.mark.parametrize("command", [(), *((name,) for name in cli.main.commands)])
def test_the_help_has_no_private_words(gridproof, command):
    shown = gridproof(*command, "--help").out
    assert len(shown) > 200
    assert list(private_words(shown)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "the search is told only the rules",
        "of each test it is said beforehand whether it passes",
        "a state is hung on the node",
        "the follower resumes there",
        "each has its predicted colour",
        "the test turns red",
        "what is red on 0.5.18",
        "a hole in the command",
        "one klass after another",
        "what a verdict is resting on",
        "a design file of one's own",
        "what each reader uses",
        "each takes every so-manieth",
        "at one length in the middle of nowhere",
        "what is amiss",
        "an other batch",
    ],
)
def test_a_private_word_is_noticed(sentence):
    assert list(private_words(sentence))


def test_each_word_of_the_list_is_noticed_somewhere_above():
    sentences = test_a_private_word_is_noticed.pytestmark[0].args[1]
    missed = [p for p in WORDS if not any(p in _patterns(sentence) for sentence in sentences)]
    assert missed == []


def _patterns(sentence):
    return [pattern for pattern in WORDS if re.search(pattern, sentence, re.IGNORECASE)]


@pytest.mark.parametrize(
    "sentence",
    [
        "the README says what a release does",
        "colors of the terminal",
        "classes that the solver can tell apart",
        "the whole prompt",
        "so many configurations that no list holds them",
    ],
)
def test_plain_words_are_left_alone(sentence):
    assert not list(private_words(sentence))


def test_the_prose_of_a_module_is_its_texts_its_comments_and_its_names():
    source = '"""A module text."""\nKEY = "readers"  # a comment\n\ndef a_function_name(an_argument):\n    code = 1\n'
    parts = {"A module text.", "a function name", "an argument", "# a comment"}
    assert set(python_prose(source).splitlines()) == parts
