"""An environment whose wheel cannot be had says so and is never green."""

from generators.emit.run import install_wheel


def test_a_release_that_does_not_exist_is_skipped_with_a_sentence(capfd):
    assert install_wheel.main("gridproof-no-such-engine-0.0.0") == 3
    assert "cannot be had" in capfd.readouterr().err


def test_a_source_tree_needs_no_wheel():
    assert install_wheel.main("sglang-source") == 0
