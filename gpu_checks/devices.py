"""Which device a replay runs on, and how it is made to give the same numbers each time."""

from __future__ import annotations

import os

import torch

from gpu_checks import choices

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in choices.DTYPES}


class NoDevice(Exception):
    """The device that was asked for is not there; says which one and what there is."""


def chosen(device: str | None, require_gpu: bool = False) -> str:
    """`cpu` or `cuda`: the one asked for, else CUDA where there is a GPU; `NoDevice` where it is not there."""
    there = torch.cuda.is_available()
    wanted = "cuda" if require_gpu else device
    if wanted == "cuda" and not there:
        raise NoDevice("no CUDA device is there (torch sees none); --device cpu runs without one")
    return wanted or ("cuda" if there else "cpu")


def described(device: str) -> str:
    """The device in words."""
    return f"cuda ({torch.cuda.get_device_name()})" if device == "cuda" else "cpu"


def repeatable(device: str) -> None:
    """No reduced precision and no algorithm that differs from run to run."""
    torch.set_grad_enabled(False)
    if device == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.use_deterministic_algorithms(True, warn_only=True)
