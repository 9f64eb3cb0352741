"""The engine's hierarchical cache on a CPU: the real controller, host pools and tree, without streams.

Copies happen at once; of the cached tokens themselves nothing is copied, of the recurrent states
the real rows are. Streams, events and the registration of host memory are the device's and replaced.
"""

from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from unittest.mock import patch

from tests.engines.sglang.comparison import engine

# isort: split
from sglang.srt.managers import cache_controller
from sglang.srt.managers.schedule_policy import SchedulePolicy
from sglang.srt.mem_cache import l2_transfer
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.hybrid_cache import hybrid_cache_controller
from sglang.srt.mem_cache.pool_host import common, mha
from sglang.srt.mem_cache.pool_host.mamba import MambaPoolHost
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.runtime_context import get_context


class _Done:
    """A stream, or an event that has happened."""

    cuda_stream = 0

    def __init__(self, **options):
        pass

    def record(self, *others):
        pass

    def query(self):
        return True

    def elapsed_time(self, other):
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


def _back_up(host, device_pool, host_indices, device_indices, *options, **named):
    host.temporal_buffer[host_indices, 0, 0] = device_pool.mamba_cache.temporal[0][device_indices]


def _load(host, device_pool, host_indices, device_indices, *options, **named):
    device_pool.mamba_cache.temporal[0][device_indices] = host.temporal_buffer[host_indices, 0, 0]


def _nothing(*arguments, **named):
    pass


@contextmanager
def on_cpu():
    """Replace what the hierarchical cache asks of a device."""
    transfers = {"backup_from_device_all_layer": _nothing, "load_to_device_per_layer": _nothing}
    with ExitStack() as stack:
        for module in (cache_controller, l2_transfer, hybrid_cache_controller):
            stack.enter_context(patch.object(module, "device_module", _DEVICE, create=True))
        stack.enter_context(patch.object(common, "_cuda_host_register", _nothing))
        for pool in vars(mha).values():
            if isinstance(pool, type) and pool.__module__ == mha.__name__:
                own = {name: f for name, f in transfers.items() if name in vars(pool)}
                if own:
                    stack.enter_context(patch.multiple(pool, **own))
        states = {"backup_from_device_all_layer": _back_up, "load_to_device_per_layer": _load}
        stack.enter_context(patch.multiple(MambaPoolHost, **states))
        yield


class _Slots:
    """The tokens consumed by the state in each slot of the pool; a copied row is the same state."""

    def __init__(self, rows):
        self.rows = rows
        self.rows.fill_(engine.UNWRITTEN)
        self.known = []

    def __setitem__(self, slot, tokens):
        self.rows[slot] = len(self.known)
        self.known.append(tokens)

    def __getitem__(self, slot):
        return self.get(slot)

    def __contains__(self, slot):
        return self.get(slot) is not None

    def get(self, slot):
        known = int(self.rows[slot].flatten()[0])
        return None if known == engine.UNWRITTEN else self.known[known]

    def pop(self, slot, default=None):
        self.rows[slot] = engine.UNWRITTEN


def attach(server, write_policy):
    """Give a server a hierarchical cache in place of its own; call within `on_cpu`."""
    get_context().override(
        "host_cache",
        hicache_ratio=2.0,
        hicache_io_backend="direct",
        hicache_mem_layout="page_first_direct",
        hicache_write_policy=write_policy,
    )
    params = CacheInitParams(
        req_to_token_pool=server.req_to_token_pool,
        token_to_kv_pool_allocator=server.token_to_kv_pool_allocator,
        page_size=server.launch.tree_page,
        disable=False,
        tree_components=(ComponentType.FULL, ComponentType.MAMBA),
        enable_mamba_extra_buffer=True,
        enable_mamba_extra_buffer_lazy=server.launch.lazy,
    )
    server.tree_cache = UnifiedRadixCache(params=params)
    server.tree_cache.init_hicache(SimpleNamespace(file_storage_path=None), params)
    server.enable_hierarchical_cache = True
    server.states = _Slots(server.req_to_token_pool.mamba_pool.mamba_cache.temporal[0])
    server.batch_result_processor = server._result_processor()
    server.policy = SchedulePolicy("fcfs", server.tree_cache, True, False, False)
