"""What the installed release makes of a launch's flags: its own parser and resolution code, run for a GPU that is not there.

Only what asks the hardware is replaced, in this process; no file of the package is.
"""

import argparse
import contextlib
import io
import json
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.engines.sglang.comparison import engine

server_args = pytest.importorskip("sglang.srt.server_args")
ServerArgs = server_args.ServerArgs

FIELDS = (
    *("page_size", "mamba_track_interval", "chunked_prefill_size", "speculative_num_draft_tokens"),
    *("mamba_radix_cache_strategy", "disable_overlap_schedule", "disable_radix_cache"),
)
_GIB = 1024
# What the engine asks of the hardware, by its name in `sglang.srt.utils.common`, where nothing is there.
_NOTHING = {
    **dict.fromkeys(
        (
            *("is_cuda", "is_hip", "is_npu", "is_xpu", "is_musa", "is_mps", "is_cpu", "is_hpu"),
            *("is_sm90_supported", "is_sm100_supported", "is_sm120_supported"),
            *("is_sm100_or_sm110_supported", "is_sm110_supported", "is_blackwell_supported"),
            *("is_hopper_with_cuda_12_3", "is_ampere_with_cuda_12_3", "cpu_has_amx_support"),
            *("is_gfx95_supported", "is_flashinfer_available", "is_cuda_alike"),
        ),
        False,
    ),
    "get_device_sm": 0,
    "get_device_capability": (0, 0),
    "xpu_has_xmx_support": True,
}
_CUDA = {"is_cuda": True, "is_cuda_alike": True, "is_flashinfer_available": True}
# Each kind of GPU: the device, what is different, and its memory (MiB).
GPUS: dict[str, tuple[str, dict[str, Any], int]] = {
    "sm80": ("cuda", _CUDA | {"get_device_sm": 80, "get_device_capability": (8, 0)}, 80 * _GIB),
    "sm90": (
        "cuda",
        _CUDA
        | {"is_sm90_supported": True, "is_hopper_with_cuda_12_3": True}
        | {"get_device_sm": 90, "get_device_capability": (9, 0)},
        80 * _GIB,
    ),
    "sm100": (
        "cuda",
        _CUDA
        | {"is_sm100_supported": True, "is_blackwell_supported": True}
        | {"is_sm100_or_sm110_supported": True}
        | {"get_device_sm": 100, "get_device_capability": (10, 0)},
        180 * _GIB,
    ),
    "sm120": (
        "cuda",
        _CUDA
        | {"is_sm120_supported": True, "is_blackwell_supported": True}
        | {"get_device_sm": 120, "get_device_capability": (12, 0)},
        96 * _GIB,
    ),
    "amd": ("cuda", {"is_hip": True, "is_cuda_alike": True}, 192 * _GIB),
    "npu": ("npu", {"is_npu": True}, 64 * _GIB),
    "xpu": ("xpu", {"is_xpu": True}, 24 * _GIB),
}


class Refused(Exception):
    """The release does not start with these flags."""


@cache
def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="sglang serve")
    ServerArgs.add_cli_args(found)
    return found


@contextmanager
def on(gpu: str) -> Iterator[None]:
    """The engine sees this GPU."""
    _, facts, memory = GPUS[gpu]
    answers = {name: _constant(value) for name, value in (_NOTHING | facts).items()}
    answers["get_device_memory_capacity"] = _constant(memory)
    answers["get_npu_memory_capacity"] = _constant(memory)
    answers["get_device_count"] = _constant(8)
    with ExitStack() as stack:
        for module in [m for name, m in sys.modules.items() if name.startswith("sglang")]:
            for name, answer in answers.items():
                if name in vars(module) and callable(vars(module)[name]):
                    stack.enter_context(patch.object(module, name, answer))
            for name in ("is_cuda", "is_hip", "is_npu", "is_xpu"):
                if isinstance(vars(module).get(f"_{name}"), bool):
                    value = (_NOTHING | facts)[name]
                    stack.enter_context(patch.object(module, f"_{name}", value))
        torch = engine.torch
        capability = _constant((_NOTHING | facts)["get_device_capability"])
        stack.enter_context(patch.object(torch.cuda, "get_device_capability", capability))
        stack.enter_context(patch.object(torch.version, "cuda", "13.0"))
        yield


def _constant(value: Any) -> Any:
    return lambda *args, **kwargs: value


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """The release's own reading of the flags; `Refused` where its parser exits."""
    words_of_it = list(words)
    if "--config" in words_of_it:
        raise NotImplementedError
    try:
        with contextlib.redirect_stderr(io.StringIO()) as error:
            return parser().parse_args(words_of_it)
    except SystemExit:
        raise Refused(error.getvalue().strip().splitlines()[-1]) from None


def resolved(words: Sequence[str], gpu: str) -> dict[str, Any]:
    """The values that the release ends with on a kind of GPU; `Refused` where it does not start."""
    found = parsed([*words, "--device", GPUS[gpu][0]])
    logging.disable(logging.CRITICAL)
    try:
        with on(gpu), patch.dict(os.environ):
            made = ServerArgs.from_cli_args(found)
            if hasattr(made, "resolve_once"):
                made.resolve_once()
                overlays = dict(_resolved(made))
            else:
                overlays = {name: getattr(made, name) for name in (*FIELDS, "attention_backend")}
    except (AssertionError, ValueError, RuntimeError, NotImplementedError, TypeError) as error:
        raise Refused(str(error)) from error
    finally:
        logging.disable(logging.NOTSET)
    return overlays


def _resolved(made: Any) -> Iterator[tuple[str, Any]]:
    from sglang.srt.arg_groups import overrides

    for name in (*FIELDS, "attention_backend"):
        yield name, overrides.resolution_result(made, name)


def written(folder: Path, architecture: str, kind: str, **more: Any) -> Path:
    """A folder with the config of a small model of an architecture."""
    config = {
        "architectures": [architecture],
        "model_type": kind,
        "hidden_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "vocab_size": 1000,
        "max_position_embeddings": 32768,
        "intermediate_size": 512,
        "torch_dtype": "bfloat16",
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config | more))
    return folder
