"""Stories of one decoding request, and what a design gives to the request that follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spec.sglang import life
from spec.sglang.checkpoints import Checkpoint, extend_checkpoint, node_of
from spec.sglang.designs import Design

MOST_AHEAD = 1


@dataclass(frozen=True)
class Story:
    """A request of `prompt` tokens that finishes at the result of the step at `stop` tokens.

    `nothing_ahead_of`: lengths of the steps whose result is processed before the next step is launched, as when
    the prefill of another request stands between; `allocation_fails_at`: lengths of the boundary steps for which
    no second lazy slot can be had; `prompt_is_cached`: whether the prompt's own checkpoint is made and donated.
    """

    prompt: int
    stop: int
    nothing_ahead_of: tuple[int, ...] = ()
    allocation_fails_at: tuple[int, ...] = ()
    prompt_is_cached: bool = True

    def lookahead(self, c: Any, seq_len: int) -> int:
        """Later steps launched before the result of the step at `seq_len` is processed."""
        return int(bool(c.overlap) and seq_len not in self.nothing_ahead_of)


def donations(design: Design, c: Any, story: Story) -> list[Checkpoint]:
    """What the request donates, in order: its prompt's checkpoint and its last decode checkpoint."""
    slots, launched, donated = life.admitted(c), story.prompt, []
    grid = int(design.grid("decode", c))

    def launch_to(slots: life.Slots, seq_len: int) -> life.Slots:
        # Only a boundary step writes or moves anything.
        for length in range(launched // grid * grid + grid, seq_len + 1, grid):
            fails = length in story.allocation_fails_at
            slots = life.step_launched(design, c, slots, length, fails)
        return slots

    if story.prompt_is_cached:
        checkpoint = extend_checkpoint(design, c, 0, story.prompt)
        slots = life.prompt_launched(design, c, slots, checkpoint)
        ahead = story.prompt + MOST_AHEAD * bool(c.overlap)
        slots, launched = launch_to(slots, ahead), ahead
        slots, prompts = life.prompt_completed(design, c, slots)
        donated.append(prompts)
    for seq_len in range(story.prompt + 1, story.stop + 1):
        finishes = seq_len == story.stop
        if not finishes and seq_len % grid not in (0, grid - 1):
            continue  # nor does a result that is at no boundary and before none
        lookahead = story.lookahead(c, seq_len)
        ahead = max(launched, seq_len + lookahead)
        slots, launched = launch_to(slots, ahead), ahead
        slots = life.step_completed(design, c, slots, seq_len, lookahead, finishes)
    return [*donated, life.finished(design, c, slots, launched)]


@dataclass(frozen=True)
class Verifies:
    """A request of `prompt` tokens that is verified by steps which accept `accepts` tokens each.

    It stops with the last verify, or, under the overlap scheduler and where there are several, with the last but
    one while the last is in flight; of that one `retained` tokens are kept: up to a stop token, or, with `grammar`,
    up to where the grammar ends.
    """

    prompt: int
    accepts: tuple[int, ...]
    retained: int
    grammar: bool

    def last(self, c: Any) -> int:
        """The number of the verify it stops with."""
        count = len(self.accepts)
        return count - 2 if c.overlap and count > 1 else count - 1


def verified(design: Design, c: Any, story: Verifies) -> Checkpoint:
    """What a request donates when it stops; its prompt donates nothing."""
    slots, length, committed = life.admitted(c), story.prompt, story.prompt
    ahead = MOST_AHEAD * bool(c.overlap)
    waiting: list[tuple[int, int, Any]] = []  # number, start and entry of verifies without a result
    for number, accepted in enumerate((*story.accepts, *(None,) * ahead)):
        if accepted is not None:
            slots, entry = life.verify_planned(design, c, slots, committed)
            slots = life.verify_launched(design, c, slots, entry, length, accepted)
            waiting.append((number, length, entry))
            length += accepted
        if accepted is not None and len(waiting) <= ahead:
            continue
        done, pre, entry = waiting.pop(0)
        finishes, took = done == story.last(c), story.accepts[done]
        retained = story.retained if finishes and story.grammar else took
        committed = pre + retained
        slots = life.verify_completed(design, c, slots, entry, pre, took, retained, finishes)
        if finishes:
            break
    key = committed
    if not story.grammar and design.key_ends_at_the_stop:
        # The stop token is in the key, though no verify has consumed it.
        key = min(committed, pre + story.retained + 1)
    return life.finished(design, c, slots, key)


def follower(design: Design, c: Any, donated: Sequence[Checkpoint]) -> dict[str, int | None]:
    """What a follower is given after these checkpoints were inserted one after the other.

    A node that has a state keeps it; the follower is given the deepest node that has one.
    """
    nodes: dict[int, int] = {}
    for checkpoint in donated:
        if checkpoint.saved and (node := int(node_of(design, c, checkpoint))):
            nodes.setdefault(node, int(checkpoint.state))
    deepest = max(nodes, default=0)
    return {"node": deepest, "state": nodes.get(deepest)}


def follower_of(design: Design, c: Any, story: Story) -> dict[str, int | None]:
    """The node and the state (tokens) that a follower of a story's request is given."""
    return follower(design, c, donations(design, c, story))
