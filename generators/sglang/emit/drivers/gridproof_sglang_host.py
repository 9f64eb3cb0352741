"""Run SGLang's hierarchical cache on a CPU: the real controller, host pools and tree, without streams.

Copies happen at once. Of the cached tokens themselves nothing is copied, of the recurrent states the
real rows are. Streams, events and the registration of host memory are the device's and replaced.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from gridproof_sglang import UNWRITTEN, NotComparable, call, release
from gridproof_sglang_loop import _Fields
from gridproof_sglang_script import Server

# isort: split
from sglang.srt.managers import cache_controller
from sglang.srt.managers.schedule_policy import SchedulePolicy
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.runtime_context import get_context

_SETTINGS = {
    "hicache_ratio": 2.0,
    "hicache_size": 0,
    "hicache_io_backend": "direct",
    "hicache_mem_layout": "page_first_direct",
}


class _Done:
    """A stream, or an event that has happened."""

    cuda_stream = 0

    def __init__(self, **options: Any) -> None:
        pass

    def record(self, *others: Any) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:
        return 0.0

    wait = wait_event = wait_stream = synchronize = record


_DEVICE = SimpleNamespace(
    Event=_Done,
    Stream=_Done,
    stream=lambda stream: nullcontext(),
    current_stream=lambda *device: _Done(),
    synchronize=lambda *device: None,
    __name__="cpu",
)


def _module(path: str) -> Any:
    """A module of the hierarchical cache; a release that keeps it elsewhere is not driven here."""
    try:
        return importlib.import_module(f"sglang.srt.mem_cache.{path}")
    except ModuleNotFoundError as error:
        raise NotComparable(
            f"the hierarchical cache of SGLang {release()} is not driven here: it has no {path}"
        ) from error


def _back_up(host, device_pool, host_indices, device_indices, *options, **named) -> None:
    host.temporal_buffer[host_indices, 0, 0] = device_pool.mamba_cache.temporal[0][device_indices]


def _load(host, device_pool, host_indices, device_indices, *options, **named) -> None:
    device_pool.mamba_cache.temporal[0][device_indices] = host.temporal_buffer[host_indices, 0, 0]


def _nothing(*arguments: Any, **named: Any) -> None:
    pass


@contextmanager
def on_cpu() -> Iterator[None]:
    """Replace what the hierarchical cache asks of a device."""
    mha, mamba = _module("pool_host.mha"), _module("pool_host.mamba")
    common, transfer = _module("pool_host.common"), _module("l2_transfer")
    hybrid = _module("hybrid_cache.hybrid_cache_controller")
    transfers = {"backup_from_device_all_layer": _nothing, "load_to_device_per_layer": _nothing}
    with ExitStack() as stack:
        for module in (cache_controller, transfer, hybrid):
            stack.enter_context(patch.object(module, "device_module", _DEVICE, create=True))
        stack.enter_context(patch.object(common, "_cuda_host_register", _nothing))
        for pool in vars(mha).values():
            if isinstance(pool, type) and pool.__module__ == mha.__name__:
                own = {name: f for name, f in transfers.items() if name in vars(pool)}
                if own:
                    stack.enter_context(patch.multiple(pool, **own))
        states = {"backup_from_device_all_layer": _back_up, "load_to_device_per_layer": _load}
        stack.enter_context(patch.multiple(mamba.MambaPoolHost, **states))
        yield


class _Slots:
    """The tokens consumed by the state in each slot of the pool; a copied row is the same state."""

    def __init__(self, rows: torch.Tensor) -> None:
        self.rows = rows
        self.rows.fill_(UNWRITTEN)
        self.known: list[tuple[int, ...]] = []

    def __setitem__(self, slot: int, tokens: tuple[int, ...]) -> None:
        self.rows[slot] = len(self.known)
        self.known.append(tokens)

    def __getitem__(self, slot: int) -> tuple[int, ...] | None:
        return self.get(slot)

    def __contains__(self, slot: int) -> bool:
        return self.get(slot) is not None

    def get(self, slot: int, default: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        known = int(self.rows[slot].flatten()[0])
        return default if known == UNWRITTEN else self.known[known]

    def pop(self, slot: int, default: Any = None) -> None:
        self.rows[slot] = UNWRITTEN


def attach(server: Server, write_policy: str) -> None:
    """Give a server a hierarchical cache in place of its own; call within `on_cpu`."""
    get_context().override("host_cache", **_SETTINGS, hicache_write_policy=write_policy)
    params = call(
        CacheInitParams,
        req_to_token_pool=server.req_to_token_pool,
        token_to_kv_pool_allocator=server.token_to_kv_pool_allocator,
        page_size=server.launch.tree_page,
        disable=False,
        tree_components=(ComponentType.FULL, ComponentType.MAMBA),
        enable_mamba_extra_buffer=True,
        enable_mamba_extra_buffer_lazy=server.launch.lazy,
    )
    server.tree_cache = UnifiedRadixCache(params=params)
    # Some releases read these of the server arguments; all others of them read None.
    arguments = _Fields(**_SETTINGS, hicache_write_policy=write_policy)
    server.tree_cache.init_hicache(arguments, params)
    server.enable_hierarchical_cache = True
    server.states = _Slots(server.req_to_token_pool.mamba_pool.mamba_cache.temporal[0])
    server.batch_result_processor = server._result_processor()
    server.policy = SchedulePolicy("fcfs", server.tree_cache, True, False, False)
