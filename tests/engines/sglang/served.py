"""Requests played on the engine's own scheduler loop: with what state each of them goes on.

A script is called once in each iteration of the loop and lets requests arrive, be aborted or end.
What the loop replaces is told in `gridproof_sglang_loop`; nothing else is replaced here but what
would report to a client.
"""

from unittest.mock import patch

from tests.engines.sglang.comparison import engine

# isort: split
import gridproof_sglang_loop as loops
from sglang.srt.disaggregation.utils import DisaggregationMode

MOST_ITERATIONS = 3000
_EARLIER = (-1,)  # the state that an earlier request left in a slot


class Server(loops._Loop):
    """The real scheduler, driven by a script; `resumed` is what each request's last extend started from."""

    def __init__(self, launch, script, cache_tokens):
        self.script = script
        self.resumed = {}
        with patch.object(loops, "_CACHE_TOKENS", cache_tokens):
            super().__init__(launch, loops.Story(prompt=1, stop_length=1))
        slots = range(1, self.req_to_token_pool.mamba_pool.size + 1)
        self.states = dict.fromkeys(slots, _EARLIER)

    def _set_surroundings(self):
        super()._set_surroundings()
        self.disaggregation_mode = DisaggregationMode.NULL
        self.metrics_reporter.enable_metrics = False
        self.beam_coordinator.retire_group = lambda req: None
        self.grammar_manager.abort_requests = lambda abort: None
        self.send_abort_output = lambda abort, req: None
        self.ipc_channels = loops._Fields(send_to_tokenizer=loops._Quiet())

    def arrive(self, name, prompt, stop=None, limit=1 << 12, session=None):
        """Queue a request that stops with the step at `stop` tokens, or after `limit` sampled ones."""
        if name not in self.requests:
            self._arrive(name, prompt, stop)
            self.requests[name].sampling_params.max_new_tokens = limit
            self.requests[name].session = session
        return self.requests[name]

    def ended(self, name):
        """Whether a request has arrived and finished."""
        return name in self.requests and self.requests[name].finished()

    def sampled(self, name):
        """How many tokens a request has been given, those of results still to come with them."""
        return len(self.tokens[name]) - len(self.requests[name].origin_input_ids)

    def said(self, name):
        """All tokens of a request whose results were processed."""
        request = self.requests[name]
        return [*request.origin_input_ids, *request.output_ids]

    def stop(self):
        """End the loop with this iteration."""
        self.gracefully_exit = True

    def ingest_requests(self, stop_at_pause=False):
        self.iteration += 1
        if self.iteration > MOST_ITERATIONS:
            raise RuntimeError(f"the script did not end within {MOST_ITERATIONS} iterations")
        for name, request in self.requests.items():
            if request.is_retracted:  # the result of its step in flight was dropped
                self.tokens[name] = self.said(name)
        self.script(self)
        return []

    def run_batch(self, batch, pp_proxy_tensors=None):
        if not batch.forward_mode.is_decode():
            self._prepare_slots(batch)
            slots = self.req_to_token_pool.req_index_to_mamba_index_mapping[batch.req_pool_indices]
            for request, prefix, slot in zip(batch.reqs, batch.prefix_lens, slots, strict=True):
                self.resumed[request.rid] = engine.Follower(prefix, self._consumed(request, slot))
        return super().run_batch(batch, pp_proxy_tensors)

    def _consumed(self, request, slot):
        state = self.states.get(int(slot))
        if state is None:
            return loops.UNWRITTEN
        own = tuple(self.tokens[request.rid][: len(state)])
        return len(state) if state == own else loops.FOREIGN


def serve(launch, script, cache_tokens, attach=lambda server: None):
    """Play a script to its end; `attach` may give the server another cache before."""
    with loops._surroundings(launch):
        server = Server(launch, script, cache_tokens)
        attach(server)
        if launch.overlap:
            server.event_loop_overlap()
        else:
            server.event_loop_normal()
    return server


def at_once(**events):
    """A script of steps: each is (when, what), and happens once, as soon as `when(server)` holds."""
    left = dict(events)

    def script(server):
        for name, (when, what) in list(left.items()):
            if when(server):
                del left[name]
                what(server)

    return script
