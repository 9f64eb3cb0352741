"""Plays of several requests on the engine's own scheduler loop, each request followed by the model pass by pass.

A play says when requests arrive, how long they are and how they end, and for which steps no second lazy slot can be
had.  What shares a batch, in which row and in which order, is the engine's own choice.  The model is told of each
request what a trace tells: its passes, which of them ran in a mixed batch, and whether anything was in flight when the
next one was launched or the end came.  After every launch its slots have to be those of the engine, states included;
in the end every node has to give the state that the model says.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import patch

from generators.sglang.emit.trees import told_of
from spec.sglang.checkpoints import branching_checkpoint, node_of
from spec.sglang.releases import current
from spec.sglang.rules import tree
from spec.sglang.rules.grids import model_chunk
from spec.sglang.rules.tree import Node
from spec.sglang.scheduler import Scheduler
from tests.engines.sglang.comparison import (
    DESIGN,
    FAILS,
    engine,
    model,
    slots_of,
    slots_said,
)

# isort: split
import gridproof_sglang_loop as loops
import gridproof_sglang_script as scripts
import torch

_STATES, _TOKENS = 4096, 1 << 16  # so many that nothing is evicted or retracted
MOST_RUNNING = 8
# Up to 0.5.18 the engine counts rows in cache chunks: where a page is longer, it looks for them in another request's.
ROWS_ARE_COUNTED_AS_WRITTEN = DESIGN.extend_row_stride is model_chunk


class Differs(AssertionError):
    """The engine did something else than the model; says where, and what the two say."""


class Stopped(Exception):
    """The engine stopped at an assertion where the model says so."""


@dataclass(frozen=True)
class Arrival:
    """A request of `prompt` tokens that ends with the result of the pass that brings it to `stop` tokens.

    It arrives when the step that brings request number `of` of the play to `after` tokens has been launched last (its
    prompt, where that is its length), or with the play.  It ends by a stop token, or by its length.  `shares`: the
    tokens it starts with are so many of those of the first request, for whose end it waits.
    """

    prompt: int
    stop: int
    of: int | None = None
    after: int = 0
    by_length: bool = False
    shares: int = 0


@dataclass(frozen=True)
class Play:
    """Requests in the order of their arrival; `fails`: (number of the request, length of the step), where no slot can be had."""

    arrivals: tuple[Arrival, ...]
    fails: tuple[tuple[int, int], ...] = ()

    @property
    def most(self):
        """More iterations of the loop than it can take."""
        return sum(arrival.stop + 50 for arrival in self.arrivals)


def rows_read(c, batch):
    """By row of an extend batch that keeps a state: tokens that the state which is copied for it has consumed."""
    backend = object.__new__(engine.MambaAttnBackendBase)
    backend.device, backend._mamba_chunk_size = "cpu", None
    backend._model_runner = SimpleNamespace(model_config=engine.model_config(c))
    rows = range(len(batch.reqs))
    lengths, prefixes, chunk = batch.extend_lens, batch.prefix_lens, c.mamba_chunk_size
    forward_batch = SimpleNamespace(
        forward_mode=batch.forward_mode,
        batch_size=len(rows),
        mamba_track_mask=batch.mamba_track_mask,
        mamba_track_indices=torch.tensor([engine.TRACK_SLOT + row for row in rows]),
        mamba_track_seqlens=batch.mamba_track_seqlens,
        extend_seq_lens=torch.tensor(lengths),
        extend_prefix_lens=torch.tensor(prefixes),
        mamba_prefill_track_mask_cpu=getattr(batch, "mamba_prefill_track_mask_cpu", None),
        mamba_track_seqlens_cpu=getattr(batch, "mamba_track_seqlens_cpu", None),
        extend_seq_lens_cpu=lengths,
        extend_prefix_lens_cpu=prefixes,
    )
    live = torch.tensor([engine._LIVE_SLOT + row for row in rows])
    indices = backend._init_track_ssm_indices(live, forward_batch)
    lists = [[] if tensor is None else tensor.tolist() for tensor in indices]
    # Kernels write the states of all chunks, one request after the other.
    chunks = [-(-length // chunk) for length in lengths]
    first = [sum(chunks[:row]) for row in rows]
    read = {}
    for sources, targets in pairwise(lists):  # a source always stands before its destination
        for source, target in zip(sources, targets, strict=False):
            if (row := target - engine.TRACK_SLOT) < 0:
                continue
            if source >= engine._LIVE_SLOT:
                read[row] = prefixes[row] + lengths[row]
                same = source == engine._LIVE_SLOT + row
            else:
                read[row] = prefixes[row] + (source - first[row]) * chunk
                same = 0 <= source - first[row] < chunks[row]
            if not same:
                raise Differs(f"row {row} of extends of {lengths} tokens reads {source}")
    return read


class Followed:
    """One request in the model, and how many of its passes have no result in the engine."""

    def __init__(self, c, prefix):
        self.scheduler = Scheduler(DESIGN, c)
        self.request = self.scheduler.admit(prefix)
        self.outstanding = 0
        self.ended = False

    def off(self, length):
        """How far a length lies from the nearest boundary (tokens)."""
        grid = self.scheduler.grid
        return (length + grid // 2) % grid - grid // 2

    def launched(self, end, extends, mixed, fails, branching):
        """A pass that brings the request to `end` tokens; gives the names of what happened."""
        s, r = self.scheduler, self.request
        happens = ["extend" if extends else "decode"]
        if s.ahead and r.waiting and not self.outstanding:
            happens.append("other_batch")
            r = s.other_batch(r)
        if mixed:
            happens.append("mixed_batch")
            r = s.mixed_batch(r)
        if extends:
            r = s.extend(r, end, self._kept(end, branching))
        else:
            if fails and end % s.grid == 0:
                happens.append("allocation_failure")
                r = s.allocation_failure(r)
            r = s.decode(r, end)
        self.request = r
        self.outstanding += 1
        return happens

    def stops(self, end, branching):
        """Whether an extend to `end` tokens ends at an assertion."""
        kept = self._kept(end, branching)
        return self.scheduler.extend(self.request, end, kept).stopped

    def _kept(self, end, branching):
        """The branching point that an extend to `end` tokens keeps, of the one that it is told."""
        s, start = self.scheduler, self.request.length
        told = branching is not None
        told = told and branching_checkpoint(s.design, s.c, start, end, branching).wanted
        return branching if told else None

    def finished(self, end):
        """The result of the pass that brought the request to `end` tokens ends it."""
        s, r = self.scheduler, self.request
        if not self.outstanding:
            r = s.other_batch(r)
        if s.ends_with(r).end != end:
            raise Differs(f"it ends with the pass to {end} tokens, the model's next is {r.waiting}")
        self.request = s.finish(r)
        self.ended = True


class Company(scripts.Server):
    """The real scheduler, which plays one play after the other."""

    def __init__(self, launch, plays):
        self.plays, self.number = plays, -1
        self.c = model(launch)
        self.c.speculative_num_draft_tokens = 0
        self.followed = {}
        self.met = Counter()
        super().__init__(launch, Company.direct, _TOKENS)
        self._forget_what_is_allocated()

    def _forget_what_is_allocated(self):
        allocator = self.req_to_token_pool.mamba_allocator
        real = allocator.alloc

        def alloc(count):
            slots = real(count)
            for slot in [] if slots is None else slots.tolist():
                self.states.pop(slot, None)
            return slots

        allocator.alloc = alloc

    # The script.

    @property
    def play(self):
        return self.plays[self.number]

    def _name(self, index):
        return f"{self.number}-{index}"

    def _over(self):
        names = [self._name(i) for i in range(len(self.play.arrivals))]
        here = [self.followed.get(name) for name in names]
        return all(f is not None and f.ended and not f.outstanding for f in here)

    def _launched_last(self, index):
        """The length (tokens) that a request of this play was brought to last; None before its first pass."""
        followed = self.followed.get(self._name(index))
        return None if followed is None else followed.request.length

    def direct(self):
        """Let arrive what is due; called once in each iteration."""
        if self.number < 0 or self._over():
            if self.number >= 0:
                self._compare_the_tree()
                self._forget_the_play()
            self.number += 1
            if self.number == len(self.plays):
                self.stop()
                return
        for index, arrival in enumerate(self.play.arrivals):
            if self._is_due(arrival):
                self._let_arrive(index, arrival)
        failing = any(self._launched_last(i) == length - 1 for i, length in self.play.fails)
        FAILS.set(failing)

    def _forget_the_play(self):
        """Leave pools and tree as new, and nothing of the requests."""
        self.tree_cache.reset()
        self.req_to_token_pool.clear()
        self.token_to_kv_pool_allocator.clear()
        for of_requests in (self.requests, self.tokens, self.followed, self.resumed, self.states):
            of_requests.clear()

    def _is_due(self, arrival):
        if arrival.shares:
            first = self.followed.get(self._name(0))
            return first is not None and first.ended and not first.outstanding
        return arrival.of is None or self._launched_last(arrival.of) == arrival.after

    def _let_arrive(self, index, arrival):
        name, base = self._name(index), 1000 * (1 + 8 * self.number + index)
        prompt = range(1_000_000 + base, 1_000_000 + base + arrival.prompt)
        if arrival.shares:
            prompt = [*self.tokens[self._name(0)][: arrival.shares], *prompt][: arrival.prompt]
        stop = None if arrival.by_length else arrival.stop
        limit = arrival.stop - arrival.prompt + 1 if arrival.by_length else 1 << 12
        self.arrive(name, prompt, stop, limit)

    # What the engine did.

    def _prepare_slots(self, batch):
        super()._prepare_slots(batch)
        slots = self.req_to_token_pool.req_index_to_mamba_index_mapping[batch.req_pool_indices]
        for request, (prefix, _), slot in zip(
            batch.reqs, self._rows(batch), slots.tolist(), strict=True
        ):
            if request.rid not in self.followed:  # a wrong state is the matter of who donated it
                self.states[slot] = tuple(self.tokens[request.rid][:prefix])

    def _checkpoint(self, batch, row, prefix, end):
        together = len(batch.reqs) > 1 and ROWS_ARE_COUNTED_AS_WRITTEN
        if batch.forward_mode.is_decode() or batch.mamba_track_mask is None or not together:
            return super()._checkpoint(batch, row, prefix, end)
        return rows_read(self.launch, batch).get(row)

    def run_batch(self, batch, pp_proxy_tensors=None):
        rows = self._rows(batch)
        decodes = batch.forward_mode.is_decode()
        mixed = not decodes and batch.forward_mode.is_mixed()
        branching = [getattr(r, "mamba_branching_seqlen", None) for r in batch.reqs]
        result = super().run_batch(batch, pp_proxy_tensors)
        running = batch.decoding_reqs if mixed else batch.reqs if decodes else []
        for row, (request, (prefix, end)) in enumerate(zip(batch.reqs, rows, strict=True)):
            if request.rid not in self.followed:
                self.followed[request.rid] = Followed(self.c, prefix)
            followed = self.followed[request.rid]
            self._same(prefix, followed.request.length, f"where {request.rid} goes on")
            extends = not any(request is other for other in running)
            fails = FAILS.get() and self.launch.lazy
            happens = followed.launched(end, extends, mixed, fails, branching[row])
            self.met.update((event, followed.off(end)) for event in happens)
            self.met["row", row, len(rows)] += 1
            self._compare_slots(request, followed)
        return result

    def process_batch_result(self, batch, result):
        before = [request.finished() for request in batch.reqs]
        for request in batch.reqs:
            self.followed[request.rid].outstanding -= 1
        super().process_batch_result(batch, result)
        for request, was in zip(batch.reqs, before, strict=True):
            if request.finished() and not was:
                sampled = len(request.output_ids)
                end = len(request.origin_input_ids) + sampled - 1
                followed = self.followed[request.rid]
                event = "ends ahead" if followed.outstanding else "ends alone"
                self.met[event, followed.off(end)] += 1
                followed.finished(end)

    def is_told_to_stop(self, request, prefix, end):
        """Whether the model says that this extend ends at an assertion."""
        followed = self.followed.get(request.rid, Followed(self.c, prefix))
        return followed.stops(end, getattr(request, "mamba_branching_seqlen", None))

    # What the model says.

    def _compare_slots(self, request, followed):
        seen = slots_of(request, self.req_to_token_pool, lambda slot: self._consumed(request, slot))
        said = slots_said(followed.request.slots, seen)
        self._same(seen, said, f"at {followed.request.length} tokens of {request.rid}")

    def _same(self, observed, expected, where):
        if observed != expected:
            raise Differs(f"{where}: the engine {observed}, the model {expected}, in {self.play}")

    def _compare_the_tree(self):
        expected = {}
        names = [self._name(index) for index in range(len(self.play.arrivals))]
        for name in names:
            for donation in self.followed[name].request.donated:
                checkpoint = donation.checkpoint
                depth = int(node_of(DESIGN, self.c, checkpoint)) if checkpoint.saved else 0
                if depth:
                    key = tuple(self.tokens[name][:depth])
                    node, keeps = expected.get(key, Node(depth)), current(DESIGN.node_keeps)
                    expected[key] = tree.donated(node, int(checkpoint.state), keeps)
        for name in names:
            tokens = tuple(self.tokens[name])
            path = [node for key, node in expected.items() if tokens[: len(key)] == key]
            for length in {len(tokens), *(node.depth for node in path)}:
                nodes = sorted((n for n in path if n.depth <= length), key=lambda n: n.depth)
                given = self._given(self.requests[name], length)
                told = told_of(tree.given(nodes))
                self._same(given, told, f"a follower of {length} tokens of {name}")

    def _given(self, request, length):
        """What a follower with so many of a request's tokens is given."""
        asks = engine.request("asks", [*self.tokens[request.rid][:length], 1 << 30])
        asks.init_next_round_input(self.tree_cache, cow_mamba=True)
        source = engine.owner(asks, "mamba_cow_src_index").mamba_cow_src_index
        if source is None:
            return {"node": 0, "state": None}
        node = asks.prefix_len if hasattr(asks, "prefix_len") else len(asks.prefix_indices)
        return {"node": node, "state": self._consumed(request, int(source))}


