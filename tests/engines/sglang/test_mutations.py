"""A wrong engine is noticed: each one-line mutation of the real functions makes it differ from the model.

Run in an environment that has the engine: ``tox -e sglang-0.5.19`` and its sisters.
"""

import importlib
import inspect
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from generators.emit import manifest
from tests.engines.sglang import comparison
from tests.engines.sglang.comparison import engine
from tests.engines.sglang.mutants import MUTANTS

EMITTED = Path(__file__).parents[3] / "generated_tests" / "sglang"
EXTEND = ("managers.schedule_batch:ScheduleBatch", "_mamba_radix_cache_v2_req_prepare_for_extend")
DECODE = ("managers.schedule_batch:ScheduleBatch", "prepare_for_decode")
VERIFY = ("speculative.spec_utils", "_verify_commit_step_indices")
RESULT = (
    "managers.scheduler_components.batch_result_processor:SchedulerBatchResultProcessor",
    "_handle_finish_state_updated_req",
)
KNOWN_BOUNDARY = (RESULT[0], "_mamba_prefix_cache_update")
GRID = ("managers.schedule_batch", "mamba_checkpoint_grid")
CHECKPOINT_GRID = ("runtime_context", "mamba_checkpoint_grid")
TRACK_GRID = ("runtime_context", "mamba_track_grid")
CHUNK = ("arg_groups.overrides", "mamba_cache_chunk_size")
CHUNK_BEFORE = ("server_args:ServerArgs", "mamba_cache_chunk_size")
FLUSH = (
    "layers.attention.hybrid_linear_attn_backend:MambaAttnBackendBase",
    "_replayssm_track_flush_mask",
)


@dataclass(frozen=True)
class Mutation:
    """A line of an engine function and what is put in its place; other releases may word the line otherwise.

    `never_reached_on`: releases whose own rules never get to the line.
    """

    name: str
    where: tuple[str, str]
    changes: tuple[tuple[str, str], ...]
    never_reached_on: tuple[str, ...] = ()


MUTATIONS = (
    Mutation(
        "decode masks one step late",
        DECODE,
        (("track_remainders_cpu == 0", "track_remainders_cpu == 1"),),
    ),
    Mutation(
        "decode doubles its grid",
        DECODE,
        (("seq_lens_cpu % mamba_track_interval", "seq_lens_cpu % (2 * mamba_track_interval)"),),
    ),
    Mutation(
        "verify saves one step late", VERIFY, (("seq_lens_pre_verify - 1", "seq_lens_pre_verify"),)
    ),
    Mutation(
        "verify saves where nothing is crossed",
        VERIFY,
        (("!= seq_lens_post_verify //", "== seq_lens_post_verify //"),),
    ),
    Mutation(
        "verify rounds up",
        VERIFY,
        (
            (
                "tracking_point = seq_lens_post_verify // mamba_track_interval * mamba_track_interval",
                "tracking_point = seq_lens_pre_verify // mamba_track_interval * mamba_track_interval",
            ),
        ),
    ),
    Mutation("extend reads the last row", EXTEND, (("return i + 1", "return i"),), ("0.5.17",)),
    Mutation(
        "extend forces no row",
        EXTEND,
        (("!= mamba_track_seqlen_aligned", "== mamba_track_seqlen_aligned"),),
    ),
    Mutation(
        "extend needs one token more",
        EXTEND,
        (
            (".extend_range.length >= checkpoint_grid", ".extend_range.length > checkpoint_grid"),
            ("length >= checkpoint_grid", "length > checkpoint_grid"),
            (
                "extend_end - req.prefix_len >= checkpoint_grid",
                "extend_end - req.prefix_len > checkpoint_grid",
            ),
            (">= checkpoint_grid", "> checkpoint_grid"),
        ),
    ),
    Mutation(
        "extend donates one unit less",
        EXTEND,
        (("// checkpoint_grid) * checkpoint_grid", "// checkpoint_grid - 1) * checkpoint_grid"),),
    ),
    Mutation(
        "extend records its end",
        EXTEND,
        (
            (
                "mamba_last_track_seqlen = mamba_track_seqlen_aligned",
                "mamba_last_track_seqlen = mamba_track_seqlen",
            ),
        ),
    ),
    Mutation(
        "extend counts rows in cache chunks",
        EXTEND,
        (
            ("// state_chunk_size) * state_chunk_size", "// cache_chunk_size) * cache_chunk_size"),
            ("// chunk_size) * chunk_size", "// checkpoint_grid) * checkpoint_grid"),
        ),
    ),
    Mutation(
        "the result labels one token late",
        RESULT,
        (("kv_committed_len - lookahead", "kv_committed_len - lookahead + 1"),),
    ),
    Mutation(
        "the checkpoint grid forgets the chunk",
        GRID,
        (("math.lcm(mamba_cache_chunk_size(), tree_page)", "tree_page"),),
    ),
)


