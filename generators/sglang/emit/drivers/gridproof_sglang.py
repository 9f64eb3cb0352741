"""Drive SGLang's own Mamba checkpoint code on a CPU, without a model.

The functions here run the real request, batch, memory pool, radix tree and result processor.
Only the forward pass is replaced: it writes the number of tokens consumed into the state slots
that the batch names, so that a state kept at the wrong depth can be read back as a number.

Importing it puts stubs for triton and torchvision, where they are absent, last on the import path
of the process, for SGLang imports them also later on: give these tests a process of their own.

All lengths and depths are in tokens. Works on SGLang 0.5.17 to 0.5.23; differences between
releases are found by looking at what a class or a function offers, not by the release number.
"""

# ruff: noqa: E402  (the stubs have to be in place before SGLang is imported)

from __future__ import annotations

import importlib.abc
import importlib.util
import inspect
import logging
import math
import sys
import types
import unittest
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from fnmatch import fnmatch
from functools import partial
from importlib.machinery import ModuleSpec
from itertools import accumulate
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch


class _StubType(type):
    """The type of a stub class: accepts any arguments and has every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StubType(name, (), {})

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)


class _StubModule(types.ModuleType):
    """A module that has every attribute and serves as a decorator that changes nothing."""

    __version__ = "0.0.0"
    __path__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.lstrip("_")[0].isupper():
            return _StubType(name, (), {})
        return importlib.import_module(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bare = len(args) == 1 and callable(args[0]) and not kwargs
        return args[0] if bare else lambda function: function

    def __getitem__(self, item: Any) -> Any:
        return self


class _StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves stub modules for some top-level packages and everything below them."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        known = name.split(".")[0] in self.packages
        return ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _install_stubs(*packages: str) -> None:
    """Stub absent packages that SGLang imports, last on the path so that real ones win."""
    absent = tuple(name for name in packages if importlib.util.find_spec(name) is None)
    sys.meta_path.append(_StubFinder(absent))


_install_stubs("triton", "torchvision")
logging.disable(logging.WARNING)

import sglang
import torch
from sglang.srt.configs import mamba_utils
from sglang.srt.environ import envs
from sglang.srt.layers.attention.hybrid_linear_attn_backend import MambaAttnBackendBase
from sglang.srt.managers import schedule_batch
from sglang.srt.managers.schedule_batch import FINISH_LENGTH, Req, ReqKvInfo, ScheduleBatch
from sglang.srt.managers.scheduler_components.batch_result_processor import (
    SchedulerBatchResultProcessor,
)
from sglang.srt.mem_cache import common as cache_common
from sglang.srt.mem_cache.allocator.paged import PagedTokenToKVPoolAllocator
from sglang.srt.mem_cache.cache_init_params import CacheInitParams
from sglang.srt.mem_cache.memory_pool import HybridLinearKVPool, HybridReqToTokenPool
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType
from sglang.srt.mem_cache.unified_cache.tree_core_registry import registered_tree_core_backends
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.model_executor.forward_batch_info import ForwardBatch, ForwardMode
from sglang.srt.runtime_context import get_context, get_parallel
from sglang.srt.sampling.sampling_params import SamplingParams
from sglang.srt.server_args import ServerArgs

logging.disable(logging.NOTSET)

UNWRITTEN = -1  # what a state slot reads before a forward pass wrote into it
TRACK_SLOT = 2_000_000  # stands for the slot that a checkpoint is written into
OTHERS = -2  # the state of another request
_LIVE_SLOT = 1_000_000  # stands for the request's own state; no row of h is that large
_WINDOW = 3  # tokens of a convolution's window


class NotComparable(unittest.SkipTest):
    """The code asked for cannot be loaded in this release; says which symbol and why."""


@dataclass(frozen=True)
class Configuration:
    """Server settings: `dcp_size` in ranks, all others in tokens."""

    page_size: int
    dcp_size: int
    mamba_track_interval: int
    mamba_chunk_size: int
    strategy: str = "extra_buffer"
    overlap: bool = True

    @property
    def lazy(self) -> bool:
        """Whether a request's second state slot is only allocated at a boundary."""
        return self.strategy == "extra_buffer_lazy"

    @property
    def tree_page(self) -> int:
        """Page of the radix tree in tokens, widened by decode context parallelism."""
        return self.page_size * self.dcp_size

    @property
    def checkpoint_grid(self) -> int:
        """The least distance in tokens that is whole tree pages and whole chunks."""
        return math.lcm(self.tree_page, max(self.mamba_chunk_size, self.page_size))

    @property
    def track_grid(self) -> int:
        """The least distance in tokens that is whole tree pages, whole chunks and whole intervals."""
        return math.lcm(self.checkpoint_grid, self.mamba_track_interval)


