"""Drive SGLang's own scheduler loop on a CPU: what a follower is given after a story of requests.

Real: `event_loop_overlap` and `event_loop_normal`, the choice of the next batch, the prefill adder,
mixed chunks, the batches, the request and cache pools, the result processor and the unified radix
tree. Replaced in the scheduler:

- `__init__`, which would load a model: the fields that the loop reads are set here, all others
  read None;
- `run_batch`, the forward pass: it appends the tokens of each row to the state in the row's slot
  and copies states into the slots that the batch names, in the order of the launches;
- `ingest_requests` and `process_input_requests`, which bring the requests of the story;
- `process_batch_result`, which keeps the real result processor and drops metrics and tracing;
- `on_idle`, the checks of an idle server, and the streaming of outputs.

Replaced around it: sampling information, the order of the waiting queue (first come, first served)
and the Triton kernels of the page allocator, for which SGLang's own Python version is called.

A state is the sequence of tokens that it has consumed. All lengths and depths are in tokens.
Works on SGLang 0.5.17 to 0.5.23.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import gridproof_sglang as engine
import torch
from gridproof_sglang import Configuration, Engine, Follower

# isort: split
from sglang.srt.managers.schedule_batch import Req, ScheduleBatch
from sglang.srt.managers.schedule_policy import SchedulePolicy
from sglang.srt.managers.scheduler import Scheduler
from sglang.srt.mem_cache.allocator import paged
from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo
from sglang.srt.sampling.sampling_params import SamplingParams
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

UNWRITTEN = -1  # the state of a slot that no forward pass wrote
FOREIGN = -2  # a state that consumed other tokens than the follower starts with

_STOP_TOKEN = 7
_VOCABULARY = 1 << 20
_CACHE_TOKENS = 32768
_MAX_REQUESTS = 4
_FIRST_ARRIVES = 6  # iteration of the loop; a request that decodes beside it arrives in the first
_MAX_ITERATIONS = 3000


@dataclass(frozen=True)
class Launch(Configuration):
    """Server settings with those of the scheduler; `chunked_prefill_size` is in tokens."""

    mixed_chunk: bool = False
    chunked_prefill_size: int | None = None


@dataclass(frozen=True)
class Story:
    """What is asked of the server before the follower comes.

    The first request has `prompt` tokens and samples its stop token in the step at `stop_length`.
    The prefill of another request, of `other_prompt` tokens, is launched right after the step of
    the first one at `other_prefill_after`. With `decoding_beside`, a third request decodes
    throughout. The follower comes when the request that it `follows` has finished: "first" or
    "other". With `twin`, another one that starts with the same tokens comes together with it.
    """

    prompt: int
    stop_length: int
    other_prefill_after: int | None = None
    decoding_beside: bool = False
    other_prompt: int = 10
    follows: str = "first"
    twin: bool = False

    @property
    def other_stop(self) -> int:
        """Length of the step in which the other request samples its stop token."""
        return self.other_prompt + 2


def follower_of(launch: Launch, story: Story) -> Follower:
    """What a request with the followed one's tokens and two more is served with after the story."""
    return _played(launch, story).seen["follower"]


def twins_of(launch: Launch, story: Story) -> list[Follower]:
    """What two requests with the followed one's tokens are served with, which come together."""
    seen = _played(launch, replace(story, twin=True)).seen
    return [seen["follower"], seen["twin"]]


def slots_held(launch: Launch, story: Story, length: int) -> int:
    """State slots for checkpoints that the first request holds at the launch of its step at `length`."""
    return _played(launch, story).held[length]


def _played(launch: Launch, story: Story) -> _Loop:
    """The loop after it has played a story."""
    with _surroundings(launch):
        loop = _Loop(launch, story)
        if launch.overlap:
            loop.event_loop_overlap()
        else:
            loop.event_loop_normal()
    if loop.other_launched_after != story.other_prefill_after:
        raise RuntimeError("the other prefill was not launched where the story says")
    return loop


class _Fields(SimpleNamespace):
    """A record whose other fields read None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


class _Quiet(SimpleNamespace):
    """Metrics, streams or sampling parameters of which every other method does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


