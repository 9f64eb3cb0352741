"""What the engine makes of random launches, by its own resolution code, is what `check` makes of them.

Run in an environment that has the engine: ``tox -e sglang-0.5.23``.  GRIDPROOF_LAUNCHES gives how many are drawn.
"""

import os
import random
import shlex

import pytest

from generators.launch.launch import read_launch
from generators.sglang.check.not_modelled import refusals
from generators.sglang.launch import resolve
from tests.engines.sglang.comparison import DESIGN, engine

resolved = pytest.importorskip("tests.engines.sglang.resolved")
tables = pytest.importorskip("tests.engines.sglang.tables")

COUNT = int(os.environ.get("GRIDPROOF_LAUNCHES", "400"))
BACKENDS = ("triton", "flashinfer", "fa3", "fa4", "trtllm_mha", "trtllm_mla", "flashmla", "hpc_ops")
# What stops a server only after its arguments are resolved: when the pool is sized, a tree is built, a batch is cut.
LATER = tuple(
    guard.demands
    for guard in DESIGN.guards
    if guard.name
    in (
        *("lazy_has_overlap", "no_buffer_has_page_one", "interval_covers_a_mamba2_chunk"),
        *("prefill_chunks_cover_a_cache_chunk", "ranks_divide_evenly"),
    )
)
UNMEASURED = ("GraniteMoeHybrid", "Inkling", "GigaChat")


def drawn(dice, folder):
    """The words of a random launch and the kind of GPU that it runs on."""
    architecture = dice.choice([a for a in tables.architectures() if not a.startswith(UNMEASURED)])
    words = ["--model-path", str(tables.model(folder, architecture))]

    def sometimes(chance, *flags):
        if dice.random() < chance:
            words.extend(map(str, flags))

    sometimes(0.5, "--page-size", dice.choice((1, 2, 8, 16, 32, 48, 64, 128, 256)))
    sometimes(0.4, "--mamba-track-interval", dice.choice((4, 64, 100, 128, 512, 768)))
    strategies = ("auto", "extra_buffer", "extra_buffer_lazy", "no_buffer")
    sometimes(0.5, "--mamba-radix-cache-strategy", dice.choice(strategies))
    sometimes(0.2, "--disable-overlap-schedule")
    sometimes(0.2, "--attention-backend", dice.choice(BACKENDS))
    sometimes(0.15, "--decode-attention-backend", dice.choice(BACKENDS))
    sometimes(0.15, "--prefill-attention-backend", dice.choice(BACKENDS))
    sometimes(0.1, "--linear-attn-backend", dice.choice(("triton", "flashinfer", "cutedsl")))
    sometimes(0.3, "--chunked-prefill-size", dice.choice((-1, 256, 1024, 2048, 8192)))
    sometimes(0.1, "--pp-size", 2)
    if dice.random() < 0.2:
        words += ["--enable-dp-attention", "--dp-size", "4", "--tp-size", "8"]
    words += dice.choice([[], [], *tables.speculations(folder).values()])
    return words, dice.choice(list(resolved.GPUS))


def modelled(words, gpu):
    """What the tables make of a launch: refused or not, and its values."""
    command = ["python", "-m", "sglang.launch_server", *words]
    read = read_launch(command, {"gpu": gpu})
    ((launch, _),) = resolve.possibilities(read, engine.release())
    c = launch.configuration
    why = [remark.message for remark in refusals(DESIGN, launch)]
    given = "--chunked-prefill-size" in words
    return why, {
        "page_size": c.page_size,
        "mamba_track_interval": c.mamba_track_interval,
        "chunked_prefill_size": c.chunked_prefill_size if given else None,
        "speculative_num_draft_tokens": c.speculative_num_draft_tokens or None,
        "mamba_radix_cache_strategy": c.strategy,
        "disable_overlap_schedule": not c.overlap,
    }


def test_random_launches_resolve_as_the_engine_resolves_them(tmp_path):
    dice = random.Random(1)
    accepted, refused, unknown, differing = 0, 0, [], []
    for _ in range(COUNT):
        words, gpu = drawn(dice, tmp_path)
        why, ours = modelled(words, gpu)
        shown = f"{gpu}: {shlex.join(words[1:])}"
        try:
            theirs = resolved.resolved(words, gpu)
        except resolved.Refused as error:
            refused += 1
            if not why:
                unknown.append(f"{str(error)[:90]} | {shown}")
            continue
        accepted += 1
        theirs = {name: theirs[name] for name in ours}
        if ours["chunked_prefill_size"] is None:
            theirs["chunked_prefill_size"] = None
        if "DFLASH" in words or "DSPARK" in words:
            # The draft model's own config gives the block; nothing in the command does.
            theirs["speculative_num_draft_tokens"] = ours["speculative_num_draft_tokens"]
        why = [message for message in why if not any(map(message.count, LATER))]
        if why or ours != theirs:
            differing.append(
                (why, shown, {k: (ours[k], theirs[k]) for k in ours if ours[k] != theirs[k]})
            )
    print(
        f"{engine.release()}: {accepted} accepted, {refused} refused, of these {len(unknown)} for what is not modelled"
    )
    for line in unknown:
        print("  not known:", line)
    for line in differing:
        print("  differs:", line)
    assert accepted > COUNT // 8
    assert not differing
