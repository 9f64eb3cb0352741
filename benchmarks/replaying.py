"""Replaying a whole domain by its pairs, against replaying each configuration from the start::

    python benchmarks/replaying.py [RECURRENCE ...]

Every checkpoint of the modelled releases over the domain of `gpu_checks/sglang/all_pairs.py`, states up to 2,048 tokens, float64,
in the decode phase.  From the start means: a cold run of the whole sequence, then a run up to the state's depth and a
warm one from the node, as one would check a single configuration.  That is timed on a sample of the pairs, drawn by a
seed, one by one and in a batch, and scaled: to the different pairs, and to all checkpoints, which someone who does not
know that the two depths alone decide would have to replay.
"""

from __future__ import annotations

import random
import resource
import sys
import time

import torch

from gpu_checks.recurrences import RECURRENCES, Recurrence
from gpu_checks.resume_pairs import WINDOW, Pair, replay
from gpu_checks.sglang.all_pairs import matrix

SAMPLE = 24  # pairs that are replayed one by one
BATCH = 64  # pairs that are replayed from the start at once


def from_the_start(recurrence: Recurrence, pair: Pair) -> bool:
    """Whether one checkpoint, replayed by itself from its first token, is equal to a cold run."""
    length = max(pair.node + WINDOW, pair.state)
    stream = recurrence.stream(length)
    _, cold = recurrence.scan(recurrence.empty(stream), stream.span(0, pair.node + WINDOW))
    held, _ = recurrence.scan(recurrence.empty(stream), stream.span(0, pair.state))
    _, warm = recurrence.scan(held, stream.span(pair.node, pair.node + WINDOW))
    return torch.equal(warm, cold[..., pair.node :, :])


def seconds_in_a_batch(recurrence: Recurrence, pairs: list[Pair]) -> float:
    """Seconds a pair, all of them run from the first token at once: cold, to their states, and warm."""
    start = time.perf_counter()
    longest = max(max(pair.node + WINDOW, pair.state) for pair in pairs)
    one = recurrence.stream(longest)
    stream = one.each(lambda part: part.expand(2 * len(pairs), *part.shape[1:]))
    state = recurrence.empty(stream)
    for begin in range(0, longest, WINDOW):
        state, _ = recurrence.scan(state, stream.span(begin, min(begin + WINDOW, longest)))
    warm = one.each(lambda part: part.expand(len(pairs), *part.shape[1:])).span(0, WINDOW)
    held = {part: value[: len(pairs)] for part, value in state.items()}
    recurrence.scan(held, warm)
    return (time.perf_counter() - start) / len(pairs)


def main(names: list[str]) -> int:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    start = time.perf_counter()
    found = matrix()
    made = time.perf_counter() - start
    print(f"{found.checkpoints:,} checkpoints, {len(found.pairs):,} pairs, made in {made:.1f} s")
    sample = random.Random(0).sample(found.pairs, SAMPLE)
    batch = random.Random(1).sample(found.pairs, BATCH)
    print(
        "seconds by pairs; times slower: pairs one by one, pairs in a batch, all checkpoints in batches"
    )
    wrong = 0
    for name in names or RECURRENCES:
        recurrence = RECURRENCES[name]
        start = time.perf_counter()
        replays = replay(recurrence, found.pairs, ["decode"])
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        alone = [from_the_start(recurrence, p) == (p.node == p.state) for p in sample]
        one = (time.perf_counter() - start) / SAMPLE
        together = seconds_in_a_batch(recurrence, batch)
        surprises = sum(r.observed != r.predicted for r in replays) + alone.count(False)
        between = sum(r.observed == "between" for r in replays)
        wrong += surprises
        print(
            f"{name:<11} {seconds:>6.1f} s {one * len(found.pairs) / seconds:>6.0f} "
            f"{together * len(found.pairs) / seconds:>6.0f} "
            f"{together * found.checkpoints / seconds:>9,.0f}   {surprises} wrong, {between} between",
            flush=True,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.2f} GiB, {wrong} wrong predictions")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
