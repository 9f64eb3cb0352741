"""Which operations of torch a call makes, and what a library may choose its kernel by."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ALIGNMENT = 64  # bytes: what torch allocates by on a CPU


def _described(value):
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype, value.data_ptr() % ALIGNMENT
    return str(value)


class Recorder(TorchDispatchMode):
    """Notes every operation with shape, strides, dtype and alignment of each tensor it takes."""

    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.operations.append((str(function), *map(_described, tree_leaves((args, kwargs)))))
        return function(*args, **kwargs)


def recording(function, calls):
    """The same function, which adds the operations of each of its calls to `calls`."""

    def recorded(*args, **kwargs):
        with Recorder() as recorder:
            found = function(*args, **kwargs)
        calls.append(tuple(recorder.operations))
        return found

    return recorded