# For each emitted test that is red on no release, a line that turns it red.
TURNS_RED = {
    "test_the_cache_chunk_is_the_longer_of_chunk_and_page": (
        Mutation(
            "the chunk is the shorter one",
            CHUNK,
            (("max(chunk_size, page_size)", "min(chunk_size, page_size)"),),
        ),
        Mutation(
            "the chunk is the shorter one",
            CHUNK_BEFORE,
            (("max(chunk_size, page_size)", "min(chunk_size, page_size)"),),
        ),
    ),
    "test_the_checkpoint_grid_is_the_least_of_whole_chunks_and_tree_pages": (
        Mutation(
            "the checkpoint grid forgets the chunk",
            CHECKPOINT_GRID,
            (("math.lcm(mamba_cache_chunk_size(), tree_page)", "tree_page"),),
        ),
    ),
    "test_the_track_grid_is_the_least_that_is_whole_intervals_as_well": (
        Mutation("the track grid is the longer one", TRACK_GRID, (("math.lcm(", "max("),)),
    ),
    "test_every_snapshot_step_is_a_flush_step": (
        Mutation(
            "ReplaySSM flushes one step late", FLUSH, (("% interval) == 0", "% interval) == 1"),)
        ),
    ),
    "test_a_known_boundary_swaps_the_slots_and_nothing_else_does": (
        Mutation(
            "any length is a known boundary",
            KNOWN_BOUNDARY,
            (
                ("page_size) == 0", "page_size) >= 0"),
                ("mamba_track_interval == 0", "mamba_track_interval >= 0"),
            ),
        ),
    ),
    "test_the_mask_of_the_step_ahead_is_the_mask_of_the_next_step": (
        Mutation(
            "the mask ahead is late",
            DECODE,
            (("track_remainders_cpu == mamba_track_interval - 1", "track_remainders_cpu == 1"),),
        ),
    ),
}


def held(where):
    """The module or class of the engine that a mutation's function belongs to."""
    module, _, name = where[0].partition(":")
    loaded = importlib.import_module(f"sglang.srt.{module}")
    return getattr(loaded, name) if name else loaded


def mutated(mutation):
    """The function with the first change that its source allows, or None where this release has no such line."""
    try:
        function = getattr(held(mutation.where), mutation.where[1], None)
    except ImportError:
        function = None
    if function is None:
        return None
    source = textwrap.dedent(inspect.getsource(getattr(function, "fget", function)))
    for old, new in mutation.changes:
        if old in source:
            text = "from __future__ import annotations\n" + source.replace(old, new)
            return defined(mutation, text, getattr(function, "fget", function).__globals__)
    return None


def defined(mutation, text, scope):
    """The function that a text defines in a module's own globals, which keep what they had under its name."""
    name = mutation.where[1]
    kept = {name: scope[name]} if name in scope else {}
    exec(compile(text, f"<{mutation.name}>", "exec"), scope)
    function = scope.pop(name)
    scope.update(kept)
    return function


CONFIGURATIONS = [
    engine.Configuration(*values)
    for values in (
        (64, 8, 256, 64),
        (64, 1, 256, 64),
        (1, 1, 192, 64),
        (128, 2, 256, 64),
        (16, 3, 48, 128),
    )
]
CHUNKS = (
    *((0, 512), (0, 513), (0, 700), (64, 605)),
    *((512, 1100), (30, 900), (128, 1024), (1, 65)),
)
VERIFIES = ((250, 8), (255, 1), (509, 8), (1530, 8), (1535, 1), (300, 3), (188, 8))


def extends(c):
    return (comparison.extend(c, *lengths) for lengths in CHUNKS)


def verifies(c):
    return (comparison.verify(c, *lengths) for lengths in VERIFIES)


def decodes(c):
    yield comparison.decode(c, 1600)


def followers(c):
    return (comparison.follower_after_decode(c, stop) for stop in (600, 769, 1300))


OBSERVED_BY = {
    EXTEND: extends,
    GRID: extends,
    VERIFY: verifies,
    DECODE: decodes,
    RESULT: followers,
}


