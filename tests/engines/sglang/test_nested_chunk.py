"""A model whose Mamba chunk stands in its text config only: cache chunk and rows of states are counted differently.

SGLang computes the cache chunk from the top-level config and the rows of an extend's states from the text config.
The config class of `NemotronH_Omni_Reasoning_V3` has the chunk in the latter alone. Which states an extend donates
under which depth is in `KNOWN`; the test passes only while the engine shows it.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.
"""

from types import SimpleNamespace
from unittest.mock import patch

import pytest

from tests.engines.sglang.comparison import emitted, engine

NAME = "NemotronH_Omni_Reasoning_V3"
CHUNK = 128  # tokens; an assumption about a checkpoint, the class itself has 256

# End of an extend from 0 (tokens): the depth recorded and the tokens that the state has consumed.
RIGHT = {64: (None, None), 100: (None, None), 128: (128, 128), 200: (128, 128), 330: (256, 256)}
WRONG = {64: (64, 0), 100: (64, 0), 128: (128, 128), 200: (192, 128), 330: (320, 256)}
KNOWN = dict.fromkeys(("0.5.20", "0.5.21", "0.5.22", "0.5.23"), WRONG)


def config_of_the_model(*_):
    """The real config class, with the chunk where it keeps it."""
    nano = pytest.importorskip("sglang.srt.configs.nano_nemotron_vl")
    if not hasattr(nano, f"{NAME}_Config"):
        pytest.skip(f"sglang {engine.release()} has no config of {NAME}")
    top = getattr(nano, f"{NAME}_Config")(
        vision_config={"patch_size": 16}, llm_config={"chunk_size": CHUNK}
    )
    top.architectures = [NAME]
    from sglang.srt.utils.hf_transformers.common import get_hf_text_config

    return SimpleNamespace(
        hf_config=top,
        hf_text_config=get_hf_text_config(top),
        is_encoder_decoder=False,
        is_hybrid_swa=False,
        is_draft_model=False,
    )


@pytest.mark.parametrize("end", RIGHT)
def test_an_extend_donates_the_state_known_of_this_release(end):
    c = engine.Configuration(1, 1, 256, CHUNK)
    model = config_of_the_model()
    assert model.hf_text_config.mamba_chunk_size == CHUNK
    with patch.object(engine, "model_config", lambda *_: model):
        seen = emitted("extend").extend_checkpoint(c, 0, end)
    assert (seen.donated, seen.state) == KNOWN.get(engine.release(), RIGHT)[end]


@pytest.mark.parametrize("end", RIGHT)
def test_with_the_chunk_in_both_configs_the_same_extends_are_right(end):
    seen = emitted("extend").extend_checkpoint(engine.Configuration(1, 1, 256, CHUNK), 0, end)
    assert (seen.donated, seen.state) == RIGHT[end]
