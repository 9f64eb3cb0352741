"""The table of architectures is what the installed release has, read off its package and asked of its own code.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.
"""

from pathlib import Path

import pytest

from generators.sglang.launch.model_table import architectures, release_of
from generators.sglang.launch.models import architectures as table
from spec.sglang.releases import RELEASES
from tests.engines.sglang.comparison import engine

sglang = pytest.importorskip("sglang")
PACKAGE = Path(sglang.__file__).parent


@pytest.fixture(scope="module")
def read():
    return {one.name: one for one in architectures(PACKAGE)}


def test_the_package_is_that_of_the_release():
    assert release_of(PACKAGE) == engine.release()


def test_every_architecture_of_the_release_stands_in_the_table(read):
    assert len(read) > 200
    for name, one in read.items():
        entry = table()[name]
        assert entry["recurrent"] == one.recurrent or entry.get("by_config"), name
        assert RELEASES.index(entry["since"]) <= RELEASES.index(engine.release()), name


def test_no_other_release_is_said_to_be_the_first_that_has_an_architecture(read):
    for name, entry in table().items():
        if entry["since"] == engine.release():
            assert name in read
        elif RELEASES.index(entry["since"]) > RELEASES.index(engine.release()):
            assert name not in read


def test_the_strategy_with_buffers_is_for_those_that_the_engine_names(read):
    overrides = pytest.importorskip("sglang.srt.arg_groups.overrides")
    named = overrides._MAMBA_EXTRA_BUFFER_ARCHS
    assert {n for n, one in read.items() if one.extra_buffer} == {n for n in named if n in read}
    newest = {
        n for n, entry in table().items() if entry["recurrent"] and entry.get("extra_buffer", True)
    }
    assert named & set(read) <= newest


def test_a_chunk_is_the_default_of_the_class_of_configurations():
    configs = pytest.importorskip("sglang.srt.configs")
    for name, config in (
        ("FalconH1ForCausalLM", configs.FalconH1Config),
        ("NemotronHForCausalLM", configs.NemotronHConfig),
        ("GraniteMoeHybridForCausalLM", configs.GraniteMoeHybridConfig),
    ):
        assert config().mamba_chunk_size == table()[name]["chunk_default"]
    for name, config in (
        ("Qwen3NextForCausalLM", configs.Qwen3NextConfig),
        ("KimiLinearForCausalLM", configs.KimiLinearConfig),
    ):
        assert getattr(config(), "mamba_chunk_size", 64) == table()[name]["mamba_chunk_size"]