@dataclass(frozen=True)
class Follower:
    """The depth a follower is given with a state, and the tokens that state has consumed."""

    node: int
    state: int | None


def release() -> str:
    """SGLang's release without a local suffix, e.g. '0.5.18'."""
    return sglang.__version__.split("+")[0]


@contextmanager
def settings(c: Configuration, **others: Any) -> Iterator[None]:
    """Publish the configuration and other server settings, and keep tensors off pinned memory."""
    make_tensor = torch.tensor

    def unpinned(*args: Any, **kwargs: Any) -> torch.Tensor:
        return make_tensor(*args, **{k: v for k, v in kwargs.items() if k != "pin_memory"})

    server_args = get_context().override_server_args(
        page_size=c.page_size,
        dcp_size=c.dcp_size,
        mamba_track_interval=c.mamba_track_interval,
        mamba_radix_cache_strategy=c.strategy,
        disable_overlap_schedule=not c.overlap,
        **others,
    )
    with ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)  # quicker for tensors as small as these
        remember_model(stack.enter_context(server_args), model_config(c))
        stack.enter_context(get_parallel().override(dcp_enabled=c.dcp_size > 1))
        stack.enter_context(patch.object(torch, "tensor", unpinned))
        stack.enter_context(patch.object(torch.Tensor, "pin_memory", lambda tensor: tensor))
        yield


