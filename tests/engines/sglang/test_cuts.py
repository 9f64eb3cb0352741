"""Where the real scheduler cuts a prompt: on the page, unless decode steps share its batch or memory runs short.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.
"""

from unittest.mock import patch

import pytest

from spec.sglang.rules import cuts
from tests.engines.sglang.comparison import engine  # noqa: F401  makes the engine's modules importable

loops = pytest.importorskip("gridproof_sglang_loop")
Launch, Story = loops.Launch, loops.Story
INTERVAL, STATES = 256, 64


def pieces(launch, story, **patched):
    """Where the pieces of the first request's prompt end (tokens), as the real scheduler cuts them."""
    ends = []
    rows = loops._Loop._rows

    def recorded(loop, batch):
        found = rows(loop, batch)
        if not batch.forward_mode.is_decode():
            named = zip(batch.reqs, found, strict=True)
            ends.extend(end for r, (_, end) in named if r.rid == "first" and end <= story.prompt)
        return found

    with patch.multiple(loops._Loop, _rows=recorded, **patched):
        loops.follower_of(launch, story)
    return ends


def predicted(launch, prompt, beside):
    """The same by the rules, beside so many decoding requests whose steps share the batch."""
    budget, ends = launch.chunked_prefill_size - beside, []
    while not ends or ends[-1] < prompt:
        before = ends[-1] if ends else 0
        if prompt - before <= budget:
            ends.append(prompt)
        elif not ends:
            ends.append(cuts.first_cut(launch.page_size, budget, 0))
        else:
            ends.append(cuts.next_cut(budget, before))
    return ends


def launch_of(page, chunk, mixed):
    return Launch(page, 1, INTERVAL, STATES, mixed_chunk=mixed, chunked_prefill_size=chunk)


@pytest.mark.parametrize("mixed", (False, True))
@pytest.mark.parametrize("beside", (False, True))
@pytest.mark.parametrize(
    ("page", "chunk", "prompt"), [(16, 256, 1000), (64, 256, 300), (64, 512, 1500), (64, 128, 700)]
)
def test_a_prompt_is_cut_where_the_rules_say(page, chunk, prompt, beside, mixed):
    launch = launch_of(page, chunk, mixed)
    story = Story(prompt, prompt + 1, decoding_beside=beside)
    assert pieces(launch, story) == predicted(launch, prompt, int(beside and mixed))


def test_without_mixed_chunks_every_cut_is_on_the_page_and_with_them_one_is_not():
    story = Story(1000, 1001, decoding_beside=True)
    assert all(end % 64 == 0 for end in pieces(launch_of(64, 256, False), story)[:-1])
    assert any(end % 64 for end in pieces(launch_of(64, 256, True), story)[:-1])


def test_a_piece_is_cut_off_the_page_where_memory_runs_short_between_two():
    """What running requests are taken to need still rises between two pieces, as after a retraction."""
    launch, story = launch_of(64, 256, False), Story(1000, 1001, decoding_beside=True)
    limits, arrive = loops._Loop._set_limits, loops._Loop._arrive
    started = []

    class Rising:
        current = property(lambda self: 0.99 if len(started) == 1 else 0.1)
        decay_step = staticmethod(lambda: None)

    def short_of_memory(loop):
        limits(loop)
        loop.new_token_ratio_tracker = Rising()

    def answering_shortly(loop, name, *others):
        arrive(loop, name, *others)
        if name != "beside":
            loop.requests[name].sampling_params.max_new_tokens = 10

    rows = loops._Loop._rows

    def noticed(loop, batch):
        if any(r.rid == "first" for r in batch.reqs):
            started.append(True)
        return rows(loop, batch)

    with patch.object(loops, "_CACHE_TOKENS", 4480), patch.object(loops._Loop, "_rows", noticed):
        ends = pieces(launch, story, _set_limits=short_of_memory, _arrive=answering_shortly)
    assert ends[0] == 256 and ends[1] % 64 and ends[-1] == 1000, ends