def differs(mutation):
    """Whether some observation differs from the model's, or the mutated engine breaks down."""
    for c in CONFIGURATIONS:
        try:
            if any(real != expected for real, expected in OBSERVED_BY[mutation.where](c)):
                return True
        except (AssertionError, IndexError, AttributeError):
            return True
    return False


@pytest.mark.parametrize("observe", sorted(set(OBSERVED_BY.values()), key=lambda o: o.__name__))
def test_the_engine_as_it_is_does_not_differ(observe):
    for c in CONFIGURATIONS:
        for real, expected in observe(c):
            assert real == expected


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.name)
def test_a_mutated_engine_is_noticed(mutation):
    function = mutated(mutation)
    if function is None:
        pytest.skip(f"sglang {engine.release()} has no such line")
    if engine.release() in mutation.never_reached_on:
        pytest.skip(f"sglang {engine.release()} never gets to this line")
    with patch.object(held(mutation.where), mutation.where[1], function):
        assert differs(mutation)


@pytest.mark.skipif(
    engine.release() == "0.5.17", reason="0.5.17 words most of these lines otherwise"
)
def test_at_least_ten_mutations_apply_to_this_release():
    assert sum(mutated(m) is not None for m in MUTATIONS) >= 10


def emitted_functions():
    """The emitted test functions by name, with the file of each; those of one name stand in several."""
    for path in sorted(EMITTED.glob("test_*.py")):
        module = importlib.import_module(path.stem)
        for name, function in vars(module).items():
            if name.startswith("test_"):
                yield path.name, name, function


def runs(function):
    """The arguments of every run of an emitted test function."""
    (mark,) = function.pytestmark
    names, parameters = mark.args
    for run in parameters:
        yield dict(zip(names, run.values, strict=True))


def passes(function, arguments):
    """Whether one run of an emitted test passes; a run that this release has no code for does."""
    try:
        function(**arguments, record_property=lambda *pair: None)
    except engine.NotComparable:
        return True
    except AssertionError:
        return False
    return True


def goes_red(function):
    """Whether some run of an emitted test fails."""
    return not all(passes(function, arguments) for arguments in runs(function))


def never_red():
    """Emitted test functions that no modelled release is predicted to fail."""
    tests = manifest.read(EMITTED / "manifest.json").tests
    red = {
        name.partition("[")[0]
        for name, test in tests.items()
        if any(p["outcome"] == "fails" for p in test.by_subject.values())
    }
    return {n: f for file, n, f in emitted_functions() if f"{file}::{n}" not in red}


def test_every_emitted_test_is_red_on_a_release_or_has_a_line_that_turns_it_red():
    noticing = {m.noticed_by.partition("::")[2].partition("[")[0] for m in MUTANTS}
    assert set(TURNS_RED) <= set(never_red()) <= {*TURNS_RED, *noticing}


@pytest.mark.parametrize("name", TURNS_RED)
def test_an_emitted_test_goes_red_on_a_mutated_engine(name):
    function = never_red()[name]
    for mutation in TURNS_RED[name]:
        if (changed := mutated(mutation)) is not None:
            assert not goes_red(function)
            with patch.object(held(mutation.where), mutation.where[1], changed):
                assert goes_red(function)
            return
    pytest.skip(f"sglang {engine.release()} has no such line")


def component():
    """The class by which the radix tree takes recurrent states, wherever this release keeps it."""
    prefix = "sglang.srt.mem_cache.unified_cache.components."
    modules = [module for name, module in sys.modules.items() if name.startswith(prefix)]
    return next(m.MambaComponent for m in modules if hasattr(m, "MambaComponent"))


def caches_nothing(self, req, *args, **kwargs):
    """Donate no state at all."""
    engine.owner(req, "mamba_last_track_seqlen").mamba_last_track_seqlen = None
    return 0


FOLLOWERS = [
    (path, function)
    for path, name, function in emitted_functions()
    if name.startswith("test_a_follower_") and "branch" not in name
]


@pytest.mark.parametrize(("path", "function"), FOLLOWERS, ids=[path for path, _ in FOLLOWERS])
def test_a_follower_test_goes_red_on_an_engine_that_caches_nothing(path, function):
    with patch.object(component(), "prepare_for_caching_req", caches_nothing):
        red = [arguments for arguments in runs(function) if not passes(function, arguments)]
    assert any(passes(function, arguments) for arguments in red)
