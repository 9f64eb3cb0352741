"""Stories of one decoding request, and what a design gives to the request that follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from generators.sglang.emit.trees import told_of
from spec.sglang import slot_buffer
from spec.sglang.checkpoints import Checkpoint, node_of, verify_checkpoint
from spec.sglang.radix_tree import Tree
from spec.sglang.releases import Design
from spec.sglang.scheduler import Request, Scheduler


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


def donations(design: Design, c: Any, story: Story) -> tuple[Checkpoint, ...]:
    """What the request donates, in order: its prompt's checkpoint and its last decode checkpoint."""
    scheduler = Scheduler(design, c)
    request = scheduler.admit(0 if story.prompt_is_cached else story.prompt)
    if story.prompt_is_cached:
        request = scheduler.extend(request, story.prompt)
    one_ahead = story.stop + int(bool(c.overlap))
    ends_alone = story.stop in story.nothing_ahead_of
    pauses = [
        *((length, scheduler.other_batch) for length in story.nothing_ahead_of),
        *((length - 1, scheduler.allocation_failure) for length in story.allocation_fails_at),
    ]
    for length, pause in sorted(pauses, key=itemgetter(0)):
        if story.prompt <= length <= story.stop:
            request = pause(scheduler.decode(request, length))
    if not ends_alone:
        request = scheduler.decode(request, one_ahead)
    return tuple(d.checkpoint for d in scheduler.finish(request).donated)


@dataclass(frozen=True)
class Verifies:
    """A request of `prompt` tokens that is verified by steps which accept `accepts` tokens each.

    It stops with the last verify, or, under the overlap scheduler and where there are several, with the last but
    one while the last is in flight; of that one `retained` tokens are kept: up to a stop token, or, with `grammar`,
    up to where the grammar ends.  For the verifies of the numbers `no_slot_for` (from 0) no second lazy slot can be had.
    """

    prompt: int
    accepts: tuple[int, ...]
    retained: int
    grammar: bool
    no_slot_for: tuple[int, ...] = ()

    def last(self, c: Any) -> int:
        """The number of the verify it stops with."""
        count = len(self.accepts)
        return count - 2 if c.overlap and count > 1 else count - 1


def verified(design: Design, c: Any, story: Verifies) -> Checkpoint:
    """What a request donates when it stops; its prompt donates nothing."""
    scheduler = Scheduler(design, c)
    request = scheduler.admit(story.prompt)
    for number, accepted in enumerate(story.accepts):
        if number in story.no_slot_for:
            request = scheduler.allocation_failure(request)
        request = scheduler.verify(request, accepted)
    if c.overlap and len(story.accepts) == 1:
        request = scheduler.other_batch(request)
    return scheduler.finish(request, story.retained, story.grammar).donated[-1].checkpoint


def follower(design: Design, c: Any, donated: Sequence[Checkpoint]) -> dict[str, int | None]:
    """What a follower of the whole path is given after these checkpoints were inserted one after the other."""
    cache, deepest = Tree[None](design, c), 0
    for checkpoint in donated:
        depth = int(node_of(design, c, checkpoint)) if checkpoint.saved else 0
        deepest = max(deepest, depth)
        cache.insert_checkpoint(range(depth), checkpoint)
    return told_of(cache.match(range(deepest + 1)).node)


def follower_of(design: Design, c: Any, story: Story) -> dict[str, int | None]:
    """The node and the state (tokens) that a follower of a story's request is given."""
    return follower(design, c, donations(design, c, story))


def verified_follower(design: Design, c: Any, story: Verifies) -> dict[str, int | None]:
    """The node and the state (tokens) that a follower of a verified request is given."""
    return follower(design, c, [verified(design, c, story)])


def late(design: Design, c: Any, story: Verifies) -> Checkpoint:
    """What a request of three verifies donates that ends with the second, the third being launched after that.

    The third is prepared before the result of the second is processed, as where a grammar has to be advanced between
    the two; nothing is ahead of the first's.
    """
    first, second, third = story.accepts
    scheduler = Scheduler(design, c)
    request = scheduler.other_batch(scheduler.verify(scheduler.admit(story.prompt), first))
    request = scheduler.verify(request, second)
    slots, entry = slot_buffer.verify_planned(design, c, request.slots, request.committed)
    request = scheduler.finish(replace(request, slots=slots), story.retained, story.grammar)
    donated, written = request.donated[-1].checkpoint, entry if slot_buffer.is_lazy(c) else 0
    third_state = verify_checkpoint(design, c, story.prompt + first + second, third)
    if design.skips_rows_of_the_finished or written != request.slots.kept:
        return donated
    return replace(donated, state=third_state.state) if third_state.saved else donated


def late_follower(design: Design, c: Any, story: Verifies) -> dict[str, int | None]:
    """The node and the state (tokens) that a follower of such a request is given."""
    return follower(design, c, [late(design, c, story)])


@dataclass(frozen=True)
class Mixed:
    """A request of `prompt` tokens whose step at `at` runs in one batch with another prompt of `other` tokens.

    It finishes at the result of the step at `stop`, with the next one in flight under the overlap scheduler.
    """

    prompt: int
    at: int
    stop: int
    other: int


def _until_mixed(design: Design, c: Any, story: Mixed) -> tuple[Scheduler, Request]:
    scheduler = Scheduler(design, c)
    request = scheduler.extend(scheduler.admit(), story.prompt)
    request = scheduler.mixed_batch(scheduler.decode(request, story.at - 1))
    return scheduler, scheduler.decode(request, story.at)


def mixed_follower(design: Design, c: Any, story: Mixed) -> dict[str, int | None]:
    """The node and the state (tokens) that a follower of the request is given, one of whose steps was mixed."""
    scheduler, request = _until_mixed(design, c, story)
    request = scheduler.decode(request, story.stop + int(bool(c.overlap)))
    donated = scheduler.finish(request).donated
    return follower(design, c, [donation.checkpoint for donation in donated])


def mixed_held(design: Design, c: Any, story: Mixed) -> int:
    """State slots that the request holds when its second step behind the mixed one is launched."""
    scheduler, request = _until_mixed(design, c, story)
    slots = scheduler.decode(request, story.at + 2).slots
    entries = (slots.first, slots.second) if c.overlap else (slots.first,)
    return sum(state != slot_buffer.NO_SLOT for state in entries)


def mixed_others_follower(design: Design, c: Any, story: Mixed) -> dict[str, int | None]:
    """The node and the state (tokens) that a follower of the other request is given, whose prompt was mixed."""
    scheduler = Scheduler(design, c)
    request = scheduler.extend(scheduler.mixed_batch(scheduler.admit()), story.other)
    stop = story.other + 2
    request = scheduler.decode(request, stop + int(bool(c.overlap)))
    donated = scheduler.finish(request).donated
    return follower(design, c, [donation.checkpoint for donation in donated])
