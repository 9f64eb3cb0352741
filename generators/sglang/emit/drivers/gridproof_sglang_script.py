"""Play a script of requests on SGLang's own scheduler loop: from which state each of them goes on.

A script is called once in each iteration of the loop and lets requests arrive, be aborted or end.
What the loop replaces is described in `gridproof_sglang_loop`; only what would report to a client
is replaced here besides. All lengths and depths are in tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import gridproof_sglang_loop as loops
import torch
from gridproof_sglang import Follower, owner

# isort: split
from sglang.srt.disaggregation.utils import DisaggregationMode
from sglang.srt.managers.schedule_batch import Req, ScheduleBatch

MOST_ITERATIONS = 3000
_EARLIER = (-1,)  # the state that an earlier request left in a slot

Condition = Callable[["Server"], bool]
Action = Callable[["Server"], Any]


class Server(loops._Loop):
    """The real scheduler, driven by a script.

    `resumed`: for each request the tokens that its last extend started from, and those that the
    state it started from has consumed.
    """

    def __init__(self, launch: loops.Launch, script: Action, cache_tokens: int) -> None:
        self.script = script
        self.resumed: dict[str, Follower] = {}
        with patch.object(loops, "_CACHE_TOKENS", cache_tokens):
            super().__init__(launch, loops.Story(prompt=1, stop_length=1))
        slots = range(1, self.req_to_token_pool.mamba_pool.size + 1)
        self.states = dict.fromkeys(slots, _EARLIER)

    def _set_surroundings(self) -> None:
        super()._set_surroundings()
        self.disaggregation_mode = DisaggregationMode.NULL
        self.metrics_reporter.enable_metrics = False
        self.beam_coordinator.retire_group = lambda req: None
        self.grammar_manager.abort_requests = lambda abort: None
        self.send_abort_output = lambda abort, req: None
        # What some releases read there.
        self.server_args = loops._Fields()
        self.ps = SimpleNamespace(pp_size=1)
        self.ipc_channels = loops._Fields(send_to_tokenizer=loops._Quiet())

    def arrive(
        self,
        name: str,
        prompt: Iterable[int],
        stop: int | None = None,
        limit: int = 1 << 12,
        session: Any = None,
    ) -> Req:
        """Queue a request that stops with the step at `stop` tokens, or after `limit` sampled ones."""
        if name not in self.requests:
            self._arrive(name, prompt, stop)
            self.requests[name].sampling_params.max_new_tokens = limit
            self.requests[name].session = session
        return self.requests[name]

    def ended(self, name: str) -> bool:
        """Whether a request has arrived and finished."""
        return name in self.requests and self.requests[name].finished()

    def sampled(self, name: str) -> int:
        """Tokens sampled for a request, or 0 before it arrives; those of steps in flight count."""
        if name not in self.requests:
            return 0
        return len(self.tokens[name]) - len(self.requests[name].origin_input_ids)

    def processed(self, name: str) -> list[int]:
        """All tokens of a request whose results were processed."""
        request = self.requests[name]
        return [*request.origin_input_ids, *request.output_ids]

    def stop(self) -> None:
        """End the loop with this iteration."""
        self.gracefully_exit = True

    def ingest_requests(self, stop_at_pause: bool = False) -> list:
        self.iteration += 1
        if self.iteration > MOST_ITERATIONS:
            raise RuntimeError(f"the script did not end within {MOST_ITERATIONS} iterations")
        for name, request in self.requests.items():
            if request.is_retracted:  # the result of its step in flight was dropped
                self.tokens[name] = self.processed(name)
        self.script(self)
        return []

    def run_batch(self, batch: ScheduleBatch, pp_proxy_tensors: Any = None) -> Any:
        if not batch.forward_mode.is_decode():
            self._prepare_slots(batch)
            slots = self.req_to_token_pool.req_index_to_mamba_index_mapping[batch.req_pool_indices]
            for request, prefix, slot in zip(batch.reqs, batch.prefix_lens, slots, strict=True):
                self.resumed[request.rid] = Follower(prefix, self._consumed(request, slot))
        return super().run_batch(batch, pp_proxy_tensors)

    def _consumed(self, request: Req, slot: torch.Tensor) -> int:
        state = self.states.get(int(slot))
        if state is None:
            return loops.UNWRITTEN
        own = tuple(self.tokens[request.rid][: len(state)])
        return len(state) if state == own else loops.FOREIGN


def serve(
    launch: loops.Launch,
    script: Action,
    cache_tokens: int,
    attach: Action = lambda server: None,
) -> Server:
    """Play a script to its end; `attach` may give the server another cache before."""
    with loops._surroundings(launch):
        server = Server(launch, script, cache_tokens)
        attach(server)
        if launch.overlap:
            server.event_loop_overlap()
        else:
            server.event_loop_normal()
    return server


def at_once(**events: tuple[Condition, Action]) -> Action:
    """A script of events: each happens once, as soon as its condition holds."""
    left = dict(events)

    def script(server: Server) -> None:
        for name, (when, what) in list(left.items()):
            if when(server):
                del left[name]
                what(server)

    return script


def copied_from(req: Req) -> int | None:
    """The slot whose state a request is to start from a copy of, if any."""
    source = owner(req, "mamba_cow_src_index").mamba_cow_src_index
    return None if source is None else int(source)