def call(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call a function with those of the arguments that it knows in this release."""
    known = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in known})


def owner(req: Req, field: str) -> Any:
    """The object that carries a request's field: its kv record, or the request itself."""
    return req.kv if hasattr(req.kv, field) else req


def request(name: str, tokens: Sequence[int]) -> Req:
    """A request with these tokens as its prompt."""
    sampling = SamplingParams(max_new_tokens=1 << 16)
    sampling.normalize(None)
    return Req(name, "", array("q", tokens), sampling_params=sampling, vocab_size=1 << 31)


def prefix_length(req: Req) -> int:
    """Tokens of the prefix that a request was given."""
    return req.prefix_len if hasattr(req, "prefix_len") else len(req.prefix_indices)


def counted(tokens: int) -> range:
    """The prompt 1, 2, ... of so many tokens."""
    return range(1, tokens + 1)


def model_config(c: Configuration, architecture: str = "Qwen3NextForCausalLM") -> SimpleNamespace:
    """The few fields of a model's config that the code driven here reads."""
    text = SimpleNamespace(architectures=[architecture], mamba_chunk_size=c.mamba_chunk_size)
    return SimpleNamespace(
        hf_config=text,
        hf_text_config=text,
        is_encoder_decoder=False,
        is_hybrid_swa=False,
        is_draft_model=False,
    )


def remember_model(server_args: ServerArgs, model: SimpleNamespace) -> None:
    """Store the model's config where this release's settings look for it."""
    own_method = hasattr(ServerArgs, "get_model_config")
    # Some releases refuse a plain assignment to settings that are published.
    setter = object if own_method else type(server_args)
    setter.__setattr__(server_args, "model_config" if own_method else "_model_config", model)


def _mamba_pool(c: Configuration, context: int) -> HybridReqToTokenPool:
    """The real request pool, for contexts of up to `context` tokens and one tiny mamba layer."""
    shape = mamba_utils.Mamba2StateShape.create(
        tp_world_size=1,
        intermediate_size=32,
        n_groups=1,
        num_heads=2,
        head_dim=16,
        state_size=16,
        conv_kernel=4,
    )
    # float32 holds every token count below 2 ** 24 exactly.
    dtype = mamba_utils.Mamba2StateDType(conv=torch.bfloat16, temporal=torch.float32)
    return call(
        HybridReqToTokenPool,
        size=4,
        mamba_size=16,
        mamba_spec_state_size=4,
        max_context_len=context,
        device="cpu",
        enable_memory_saver=False,
        cache_params=mamba_utils.Mamba2CacheParams(shape=shape, layers=[0], dtype=dtype),
        mamba_layer_ids=[0],
        enable_mamba_extra_buffer=True,
        enable_mamba_extra_buffer_lazy=c.lazy,
        enable_overlap_schedule=c.overlap,
        speculative_num_draft_tokens=None,
    )


def _kv_allocator(tokens: int, page: int, mamba_pool: Any) -> PagedTokenToKVPoolAllocator:
    """The real paged allocator for `tokens` tokens in pages of `page` tokens."""
    size = {"size": tokens, "page_size": page, "dtype": torch.bfloat16, "device": "cpu"}
    kv_pool = call(
        HybridLinearKVPool,
        **size,
        head_num=1,
        head_dim=8,
        full_attention_layer_ids=(1,),
        enable_memory_saver=False,
        mamba_pool=mamba_pool,
        enable_kvcache_transpose=False,
    )
    return PagedTokenToKVPoolAllocator(**size, kvcache=kv_pool, need_sort=False)


@contextmanager
def _tree_core(name: str | None) -> Iterator[None]:
    """Make caches be built around a core of the radix tree; None is the release's own choice."""
    if name is None:
        yield
        return
    if name not in registered_tree_core_backends():
        raise NotComparable(f"SGLang {release()} has no tree core {name!r} for its radix cache")
    with envs.SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND.override(name):
        yield


class Engine:
    """The real pool, allocator and radix tree, with room for `tokens` tokens of requests."""

    def __init__(self, c: Configuration, tokens: int, core: str | None = None) -> None:
        pages = tokens // c.tree_page + 2
        self.config = c
        tokens = pages * c.tree_page
        self.pool = _mamba_pool(c, tokens)
        self.allocator = _kv_allocator(tokens, c.tree_page, self.pool.mamba_pool)
        params = call(
            CacheInitParams,
            req_to_token_pool=self.pool,
            token_to_kv_pool_allocator=self.allocator,
            page_size=c.tree_page,
            disable=False,
            tree_components=(ComponentType.FULL, ComponentType.MAMBA),
            enable_mamba_extra_buffer=True,
            enable_mamba_extra_buffer_lazy=c.lazy,
        )
        with _tree_core(core):
            self.tree = UnifiedRadixCache(params=params)
        runs_rust = "rust" in type(self.tree.tree_core).__module__
        if core is not None and runs_rust != (core == "rust"):
            raise NotComparable(f"the tree core {core!r} of SGLang {release()} does not run here")
        self.states = self.pool.mamba_pool.mamba_cache.temporal[0]
        self.states.fill_(UNWRITTEN)

    def admit(self, req: Req, tokens: int) -> None:
        """Match a new request and give it the pages for `tokens` tokens."""
        req.init_next_round_input(self.tree)
        self.allocate(req, tokens, torch.empty(0, dtype=torch.int64))

    def allocate(self, req: Req, tokens: int, prefix: torch.Tensor) -> None:
        """Give a request its slots, and pages for what `tokens` tokens have beyond its prefix."""
        self.pool.alloc([req])
        if req.kv is None:  # some releases create the record with the first allocation
            req.kv = ReqKvInfo(**dict.fromkeys((f.name for f in fields(ReqKvInfo)), 0))
        page = self.config.tree_page
        fresh = self.allocator.alloc(-(-tokens // page) * page - len(prefix))
        locations = torch.cat([prefix.to(torch.int64), fresh])
        self.row(req)[: len(locations)] = locations.to(torch.int32)

    def lock(self, req: Req) -> None:
        """Keep the prefix that a request was given from being evicted, as its admission does."""
        if hasattr(self.tree, "lock"):
            req.lock = self.tree.lock(req.last_node)
        else:
            receipt = self.tree.inc_lock_ref(req.last_node)
            if hasattr(req, "lock_receipt"):
                req.lock_receipt = receipt.to_dec_params()

    def row_index(self, req: Req) -> int:
        """The request's row in the request-to-token table."""
        return int(owner(req, "req_pool_idx").req_pool_idx)

    def row(self, req: Req) -> torch.Tensor:
        """The cache locations of the request's tokens."""
        return self.pool.req_to_token[self.row_index(req)]

    def commit(self, req: Req, length: int) -> None:
        """Record that the request's cache is allocated and computed up to `length` tokens."""
        for field in ("kv_allocated_len", "kv_committed_len"):
            setattr(owner(req, field), field, length)

    def batch(self, req: Req, length: int) -> ScheduleBatch:
        """A batch of this request at `length` tokens, without speculation."""
        batch = ScheduleBatch(reqs=[req])
        batch.device = "cpu"
        batch.tree_cache = self.tree
        batch.req_to_token_pool = self.pool
        batch.enable_overlap = self.config.overlap
        batch.hisparse_coordinator = None
        batch.model_config = model_config(self.config)
        batch.spec_algorithm = SimpleNamespace(is_none=lambda: True)
        penalties = SimpleNamespace(is_required=False)
        batch.sampling_info = SimpleNamespace(penalizer_orchestrator=penalties)
        batch.seq_lens = batch.seq_lens_cpu = torch.tensor([length])
        batch.orig_seq_lens = torch.tensor([length], dtype=torch.int32)
        batch.req_pool_indices = torch.tensor([self.row_index(req)])
        batch.req_pool_indices_cpu = batch.req_pool_indices
        return batch

    @contextmanager
    def exhausted(self) -> Iterator[None]:
        """Leave no free state slot in the real allocator."""
        allocator = self.pool.mamba_allocator
        free = allocator.available_size()
        taken = allocator.alloc(free) if free else None
        try:
            yield
        finally:
            if taken is not None:
                allocator.free(taken)

    def result_processor(self) -> SchedulerBatchResultProcessor:
        """The real result processor, around this tree and this pool."""
        parts = dict.fromkeys(f.name for f in fields(SchedulerBatchResultProcessor))
        parts.update(tree_cache=self.tree, req_to_token_pool=self.pool)
        return SchedulerBatchResultProcessor(**parts)

    def follower(self, tokens: int) -> Follower:
        """What the tree gives to a follower that starts with the same `tokens` counted tokens."""
        return self.follower_with(counted(tokens))

    def follower_with(self, tokens: Sequence[int]) -> Follower:
        """What the tree gives to a follower that starts with these tokens."""
        # The engine never matches a prompt's last token, hence one token more.
        req = request("follower", [*tokens, 1 << 30])
        req.init_next_round_input(self.tree, cow_mamba=True)
        source = owner(req, "mamba_cow_src_index").mamba_cow_src_index
        if source is None:
            return Follower(0, None)
        return Follower(prefix_length(req), int(self.states[int(source)].flatten()[0]))


@dataclass(frozen=True)
class Row:
    """What the attention backend copies for one row of an extend's batch, in tokens.

    `state`: those consumed by the state that is copied into the row's own slot, `OTHERS` where it
    is another row's, None where nothing is copied; `window`: the depth at which the convolution
    window ends that is copied beside it.
    """

    state: int | None
    window: int | None


def rows_read(c: Configuration, rows: Sequence[tuple[int, int, int | None]]) -> list[Row]:
    """What is copied for each row of an extend's batch: from its prefix to its end, at what length.

    A length of None is a row without a checkpoint. The kernels keep a state every
    `mamba_chunk_size` tokens of each row, one row's behind the other's.
    """
    backend = object.__new__(MambaAttnBackendBase)
    backend.device = "cpu"
    # Read from the model's config by the releases that use it; others use the cache chunk.
    backend._mamba_chunk_size = None
    backend._model_runner = SimpleNamespace(model_config=model_config(c))
    backend.conv_states_shape = (1, 1, _WINDOW)
    mask = [tracked is not None for _, _, tracked in rows]
    prefixes = [prefix for prefix, _, _ in rows]
    tokens = [end - prefix for prefix, end, _ in rows]
    tracked = [-1 if length is None else length for _, _, length in rows]
    forward_batch = SimpleNamespace(
        forward_mode=ForwardMode.EXTEND,
        batch_size=len(rows),
        mamba_track_mask=torch.tensor(mask),
        mamba_track_indices=torch.arange(TRACK_SLOT, TRACK_SLOT + len(rows)),
        mamba_track_seqlens=torch.tensor(tracked),
        extend_seq_lens=torch.tensor(tokens),
        extend_prefix_lens=torch.tensor(prefixes),
        mamba_prefill_track_mask_cpu=mask,
        mamba_track_seqlens_cpu=tracked,
        extend_seq_lens_cpu=tokens,
        extend_prefix_lens_cpu=prefixes,
    )
    if hasattr(ForwardBatch, "mamba_track_aligned_lens"):
        aligned = partial(ForwardBatch.mamba_track_aligned_lens, forward_batch)
        forward_batch.mamba_track_aligned_lens = aligned
    starts = torch.tensor([0, *accumulate(tokens)])
    tracks = torch.tensor([row for row, masked in enumerate(mask) if masked], dtype=torch.int64)
    windows = call(
        backend._init_track_conv_indices,
        query_start_loc=starts,
        forward_batch=forward_batch,
        track_mask_indices=tracks,
    )
    live = torch.arange(_LIVE_SLOT, _LIVE_SLOT + len(rows))
    indices = backend._init_track_ssm_indices(live, forward_batch)
    # How many tensors are returned differs; a source always stands before its destination.
    lists = [[] if tensor is None else tensor.tolist() for tensor in indices]
    sources: dict[int, int] = {}
    for position, found in enumerate(lists):
        if found and min(found) >= TRACK_SLOT:
            sources.update(zip(found, lists[position - 1], strict=True))
    kept = [
        (row, prefix + chunk)
        for row, (prefix, end, _) in enumerate(rows)
        for chunk in range(0, end - prefix, c.mamba_chunk_size)
    ]
    ends = iter(windows[:, -1].tolist())
    read = []
    for row, (prefix, _, length) in enumerate(rows):
        if length is None:
            read.append(Row(None, None))
            continue
        source = sources.get(TRACK_SLOT + row)
        if source is None:
            state = None
        elif source >= _LIVE_SLOT:
            state = rows[row][1] if source == _LIVE_SLOT + row else OTHERS
        else:
            of, depth = kept[source] if 0 <= source < len(kept) else (None, OTHERS)
            state = depth if of == row else OTHERS
        read.append(Row(state, prefix + next(ends) + 1 - int(starts[row])))
    return read


def state_read(c: Configuration, prefix: int, end: int, tracked: int) -> int | None:
    """Tokens consumed by the state that the attention backend copies for an extend alone."""
    return rows_read(c, [(prefix, end, tracked)])[0].state


@dataclass(frozen=True)
class Extend:
    """A donated checkpoint: the recorded depth and the tokens its state has consumed."""

    donated: int | None
    state: int | None
    fault: str | None = None


def prepare_extend(engine: Engine, req: Req, prefix: int, end: int) -> Any:
    """Prepare the extend of a request, as the batch does for each of its rows; what it tracks."""
    if hasattr(req, "set_extend_range"):
        if len(req.prefix_indices) != prefix:
            req.prefix_indices = torch.arange(prefix)
        req.set_extend_range(prefix, end)
    else:
        req.prefix_len, req.extend_end = prefix, end
    batch = engine.batch(req, end)
    return batch._mamba_radix_cache_v2_req_prepare_for_extend(req)


def extend(engine: Engine, req: Req, prefix: int, end: int) -> tuple[Extend, int | None]:
    """Prepare the extend of a request; its checkpoint, and the pool's slot that takes the state."""
    entry = prepare_extend(engine, req, prefix, end)
    if not bool(entry.track_mask):
        return Extend(None, None), None
    slots = owner(req, "mamba_last_track_seqlen")
    if hasattr(entry, "track_index"):
        slot = entry.track_index
    else:
        slot = int(slots.mamba_ping_pong_track_buffer[entry.track_position])
    state = state_read(engine.config, prefix, end, entry.track_seqlen)
    return Extend(slots.mamba_last_track_seqlen, state), slot


def keep_computed(engine: Engine, req: Req) -> None:
    """Put what an unfinished request has computed into the tree, as the scheduler does."""
    if hasattr(cache_common, "checkpoint_kv_cache"):
        cache_common.checkpoint_kv_cache(req, engine.tree)
    else:
        call(cache_common.maybe_cache_unfinished_req, req=req, tree_cache=engine.tree, chunked=True)


def release_finished(engine: Engine, req: Req) -> None:
    """Finish a request and put it into the tree, as the scheduler does."""
    req.finished_reason = FINISH_LENGTH(length=1)
    finish = {"is_insert": True, "checkpoint": True}  # one meaning, two names
    call(cache_common.release_kv_cache, req=req, tree_cache=engine.tree, **finish)


class Decode:
    """A request whose decode steps are launched and whose results are processed, in any order."""

    def __init__(self, engine: Engine, prompt: int, tokens: int) -> None:
        self.engine, self.prompt = engine, prompt
        self.processor = engine.result_processor()
        self.req = request("first", counted(prompt))
        engine.admit(self.req, tokens)
        engine.commit(self.req, prompt)
        self.batch = engine.batch(self.req, prompt)
        self._launched: list[tuple[int, ScheduleBatch]] = []  # whose results are outstanding

    @property
    def length(self) -> int:
        """Length of the step launched last, or of the prompt."""
        return int(self.batch.seq_lens_cpu[0])

    @property
    def slots(self) -> Any:
        """The record with the request's checkpoint slots."""
        return owner(self.req, "mamba_ping_pong_track_buffer")

    def next_slot(self) -> int:
        """The entry of the request's buffer that a snapshot is written to next."""
        return int(self.slots.mamba_next_track_idx)

    def kept_slot(self) -> int:
        """The entry of the request's buffer that is donated when the request finishes."""
        return int(self.engine.pool.get_mamba_ping_pong_keep_idx(self.req))

    def prefill(self) -> None:
        """Launch the extend of the whole prompt and write the checkpoint that it asks for."""
        checkpoint, slot = extend(self.engine, self.req, 0, self.prompt)
        if slot is not None:
            self.engine.states[slot] = checkpoint.state
        self.engine.commit(self.req, self.prompt)

    def prefill_result(self, cached: bool = True) -> None:
        """Process the prompt's result: its first token, and its checkpoint put into the tree."""
        self.req.output_ids.append(self.prompt + 1)
        if cached:
            keep_computed(self.engine, self.req)

    def launch(self) -> int | None:
        """Launch the next step; the length that it takes a snapshot at, if it takes one."""
        self.batch.prepare_for_decode()
        # Counted by the batch in some releases, by the replaced allocation in others.
        self.engine.commit(self.req, self.length)
        # The queue of results keeps a copy, which carries no tree.
        self._launched.append((self.length, self.batch.copy()))
        if not bool(self.batch.mamba_track_mask[0]):
            return None
        slot = int(self.batch.mamba_track_indices[0])
        if slot >= 0:  # a copy to no slot is none
            self.engine.states[slot] = self.length
        return self.length

    def launch_to(self, length: int) -> None:
        """Launch steps up to a length."""
        while self.length < length:
            self.launch()

    def result(self, stop: bool = False) -> None:
        """Process the oldest outstanding result; with `stop` its token ends the request."""
        length, batch = self._launched.pop(0)
        self.req.output_ids.append(length + 1)
        if stop:
            self.req.finished_reason = FINISH_LENGTH(length=len(self.req.output_ids))
        result = SimpleNamespace(num_correct_drafts_per_req_cpu=None)
        logits = SimpleNamespace(customized_info=None)
        self.processor._handle_finish_state_updated_req(self.req, batch, result, 0, logits)


@contextmanager
def decoding(c: Configuration, prompt: int, tokens: int) -> Iterator[Decode]:
    """A request of `prompt` tokens, with room for `tokens` tokens, that is about to decode."""
    with settings(c):
        decode = Decode(Engine(c, tokens), prompt, tokens)
        row = decode.engine.row(decode.req)

        def next_location(batch: ScheduleBatch, token_per_req: int) -> torch.Tensor:
            return row[batch.seq_lens_cpu].to(torch.int64)

        with patch.object(schedule_batch, "alloc_for_decode", next_location):
            yield decode


def unittest_suite(module: dict[str, Any], loader: unittest.TestLoader) -> unittest.TestSuite:
    """The runs of a module's test functions as unittest tests, named as pytest names them."""
    suite = unittest.TestSuite()
    for name, function in module.items():
        if name.startswith("test_"):
            (mark,) = function.pytestmark
            names, runs = mark.args
            for run in runs:
                test = f"{name}[{run.id}]"
                patterns = loader.testNamePatterns
                if not patterns or any(fnmatch(test, pattern) for pattern in patterns):
                    arguments = dict(zip(names, run.values, strict=True))
                    suite.addTest(_unittest(test, function, arguments))
    return suite


def _unittest(
    name: str, function: Callable[..., None], arguments: dict[str, Any]
) -> unittest.TestCase:
    """One run as a unittest test, which records no property."""

    def test() -> None:
        function(**arguments, record_property=lambda *pair: None)

    test.__name__ = name
    return unittest.FunctionTestCase(test)