class _Kernel:
    """A Python function that is called like a Triton kernel: with a grid, which it ignores."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return self.function


def _allocate_extend(prefixes, lengths, last, free, out, _batch_size, page_size) -> None:
    """The cache locations of an extend, by SGLang's own Python version of the kernel."""
    paged.alloc_extend_naive(prefixes, lengths, last, free, out, page_size, "cpu")


def _allocate_decode(lengths, last, free, out, batch_size, page_size) -> None:
    """The cache locations of a decode step, which extends each request by one token."""
    _allocate_extend(lengths - 1, lengths, last, free, out, batch_size, page_size)


@contextmanager
def _surroundings(launch: Launch) -> Iterator[None]:
    """Publish the launch to the engine and replace what surrounds the scheduler."""
    sampling = _Quiet(penalizer_orchestrator=SimpleNamespace(is_required=False))
    replaced = (
        (paged, "alloc_extend_kernel", _Kernel(_allocate_extend)),
        (paged, "alloc_decode_kernel", _Kernel(_allocate_decode)),
        (SamplingBatchInfo, "from_schedule_batch", lambda *args, **kwargs: sampling),
        (SchedulePolicy, "calc_priority", lambda *args, **kwargs: None),
    )
    with ExitStack() as stack:
        scheduling = engine.settings(
            launch,
            chunked_prefill_size=launch.chunked_prefill_size or -1,
            enable_mixed_chunk=launch.mixed_chunk,
            pp_max_micro_batch_size=_MAX_REQUESTS,
            attention_backend="torch_native",
        )
        stack.enter_context(scheduling)
        for owner, name, replacement in replaced:
            stack.enter_context(patch.object(owner, name, replacement))
        yield


