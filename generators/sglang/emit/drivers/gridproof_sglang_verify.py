"""Drive SGLang's own speculative verifies on a CPU: the plan, the commit and the result of each.

Real: the batch's preparation, the isolation of the forward pass, the commit of states, the pool,
the radix tree and the result processor. Replaced: what a draft model proposes and a target model
accepts. All lengths and depths are in tokens. Works on SGLang 0.5.17 to 0.5.23.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

from gridproof_sglang import (
    Configuration,
    Engine,
    Follower,
    NotComparable,
    call,
    counted,
    owner,
    release,
    request,
    settings,
)

# isort: split
import torch
from sglang.srt.managers.scheduler_components.batch_result_processor import (
    SchedulerBatchResultProcessor,
)
from sglang.srt.model_executor.forward_batch_info import ForwardMode
from sglang.srt.speculative import spec_utils

_STOP = 7  # the token that ends a request; no other token here has this id


def _symbol(module: str, path: str) -> Any:
    """What stands under `path` in a module of the engine."""
    try:
        found = importlib.import_module(f"sglang.srt.{module}")
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise NotComparable(
            f"{module}.{path}, which a verify runs through, is not in SGLang {release()}: {error}"
        ) from error
    return found


class _Grammar:
    """A grammar that ends after a number of tokens."""

    def __init__(self, tokens: int) -> None:
        self.left = tokens
        self.finished = False

    def accept_token(self, token: int) -> None:
        self.left -= 1

    def is_terminated(self) -> bool:
        return self.left <= 0


class _Sampling(SimpleNamespace):
    """Sampling information that a forward pass may copy."""

    def copy_for_forward(self) -> _Sampling:
        return self


class Verifying:
    """One request, the batch that verifies it, and the processor of its results."""

    def __init__(self, c: Configuration, prompt: int, draft_tokens: int, room: int) -> None:
        self.draft_tokens = draft_tokens
        self.result = _symbol("managers.utils", "GenerationBatchResult")
        self.engine = Engine(c, room)
        self.req = request("first", counted(prompt))
        self.req.sampling_params.stop_token_ids = {_STOP}
        self.engine.admit(self.req, room)
        self.engine.commit(self.req, room)
        owner(self.req, "kv_committed_len").kv_committed_len = prompt
        self.length = prompt
        self.tokens = list(counted(prompt))
        self.req.output_ids.extend(self._sampled(1))
        self.batch = self.engine.batch(self.req, prompt)
        self.batch.spec_algorithm = _symbol("speculative.spec_info", "SpeculativeAlgorithm").EAGLE
        self.batch.forward_mode = ForwardMode.DECODE
        penalties = SimpleNamespace(is_required=False)
        self.batch.sampling_info = _Sampling(penalizer_orchestrator=penalties)
        self.processor = self._processor(c)

    def _processor(self, c: Configuration) -> SchedulerBatchResultProcessor:
        """The real result processor, with doubles for what only reports."""
        model = SimpleNamespace(
            think_end_ids=[], self_opened_think_start_ids=None, vocab_size=1 << 20
        )
        parts = {
            "is_generation": True,
            "enable_overlap": c.overlap,
            "tree_cache": self.engine.tree,
            "req_to_token_pool": self.engine.pool,
            "token_to_kv_pool_allocator": self.engine.allocator,
            "model_config": model,
            "metrics_reporter": MagicMock(num_generated_tokens=0, forward_ct_decode=0),
            "metrics_collector": MagicMock(),
            "model_worker": SimpleNamespace(on_verify_complete_cpu=lambda *args, **named: None),
            "output_streamer": MagicMock(),
            "beam_coordinator": MagicMock(),
        }
        names = [field.name for field in fields(SchedulerBatchResultProcessor)]
        return SchedulerBatchResultProcessor(**{name: parts.get(name) for name in names})

    def _sampled(self, count: int) -> list[int]:
        """The next tokens of the request's text."""
        new = [100_000 + len(self.tokens) + i for i in range(count)]
        self.tokens += new
        return new

    def end_after(self, tokens: int) -> None:
        """Let a grammar end the request after so many tokens."""
        self.req.grammar = _Grammar(tokens)
        self.batch.has_grammar = True

    def prepare(self) -> None:
        """Prepare the next verify, for which a lazy request plans its slot."""

        def count(batch: Any) -> None:
            for req in batch.reqs:
                req.decode_batch_idx += 1

        eagle = importlib.import_module("sglang.srt.speculative.eagle_utils")
        # The pages were given to the request when it was admitted.
        with patch.object(eagle, "eagle_prepare_for_decode", count):
            self.batch.prepare_for_decode()

    def verify(self, accepted: int, stop: int | None = None) -> tuple[Any, Any]:
        """Prepare a verify and launch it, as `launch` does."""
        self.prepare()
        return self.launch(accepted, stop)

    def launch(self, accepted: int, stop: int | None = None) -> tuple[Any, Any]:
        """Launch the prepared verify, which accepts so many tokens; number `stop` is a stop token.

        The batch and the result are given as the queue of results keeps them.
        """
        pre, drafts, batch = self.length, self.draft_tokens, self.batch
        batch.seq_lens = batch.seq_lens_cpu = torch.tensor([pre])
        target = MagicMock()
        target.model_runner.req_to_token_pool.mamba_pool = None
        commit = target.model_runner.attn_backend.update_mamba_state_after_mtp_verify
        isolation = _symbol("managers.scheduler", "Scheduler._forward_isolation")
        with isolation(SimpleNamespace(), batch, overlap=False):
            spec_utils.prepare_mamba_track_for_verify(batch)
            accept_index = torch.full((1, drafts), -1)
            accept_index[0, :accepted] = torch.arange(accepted)
            spec_utils.commit_mamba_states_after_verify(
                target, batch, torch.tensor([accepted]), accept_index, drafts
            )
            step = int(commit.call_args.kwargs["mamba_steps_to_track"][0])
            slot = int(commit.call_args.kwargs["mamba_track_indices"][0])
            if step >= 0 and slot >= 0:
                self.engine.states[slot] = pre + step + 1
        self.length = pre + accepted
        tokens = self._sampled(accepted)
        if stop is not None:
            tokens[stop - 1] = self.tokens[pre + stop] = _STOP
        result = call(
            self.result,
            logits_output=SimpleNamespace(customized_info=None, hidden_states=None),
            next_token_ids=torch.tensor(tokens + [0] * (drafts - accepted)),
            accept_lens=torch.tensor([accepted]),
            speculative_num_draft_tokens=drafts,
            can_run_cuda_graph=False,
        )
        return batch.copy(), result

    def process(self, batch: Any, result: Any) -> None:
        """Process the result of a verify, as the scheduler does."""
        batch.return_logprob = False
        reporting = "materialize_sampling_mask_output"
        with patch.object(type(self.processor), reporting, create=True):
            self.processor.process_batch_result_decode(batch, result)

    def follower(self) -> Follower:
        """What the tree gives to a follower with all tokens of the request."""
        return self.engine.follower_with(self.tokens)


