"""Drive SGLang's own Mamba checkpoint code on a CPU, without a model.

The functions here run the real request, batch, memory pool, radix tree and result processor.
Only the forward pass is replaced: it writes the number of tokens consumed into the state slots
that the batch names, so that a state kept at the wrong depth can be read back as a number.

All lengths and depths are in tokens. Works on SGLang 0.5.17 to 0.5.23; differences between
releases are found by looking at what a class or a function offers, not by the release number.
"""

# ruff: noqa: E402  (the stubs have to be in place before SGLang is imported)

from __future__ import annotations

import importlib.abc
import importlib.util
import inspect
import logging
import sys
import traceback
import types
import warnings
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from importlib.machinery import ModuleSpec
from operator import attrgetter
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch


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
warnings.filterwarnings("ignore")

import sglang
import torch
from sglang.srt.configs import mamba_utils
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
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache
from sglang.srt.model_executor.forward_batch_info import ForwardMode
from sglang.srt.runtime_context import get_context, get_parallel
from sglang.srt.sampling.sampling_params import SamplingParams
from sglang.srt.speculative import spec_utils

torch.set_num_threads(1)

_UNWRITTEN = -1  # what a state slot reads before a forward pass wrote into it
_LIVE_SLOT = 1_000_000  # stands for the request's own state; no row of h is that large
_TRACK_SLOT = 2_000_000  # stands for the slot that an extend writes its checkpoint into


class NotComparable(Exception):
    """The code asked for cannot be loaded in this release; says which symbol and why."""


@dataclass(frozen=True)
class Configuration:
    """Server settings: `dcp_size` in ranks, all others in tokens."""

    page_size: int
    dcp_size: int
    mamba_track_interval: int
    mamba_chunk_size: int
    strategy: str = "extra_buffer"

    @property
    def tree_page(self) -> int:
        """Page of the radix tree in tokens, widened by decode context parallelism."""
        return self.page_size * self.dcp_size


@dataclass(frozen=True)
class Extend:
    """A donated checkpoint: the recorded depth and the tokens its state has consumed."""

    donated: int | None
    state: int | None
    fault: str | None


@dataclass(frozen=True)
class Follower:
    """The depth a follower is given with a state, and the tokens that state has consumed."""

    node: int
    state: int | None


def release() -> str:
    """SGLang's release without a local suffix, e.g. '0.5.18'."""
    return sglang.__version__.split("+")[0]


@contextmanager
def _settings(c: Configuration) -> Iterator[None]:
    """Publish the configuration to the engine and keep its tensors off pinned memory."""
    make_tensor = torch.tensor

    def unpinned(*args: Any, **kwargs: Any) -> torch.Tensor:
        return make_tensor(*args, **{k: v for k, v in kwargs.items() if k != "pin_memory"})

    server_args = get_context().override_server_args(
        page_size=c.page_size,
        dcp_size=c.dcp_size,
        mamba_track_interval=c.mamba_track_interval,
        mamba_radix_cache_strategy=c.strategy,
        # The engine computes this from a model's config and remembers it here.
        _mamba_cache_chunk_size=max(c.mamba_chunk_size, c.page_size),
    )
    with ExitStack() as stack:
        stack.enter_context(server_args)
        stack.enter_context(get_parallel().override(dcp_enabled=c.dcp_size > 1))
        stack.enter_context(patch.object(torch, "tensor", unpinned))
        stack.enter_context(patch.object(torch.Tensor, "pin_memory", lambda tensor: tensor))
        yield


def _call(function: Callable[..., Any], **arguments: Any) -> Any:
    """Call a function with those of the arguments that it knows in this release."""
    known = inspect.signature(function).parameters
    return function(**{name: value for name, value in arguments.items() if name in known})


def _owner(req: Req, field: str) -> Any:
    """The object that carries a request's field: its kv record, or the request itself."""
    return req.kv if hasattr(req.kv, field) else req


