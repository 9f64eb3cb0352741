"""What a model brings that its launch does not say: from a table of known models or from its own config.json."""

from __future__ import annotations

import functools
import json
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from generators.common.errors import MOST_BYTES, BadInput, read_text

_LARGEST_CHUNK = 1 << 20
_ASSUMED_CHUNK = 64  # tokens; the engine's, for a config without a chunk
_TEXT_CONFIGS = ("text_config", "llm_config")
# Recurrences by the model_type of a config.json (SGLang 0.5.23, configs/hybrid_arch.py), with the chunk (tokens)
# that its class sets where the file has none.
_BY_TYPE = {
    "falcon_h1": ("mamba2", 256),
    "granitemoehybrid": ("mamba2", 256),
    "mamba2": ("mamba2", 256),
    "nemotron_h": ("mamba2", 256),
    "qwen3_next": ("gdn", 64),
    "qwen3_5": ("gdn", 64),
    "qwen3_5_moe": ("gdn", 64),
    "qwen3_5_text": ("gdn", 64),
    "qwen3_5_moe_text": ("gdn", 64),
    "jet_nemotron": ("gdn", 64),
    "kimi_linear": ("kda", 64),
    "kimi_k3": ("kda", 64),
    "glm5_next": ("kda", 64),
    "bailing_hybrid": ("lightning", 64),
    "minicpm_hybrid": ("lightning", 64),
}
# Model types without any recurrent layer.
_WITHOUT = (
    *(
        "llama",
        "mistral",
        "mixtral",
        "qwen2",
        "qwen2_moe",
        "qwen3",
        "qwen3_moe",
        "gemma2",
        "gemma3",
    ),
    *("deepseek_v2", "deepseek_v3", "deepseek_v32", "gpt_oss", "glm4", "glm4_moe", "phi3"),
    *("opt", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "llama4", "kimi_k2", "kimi_k25"),
)


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model: chunk and backend's page (tokens), recurrence, whether it has recurrent layers.

    `unmodelled`: what about it no rule covers, if there is something; `convolves`: its draft keeps convolution
    windows beside the states; `extra_buffer`: whether the engine has that strategy for it; `nested_chunk`: its chunk
    is not the one that the engine reads from its whole config, as it stands in the text config alone.
    `source` is where it stands: `model table`, `config.json` or, with nothing known, `assumed`.
    """

    source: str
    mamba_chunk_size: int | None = None
    page_size: int | None = None
    recurrence: str | None = None
    recurrent: bool | None = None
    unmodelled: str | None = None
    convolves: bool = False
    extra_buffer: bool = True
    nested_chunk: bool = False
    architecture: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a configuration that are known."""
        named = {
            "mamba_chunk_size": self.mamba_chunk_size,
            "page_size": self.page_size,
            "recurrence": self.recurrence,
        }
        return {name: value for name, value in named.items() if value is not None}


UNKNOWN = ModelFacts("assumed")


@functools.cache
def models() -> list[dict[str, Any]]:
    """The model table: patterns, chunks (tokens) and the pages (tokens) that backends set."""
    text = (
        resources.files("generators.sglang.launch")
        .joinpath("models.toml")
        .read_text(encoding="utf-8")
    )
    return tomllib.loads(text)["model"]


def facts_of_name(model: str | None) -> ModelFacts:
    """What the table knows of a model by its name; the first pattern found in it counts."""
    for entry in models():
        name = (model or "").lower()
        if name and entry["pattern"] in name and entry.get("also", "") in name:
            known = {k: v for k, v in entry.items() if k not in ("pattern", "also")}
            return ModelFacts("model table", **{"recurrent": True, **known})
    return UNKNOWN


def facts_of_config(path: Path) -> ModelFacts:
    """What a config.json gives; `BadInput` where it is none."""
    try:
        data = json.loads(read_text(path, MOST_BYTES))
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: not valid JSON ({error})") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path}: not the config of a model (it holds no table of settings)")
    inner = [data[name] for name in _TEXT_CONFIGS if isinstance(data.get(name), dict)]
    text = inner[0] if inner else data
    kind = str(text.get("model_type", data.get("model_type", ""))).lower()
    recurrence, default = _BY_TYPE.get(kind, (None, None))
    chunk = _chunk(path, data, text, kind, default)
    recurrent = True if recurrence or _has_recurrent_layers(text) else None
    if kind in _WITHOUT and recurrent is None:
        recurrent = False
    # The cache chunk comes from the whole config, the rows of states from the text config.
    of_text = _chunk(path, {}, text, kind, default) or _ASSUMED_CHUNK
    of_whole = data.get("mamba_chunk_size", _ASSUMED_CHUNK)
    return ModelFacts(
        "config.json",
        chunk,
        None,
        recurrence,
        recurrent,
        nested_chunk=bool(inner) and of_text != of_whole,
        architecture=next((str(a) for a in data.get("architectures") or ()), None),
    )


def _chunk(path: Path, data: dict, text: dict, kind: str, default: int | None) -> int | None:
    """The chunk (tokens): of the whole config before its text config; older Mamba2 configs call it chunk_size."""
    mamba2 = _BY_TYPE.get(kind, ("",))[0] == "mamba2"
    names = ("mamba_chunk_size", "chunk_size") if mamba2 else ("mamba_chunk_size",)
    found = [part[name] for name in names for part in (data, text) if name in part]
    if not found:
        return default
    chunk = found[0]
    if isinstance(chunk, bool) or not isinstance(chunk, int) or not 1 <= chunk <= _LARGEST_CHUNK:
        shown = str(chunk)[:40]
        raise BadInput(f"{path}: mamba_chunk_size must be a whole number of tokens, not {shown}")
    return chunk


def _has_recurrent_layers(text: dict) -> bool:
    kinds = text.get("layer_types")
    named = isinstance(kinds, list) and any(k in ("linear_attention", "mamba") for k in kinds)
    return named or isinstance(text.get("linear_attn_config"), dict)


def facts_of_model(model: str | None, config: Path | None = None) -> ModelFacts:
    """What is known of a model: its config.json if given or in the folder that its path names, else the table."""
    if config is not None:
        return facts_of_config(config)
    if model and "\x00" not in model and len(model) < 4096:
        local = Path(model).expanduser() / "config.json"
        try:
            if local.is_file():
                return facts_of_config(local)
        except OSError:
            pass
    return facts_of_name(model)