def _with_many_states():
    """Pools with room for so many states that none is evicted."""
    real = engine.HybridReqToTokenPool

    @wraps(real)
    def roomy(**arguments):
        return real(**{**arguments, "mamba_size": _STATES, "size": MOST_RUNNING})

    return patch.object(engine, "HybridReqToTokenPool", roomy)


def _stopping_where_the_model_does(company):
    """The engine's preparation of an extend, which may stop at an assertion only where the model says so."""
    prepare = "_mamba_radix_cache_v2_req_prepare_for_extend"
    real = getattr(engine.ScheduleBatch, prepare)

    def prepared(batch, request):
        if hasattr(request, "extend_range"):
            start, end = len(request.prefix_indices), request.extend_range.end
        else:
            start, end = request.prefix_len, request.extend_end
        stops = company.is_told_to_stop(request, start, end)
        where = f"an extend from {start} to {end} tokens in {company.play}"
        try:
            entry = real(batch, request)
        except AssertionError as error:
            if stops:
                raise Stopped(where) from error
            raise Differs(f"{where}: the engine stops") from error
        if stops:
            raise Differs(f"{where}: the engine does not stop")
        return entry

    return patch.object(engine.ScheduleBatch, prepare, prepared)


def play(launch, plays: Sequence[Play]):
    """Play them to their end, or to the first assertion of the engine that is known, and give the loop.

    Known are the assertions of the model.  Raises `Differs` where the model says something else.
    """
    with ExitStack() as stack:
        stack.enter_context(_with_many_states())
        stack.enter_context(patch.object(loops, "_MAX_REQUESTS", MOST_RUNNING))
        stack.enter_context(patch.object(scripts, "MOST_ITERATIONS", sum(p.most for p in plays)))
        stack.enter_context(loops._surroundings(launch))
        stack.callback(FAILS.clear)
        company = Company(launch, plays)
        stack.enter_context(_stopping_where_the_model_does(company))
        loop = company.event_loop_overlap if launch.overlap else company.event_loop_normal
        with suppress(Stopped):
            loop()
    return company