def _request(name: str, tokens: int) -> Req:
    """A request whose prompt is 1, 2, ... up to `tokens` tokens."""
    sampling = SamplingParams(max_new_tokens=1 << 16)
    sampling.normalize(None)
    prompt = array("q", range(1, tokens + 1))
    return Req(name, "", prompt, sampling_params=sampling, vocab_size=1 << 20)


def _model_config(c: Configuration) -> SimpleNamespace:
    """The few fields of a model's config that the code driven here reads."""
    text = SimpleNamespace(mamba_chunk_size=c.mamba_chunk_size)
    return SimpleNamespace(is_encoder_decoder=False, hf_text_config=text)


def _mamba_pool(context: int, lazy: bool) -> HybridReqToTokenPool:
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
    return _call(
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
        enable_mamba_extra_buffer_lazy=lazy,
        speculative_num_draft_tokens=None,
    )


def _kv_allocator(tokens: int, page: int, mamba_pool: Any) -> PagedTokenToKVPoolAllocator:
    """The real paged allocator for `tokens` tokens in pages of `page` tokens."""
    size = {"size": tokens, "page_size": page, "dtype": torch.bfloat16, "device": "cpu"}
    kv_pool = _call(
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


class _Engine:
    """The real pool, allocator and radix tree, around one request of up to `tokens` tokens."""

    def __init__(self, c: Configuration, tokens: int) -> None:
        pages = tokens // c.tree_page + 2
        lazy = c.strategy == "extra_buffer_lazy"
        self.config = c
        self.pool = _mamba_pool(pages * c.tree_page, lazy)
        self.allocator = _kv_allocator(pages * c.tree_page, c.tree_page, self.pool.mamba_pool)
        params = _call(
            CacheInitParams,
            req_to_token_pool=self.pool,
            token_to_kv_pool_allocator=self.allocator,
            page_size=c.tree_page,
            disable=False,
            tree_components=(ComponentType.FULL, ComponentType.MAMBA),
            enable_mamba_extra_buffer=True,
            enable_mamba_extra_buffer_lazy=lazy,
        )
        self.tree = UnifiedRadixCache(params=params)
        self.states = self.pool.mamba_pool.mamba_cache.temporal[0]
        self.states.fill_(_UNWRITTEN)

    def admit(self, req: Req, tokens: int) -> None:
        """Match a new request and give it the pages for `tokens` tokens."""
        req.init_next_round_input(self.tree)
        self.pool.alloc([req])
        if req.kv is None:  # some releases create the record with the first allocation
            req.kv = ReqKvInfo(**dict.fromkeys((f.name for f in fields(ReqKvInfo)), 0))
        page = self.config.tree_page
        locations = self.allocator.alloc(-(-tokens // page) * page)
        self.row(req)[: len(locations)] = locations.to(torch.int32)

    def row_index(self, req: Req) -> int:
        """The request's row in the request-to-token table."""
        return int(_owner(req, "req_pool_idx").req_pool_idx)

    def row(self, req: Req) -> torch.Tensor:
        """The cache locations of the request's tokens."""
        return self.pool.req_to_token[self.row_index(req)]

    def commit(self, req: Req, length: int) -> None:
        """Record that the request's cache is allocated and computed up to `length` tokens."""
        for field in ("kv_allocated_len", "kv_committed_len"):
            setattr(_owner(req, field), field, length)

    def batch(self, req: Req, length: int) -> ScheduleBatch:
        """A batch of this request at `length` tokens, without overlap or speculation."""
        batch = ScheduleBatch(reqs=[req])
        batch.device = "cpu"
        batch.tree_cache = self.tree
        batch.req_to_token_pool = self.pool
        batch.enable_overlap = False
        batch.hisparse_coordinator = None
        batch.model_config = _model_config(self.config)
        batch.spec_algorithm = SimpleNamespace(is_none=lambda: True)
        penalties = SimpleNamespace(is_required=False)
        batch.sampling_info = SimpleNamespace(penalizer_orchestrator=penalties)
        batch.seq_lens = batch.seq_lens_cpu = torch.tensor([length])
        batch.orig_seq_lens = torch.tensor([length], dtype=torch.int32)
        batch.req_pool_indices = torch.tensor([self.row_index(req)])
        batch.req_pool_indices_cpu = batch.req_pool_indices
        return batch

    def result_processor(self) -> SchedulerBatchResultProcessor:
        """The real result processor, around this tree and this pool."""
        parts = dict.fromkeys(f.name for f in fields(SchedulerBatchResultProcessor))
        parts.update(tree_cache=self.tree, req_to_token_pool=self.pool)
        return SchedulerBatchResultProcessor(**parts)

    def follower(self, tokens: int) -> Follower:
        """What the tree gives to a follower that starts with the same `tokens` tokens."""
        # The engine never matches a prompt's last token, hence one token more.
        req = _request("follower", tokens + 1)
        req.init_next_round_input(self.tree, cow_mamba=True)
        source = _owner(req, "mamba_cow_src_index").mamba_cow_src_index
        if source is None:
            return Follower(0, None)
        node = req.prefix_len if hasattr(req, "prefix_len") else len(req.prefix_indices)
        return Follower(node, int(self.states[int(source)].flatten()[0]))


def _start_decode(c: Configuration, prompt: int, stop: int) -> tuple[_Engine, Req]:
    """A request with a computed prompt, one output token and room for `stop` tokens."""
    engine = _Engine(c, stop)
    req = _request("first", prompt)
    engine.admit(req, stop)
    engine.commit(req, prompt)
    req.output_ids.append(prompt + 1)
    return engine, req


def _decode(engine: _Engine, req: Req, prompt: int, stop: int) -> Iterator[ScheduleBatch]:
    """Prepare one decode step after another and yield the batch as a forward pass gets it."""
    row = engine.row(req)
    batch = engine.batch(req, prompt)

    def next_location(batch: ScheduleBatch, token_per_req: int) -> torch.Tensor:
        return row[batch.seq_lens_cpu].to(torch.int64)

    with patch.object(schedule_batch, "alloc_for_decode", next_location):
        for length in range(prompt + 1, stop + 1):
            batch.prepare_for_decode()
            # Counted by the batch in some releases, by the replaced allocation in others.
            engine.commit(req, length)
            yield batch


def decode_snapshots(c: Configuration, prompt: int, stop: int) -> list[int]:
    """Lengths at which prepare_for_decode asks for a snapshot, from `prompt` up to `stop`."""
    with _settings(c):
        engine, req = _start_decode(c, prompt, stop)
        return [
            int(batch.seq_lens_cpu[0])
            for batch in _decode(engine, req, prompt, stop)
            if bool(batch.mamba_track_mask[0])
        ]


def follower_after_decode(c: Configuration, prompt: int, stop: int) -> Follower:
    """What a follower is given after a request decoded from `prompt` to `stop` and finished.

    The prompt itself donates nothing, as if it had been too short for a checkpoint.
    """
    with _settings(c):
        engine, req = _start_decode(c, prompt, stop)
        processor = engine.result_processor()
        result = SimpleNamespace(num_correct_drafts_per_req_cpu=None)
        logits = SimpleNamespace(customized_info=None)
        for batch in _decode(engine, req, prompt, stop):
            length = int(batch.seq_lens_cpu[0])
            if bool(batch.mamba_track_mask[0]):
                engine.states[batch.mamba_track_indices[0]] = length
            req.output_ids.append(length + 1)
            if length == stop:
                req.finished_reason = FINISH_LENGTH(length=len(req.output_ids))
            processor._handle_finish_state_updated_req(req, batch.copy(), result, 0, logits)
        return engine.follower(stop)


# Workers with a commit of their own; the others share the one in spec_utils.
_WORKER_COMMITS = {
    "DSPARK": (
        "sglang.srt.speculative.dspark_components.dspark_worker_v2",
        "DSparkWorkerV2._commit_target_mamba_states_after_verify",
    ),
    "DFLASH": (
        "sglang.srt.speculative.dflash_worker_v2",
        "DFlashWorkerV2._update_target_mamba_state_after_verify",
    ),
}


def _worker_commit(algorithm: str) -> Callable[..., None]:
    """The method by which this algorithm's worker saves states after a verify."""
    module, path = _WORKER_COMMITS[algorithm]
    try:
        return attrgetter(path)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise NotComparable(
            f"{module}.{path} of SGLang {release()}, the {algorithm} commit after a verify, "
            f"does not load on this machine: {error}"
        ) from error


def _verify_by_worker(
    algorithm: str, target: MagicMock, batch: MagicMock, accepted: int, drafts: int
) -> None:
    """Run the worker's own commit with what its caller in the same release hands to it."""
    worker = SimpleNamespace(
        _need_mamba_verify_commit=True, target_worker=target, verify_num_draft_tokens=drafts
    )
    # DFLASH up to 0.5.19 takes no length after the verify and reads batch.seq_lens instead,
    # which its caller leaves at the length before: it sees no crossing and saves nothing.
    _call(
        _worker_commit(algorithm),
        self=worker,
        batch=batch,
        seq_lens_pre_verify=batch.seq_lens,
        seq_lens_post_verify=batch.seq_lens + accepted,
        commit_lens=torch.tensor([accepted]),
    )


def _verify_shared(target: MagicMock, batch: MagicMock, accepted: int, drafts: int) -> None:
    """Run the commit that the other speculative workers share."""
    accept_index = torch.full((1, drafts), -1)
    accept_index[0, :accepted] = torch.arange(accepted)
    with patch.object(spec_utils, "mambaish_config", return_value=object()):
        spec_utils.commit_mamba_states_after_verify(
            target, batch, torch.tensor([accepted]), accept_index, drafts
        )


def verify_snapshots(
    c: Configuration, pre: int, accepted: int, draft_tokens: int, algorithm: str | None
) -> int | None:
    """Tokens consumed by the state that a verify of `accepted` tokens at `pre` saves, if any."""
    with _settings(c):
        target, batch = MagicMock(), MagicMock()
        pool = target.model_runner.req_to_token_pool.mamba_pool
        pool.replayssm_spec_fold, pool.replayssm_cache_base = False, None
        batch.forward_mode.is_idle.return_value = False
        batch.tree_cache.page_size = c.tree_page
        batch.seq_lens = batch.seq_lens_cpu = torch.tensor([pre])
        batch.req_pool_indices = torch.tensor([0])
        batch.mamba_track_indices = torch.tensor([_TRACK_SLOT])
        if algorithm in _WORKER_COMMITS:
            _verify_by_worker(algorithm, target, batch, accepted, draft_tokens)
        else:
            _verify_shared(target, batch, accepted, draft_tokens)
        commit = target.model_runner.attn_backend.update_mamba_state_after_mtp_verify
        steps = commit.call_args.kwargs["mamba_steps_to_track"]
        if steps is None or int(steps[0]) < 0:
            return None
        return pre + int(steps[0]) + 1


def _set_extend(req: Req, prefix: int, end: int) -> None:
    """Make the request's next forward pass extend it from `prefix` to `end`."""
    if hasattr(req, "set_extend_range"):
        if len(req.prefix_indices) != prefix:
            req.prefix_indices = torch.arange(prefix)
        req.set_extend_range(prefix, end)
    else:
        req.prefix_len, req.extend_end = prefix, end


def _state_read(c: Configuration, prefix: int, end: int, tracked: int) -> int:
    """Tokens consumed by the state that the attention backend copies for this extend."""
    backend = object.__new__(MambaAttnBackendBase)
    backend.device = "cpu"
    # Read from the model's config by the releases that use it; others use the cache chunk.
    backend._mamba_chunk_size = None
    backend._model_runner = SimpleNamespace(model_config=_model_config(c))
    forward_batch = SimpleNamespace(
        forward_mode=ForwardMode.EXTEND,
        batch_size=1,
        mamba_track_mask=torch.tensor([True]),
        mamba_track_indices=torch.tensor([_TRACK_SLOT]),
        mamba_track_seqlens=torch.tensor([tracked]),
        extend_seq_lens=torch.tensor([end - prefix]),
        extend_prefix_lens=torch.tensor([prefix]),
        mamba_prefill_track_mask_cpu=[True],
        mamba_track_seqlens_cpu=[tracked],
        extend_seq_lens_cpu=[end - prefix],
        extend_prefix_lens_cpu=[prefix],
    )
    indices = backend._init_track_ssm_indices(torch.tensor([_LIVE_SLOT]), forward_batch)
    # How many tensors are returned differs; a source always stands before its destination.
    lists = [[] if tensor is None else tensor.tolist() for tensor in indices]
    source = lists[lists.index([_TRACK_SLOT]) - 1][0]
    return end if source == _LIVE_SLOT else prefix + source * c.mamba_chunk_size


def _extend(engine: _Engine, req: Req, prefix: int, end: int) -> tuple[Extend, int | None]:
    """Prepare one extend; return its checkpoint and the pool slot that takes its state."""
    _set_extend(req, prefix, end)
    batch = engine.batch(req, end)
    entry = batch._mamba_radix_cache_v2_req_prepare_for_extend(req)
    if not bool(entry.track_mask):
        return Extend(None, None, None), None
    owner = _owner(req, "mamba_last_track_seqlen")
    if hasattr(entry, "track_index"):
        slot = entry.track_index
    else:
        slot = int(owner.mamba_ping_pong_track_buffer[entry.track_position])
    state = _state_read(engine.config, prefix, end, entry.track_seqlen)
    return Extend(owner.mamba_last_track_seqlen, state, None), slot


def extend_checkpoint(c: Configuration, prefix: int, end: int) -> Extend:
    """What an extend from depth `prefix` to depth `end` donates to the radix tree."""
    with _settings(c):
        engine = _Engine(c, 0)
        req = _request("first", end)
        engine.pool.alloc([req])
        try:
            checkpoint, _ = _extend(engine, req, prefix, end)
        except AssertionError as error:
            failed_line = traceback.extract_tb(error.__traceback__)[-1].line
            return Extend(None, None, str(error) or failed_line)
        return checkpoint


def _keep_chunk(engine: _Engine, req: Req) -> None:
    """Put the computed chunk of an unfinished request into the tree, as the scheduler does."""
    if hasattr(cache_common, "checkpoint_kv_cache"):
        cache_common.checkpoint_kv_cache(req, engine.tree)
    else:
        cache_common.maybe_cache_unfinished_req(req, engine.tree, chunked=True)


def follower_after_extend(c: Configuration, prefix: int, end: int) -> Follower:
    """What a follower is given after a prefill in two chunks, to `prefix` and then to `end`."""
    with _settings(c):
        engine = _Engine(c, end)
        req = _request("first", end)
        engine.admit(req, end)
        chunks = [(0, prefix), (prefix, end)] if prefix else [(0, end)]
        for start, stop in chunks:
            checkpoint, slot = _extend(engine, req, start, stop)
            if slot is not None:
                engine.states[slot] = checkpoint.state
            engine.commit(req, stop)
            if stop != end:
                _keep_chunk(engine, req)
        req.output_ids.append(end + 1)
        req.finished_reason = FINISH_LENGTH(length=1)
        finish = {"is_insert": True, "checkpoint": True}  # one meaning, two names
        _call(cache_common.release_kv_cache, req=req, tree_cache=engine.tree, **finish)
        return engine.follower(end)