class _Loop(Scheduler):
    """The real scheduler around a fake forward pass, which plays one story."""

    def __init__(self, launch: Launch, story: Story) -> None:
        self.launch = launch
        self.story = story
        self.iteration = 0
        self.requests: dict[str, Req] = {}
        self.tokens: dict[str, list[int]] = {}  # prompt and all sampled tokens of each request
        self.states: dict[int, tuple[int, ...]] = {}  # tokens consumed by the state in each slot
        self.other_launched_after: int | None = None
        self.seen: dict[str, Follower] = {}  # what each follower is served with
        self.held: dict[int, int] = {}  # slots of the first request, by the length of its steps
        self._set_memory()
        self._set_limits()
        self._set_surroundings()
        self.batch_result_processor = self._result_processor()
        self.policy = SchedulePolicy("fcfs", self.tree_cache, False, False, False)

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)

    def _set_memory(self) -> None:
        pools = Engine(self.launch, _CACHE_TOKENS)
        self.req_to_token_pool = pools.pool
        self.token_to_kv_pool_allocator = pools.allocator
        self.tree_cache = pools.tree
        self.waiting_queue = []
        self.running_batch = ScheduleBatch(reqs=[], batch_is_full=False)

    def _set_limits(self) -> None:
        self.page_size = self.launch.page_size
        self.enable_overlap = self.launch.overlap
        self.chunked_prefill_size = self.launch.chunked_prefill_size
        self.truncation_align_size = None
        if hasattr(Scheduler, "init_mamba_truncation_align"):  # from 0.5.23 on
            self.init_mamba_truncation_align()
        self.is_mixed_chunk = self.launch.mixed_chunk
        self.max_prefill_tokens = _CACHE_TOKENS
        self.max_running_requests = _MAX_REQUESTS
        self.max_prefill_bs = 0
        self.prefill_decode_interval = 0
        self._prefill_decode_interval_remaining = 0
        self.new_token_ratio_tracker = SimpleNamespace(current=0.1, decay_step=lambda: None)

    def _set_surroundings(self) -> None:
        self.is_generation = True
        self.spec_algorithm = SpeculativeAlgorithm.NONE
        self.model_config = engine.model_config(self.launch)
        self.model_config.vocab_size = _VOCABULARY
        self.model_config.think_end_ids = []
        self.model_config.self_opened_think_start_ids = None
        runner = SimpleNamespace(attn_backend=SimpleNamespace(), prefill_aware_swa=False)
        self.tp_worker = SimpleNamespace(model_runner=runner)
        self.dp_attn_adapter = SimpleNamespace(
            maybe_prepare_mlp_sync_batch=lambda batch, **options: batch,
            maybe_convert_decode_to_extend=lambda batch, **options: batch,
        )
        self.ngram_embedding_manager = SimpleNamespace(
            prepare_for_forward=lambda batch, **options: batch
        )
        self.beam_coordinator = SimpleNamespace(
            pending_member_rows=lambda batch: 0, commit_decode=lambda batch: set()
        )
        self.grammar_manager = SimpleNamespace(has_waiting_grammars=lambda: False)
        self.load_inquirer = SimpleNamespace(_get_num_pending_tokens=lambda **kwargs: 0)
        self.request_receiver = SimpleNamespace(recv_requests=lambda *args: [])
        self.metrics_reporter = _Quiet(num_generated_tokens=0, forward_ct_decode=0)

    def _result_processor(self) -> engine.SchedulerBatchResultProcessor:
        """The real result processor, around the loop's pools."""
        names = [field.name for field in fields(engine.SchedulerBatchResultProcessor)]
        parts = {name: getattr(self, name) for name in names}
        parts.update(output_streamer=_Quiet())
        return engine.SchedulerBatchResultProcessor(**parts)

    def ingest_requests(self, stop_at_pause: bool = False) -> list:
        """Let the requests of the story arrive; called once in each iteration."""
        self.iteration += 1
        if self.iteration > _MAX_ITERATIONS:
            raise RuntimeError(f"no follower was launched in {_MAX_ITERATIONS} iterations")
        if self.iteration == 1 and self.story.decoding_beside:
            self._arrive("beside", range(600_000, 600_007), None)
        if self.iteration == _FIRST_ARRIVES:
            self._arrive("first", range(1000, 1000 + self.story.prompt), self.story.stop_length)
        other_after = self.story.other_prefill_after
        if other_after is not None and self._last_step() == other_after:
            other = range(500_000, 500_000 + self.story.other_prompt)
            self._arrive("other", other, self.story.other_stop)
        followed = self.story.follows
        if followed in self.requests and self.requests[followed].finished():
            stop = self.requests[followed].stop_length
            tokens = self.tokens[followed][: stop + 1]
            self._arrive("follower", [*tokens, 900_001, 900_002], None)
            if self.story.twin:
                self._arrive("twin", [*tokens, 900_003], None)
        return []

    def process_input_requests(self, recv_reqs: list) -> None:
        """The same for the releases that receive requests in the loop itself."""
        self.ingest_requests()

    def _last_step(self) -> int | None:
        """Length of the first request in the step that was launched last, if any."""
        if "first" not in self.tokens or len(self.tokens["first"]) == self.story.prompt:
            return None
        return len(self.tokens["first"]) - 1  # the last token is sampled, not consumed

    def _arrive(self, name: str, prompt: Any, stop_length: int | None) -> None:
        """Queue a request, unless it has arrived before."""
        if name in self.requests:
            return
        sampling = SamplingParams(max_new_tokens=1 << 14, stop_token_ids=[_STOP_TOKEN])
        sampling.normalize(None)
        prompt = array("q", prompt)
        request = Req(name, "", prompt, sampling_params=sampling, vocab_size=_VOCABULARY)
        request.stop_length = stop_length
        self.requests[name] = request
        self.tokens[name] = list(prompt)
        self.waiting_queue.append(request)

    def run_batch(self, batch: ScheduleBatch, pp_proxy_tensors: Any = None) -> _Fields:
        """The forward pass: advance the state of each row and write the checkpoints asked for."""
        if not batch.forward_mode.is_decode():
            self._prepare_slots(batch)
        rows = self._rows(batch)
        checkpoints = self._checkpoints(batch, rows)
        slots = self.req_to_token_pool.req_index_to_mamba_index_mapping[batch.req_pool_indices]
        for row, (request, slot) in enumerate(zip(batch.reqs, slots.tolist(), strict=True)):
            prefix, end = rows[row]
            if request.rid == "other" and prefix == 0:
                self.other_launched_after = self._last_step()
            if request.rid in ("follower", "twin"):
                self._observe(request.rid, prefix, slot)
                continue
            if request.rid == "first":
                buffer = engine.owner(request, "mamba_next_track_idx").mamba_ping_pong_track_buffer
                if buffer is not None:
                    self.held[end] = sum(entry != -1 for entry in buffer.tolist())
            # A slot that was neither cleared nor copied into holds what another request left.
            before, tokens = self.states.get(slot, (FOREIGN,)), self.tokens[request.rid]
            depth = checkpoints[row]
            target = -1 if depth is None else int(batch.mamba_track_indices[row])
            if target >= 0:  # a copy to no slot is none
                own = before + tuple(tokens[prefix:depth])
                self.states[target] = (FOREIGN,) if depth == engine.OTHERS else own
            self.states[slot] = before + tuple(tokens[prefix:end])
        batch.input_ids = None
        sampled = [self._sample(r, end) for r, (_, end) in zip(batch.reqs, rows, strict=True)]
        return _Fields(
            next_token_ids=torch.tensor(sampled),
            logits_output=_Fields(),
            get_num_generated_tokens=lambda batch_size: batch_size,
        )

    def _prepare_slots(self, batch: ScheduleBatch) -> None:
        """Copy the states that new requests are served with, and clear the slots of the others."""
        if batch.mamba_cow_src_indices is not None:
            sources = batch.mamba_cow_src_indices.tolist()
            targets = batch.mamba_cow_dst_indices.tolist()
            for source, target in zip(sources, targets, strict=True):
                self.states.pop(target, None)
                if source in self.states:
                    self.states[target] = self.states[source]
        if batch.mamba_clear_indices is not None:
            for slot in batch.mamba_clear_indices.tolist():
                self.states[slot] = ()

    def _rows(self, batch: ScheduleBatch) -> list[tuple[int, int]]:
        """The depths between which each row of the batch consumes tokens."""
        if batch.forward_mode.is_decode():
            return [(length - 1, length) for length in batch.seq_lens_cpu.tolist()]
        lengths = zip(batch.prefix_lens, batch.extend_lens, strict=True)
        return [(prefix, prefix + length) for prefix, length in lengths]

    def _checkpoints(self, batch: ScheduleBatch, rows: list[tuple[int, int]]) -> list[int | None]:
        """Depth of the state that the batch asks a copy of for each of its rows, if any."""
        # Some releases drop the mask of a mixed chunk: then nothing is copied.
        masks = [False] * len(rows)
        if batch.mamba_track_mask is not None:
            masks = batch.mamba_track_mask.tolist()
        if not any(masks):
            return [None] * len(rows)
        if batch.forward_mode.is_decode():
            return [end if mask else None for mask, (_, end) in zip(masks, rows, strict=True)]
        tracked = batch.mamba_track_seqlens.tolist()
        asked = [length if mask else None for mask, length in zip(masks, tracked, strict=True)]
        extends = [(*row, length) for row, length in zip(rows, asked, strict=True)]
        return [read.state for read in engine.rows_read(self.launch, extends)]

    def _sample(self, request: Req, end: int) -> int:
        """The token sampled in a step at a length; a chunk that ends in the prompt samples none."""
        tokens = self.tokens[request.rid]
        if end < len(tokens):
            return 0
        token = _STOP_TOKEN if end == request.stop_length else 10_000 + end
        tokens.append(token)
        return token

    def _observe(self, name: str, node: int, slot: int) -> None:
        """Keep what a follower's own slot holds when it is launched, and end the loop."""
        state = self.states.get(slot)
        if node == 0:
            consumed = None
        elif state is None:
            consumed = UNWRITTEN
        else:
            own = tuple(self.tokens[name][: len(state)])
            consumed = len(state) if state == own else FOREIGN
        self.seen[name] = Follower(node, consumed)
        self.gracefully_exit = True

    def process_batch_result(self, batch: ScheduleBatch, result: _Fields) -> None:
        """Hand a result to the real result processor."""
        if batch.forward_mode.is_decode():
            self.batch_result_processor.process_batch_result_decode(batch, result)
        else:
            self.batch_result_processor.process_batch_result_prefill(batch, result)

    def on_idle(self) -> None:
        """Check nothing while no request runs."""