@contextmanager
def speculating(c: Configuration, draft_tokens: int, **others: Any) -> Iterator[None]:
    """Publish a configuration with a draft model that proposes so many tokens in a chain."""
    speculation = {
        "speculative_algorithm": "EAGLE",
        "speculative_num_draft_tokens": draft_tokens,
        "speculative_num_steps": max(1, draft_tokens - 1),
        "speculative_eagle_topk": 1,
    }
    with (
        settings(c, **speculation, **others),
        patch.object(spec_utils, "mambaish_config", return_value=object()),
    ):
        yield


def verified_follower(
    c: Configuration,
    prompt: int,
    accepts: Sequence[int],
    draft_tokens: int,
    retained: int,
    grammar: bool,
    no_slot_for: Sequence[int] = (),
) -> Follower:
    """What a follower is given after a request that is verified and stops.

    Its verifies accept `accepts` tokens. Under the overlap scheduler each is launched before the
    result of the one before is processed, and the request stops with the last but one, else with
    the last. Of that one it keeps `retained` tokens: the last of them is a stop token, or, with
    `grammar`, ends the grammar. When the verifies of the numbers `no_slot_for` (from 0) are
    prepared, the pool has no free state slot.
    """
    last = len(accepts) - 2 if c.overlap and len(accepts) > 1 else len(accepts) - 1
    with speculating(c, draft_tokens):
        room = prompt + sum(accepts) + 2 * draft_tokens
        verifying = Verifying(c, prompt, draft_tokens, room)
        if grammar:
            verifying.end_after(sum(accepts[:last]) + retained)
        waiting: list[tuple[Any, Any]] = []
        for number, accepted in enumerate(accepts):
            with verifying.engine.exhausted() if number in no_slot_for else nullcontext():
                verifying.prepare()
            ends = number == last and not grammar
            waiting.append(verifying.launch(accepted, retained if ends else None))
            while len(waiting) > int(c.overlap):
                verifying.process(*waiting.pop(0))
        for outstanding in waiting:
            if not verifying.req.finished():
                verifying.process(*outstanding)
        return verifying.follower()
