"""Ranks in one process and ranks in processes of their own see the same, and a misplaced state shows on both."""

from dataclasses import replace
from itertools import count

import pytest

torch = pytest.importorskip("torch")

from gpu_checks.recurrences import RECURRENCES  # noqa: E402
from gpu_checks.sglang.dcp.attention import merge, partial  # noqa: E402
from gpu_checks.sglang.dcp.case import RESUMED, like, resumed  # noqa: E402
from gpu_checks.sglang.dcp.gloo import on_processes  # noqa: E402
from gpu_checks.sglang.dcp.hybrid import Hybrid  # noqa: E402
from gpu_checks.sglang.dcp.pages import Pages  # noqa: E402
from gpu_checks.sglang.dcp.ranks import simulated  # noqa: E402
from spec.sglang.configuration import Configuration  # noqa: E402
from spec.sglang.releases import design_named  # noqa: E402
from tests.gpu_checks.operations import recording  # noqa: E402

# A tree page of 32 tokens and snapshots every 24: that of 48 hangs on node 32, that of 96 on its own.
C = Configuration(page_size=8, dcp_size=4, mamba_chunk_size=8, mamba_track_interval=24)
OLD, NEW = design_named("sglang-0.5.18"), design_named("sglang-0.5.19")
LENGTHS = (20, 100)
PAGES = 64
MISALIGNED = 0.05  # least difference of a log-probability: docs/replay.md


def by_node(found):
    return {(one.node, one.state): one for one in found}


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.no_grad():
        yield


@pytest.mark.every_processor
@pytest.mark.parametrize("name", RECURRENCES)
def test_an_aligned_resume_is_bitwise_the_cold_run_and_a_misaligned_one_is_not(name):
    model = Hybrid(RECURRENCES[name])
    ranks = simulated(C.dcp_size, C.page_size, PAGES, like())
    found = by_node(resumed(OLD, C, model, ranks, *LENGTHS))
    assert set(found) == {(32, 48), (64, 72), (96, 96)}
    assert torch.equal(found[96, 96].warm, found[96, 96].cold)
    assert min(found[32, 48].difference, found[64, 72].difference) > MISALIGNED


@pytest.mark.parametrize("name", RECURRENCES)
def test_with_the_track_grid_every_resume_is_bitwise_the_cold_run(name):
    ranks = simulated(C.dcp_size, C.page_size, PAGES, like())
    found = resumed(NEW, C, Hybrid(RECURRENCES[name]), ranks, *LENGTHS)
    assert [(one.node, one.state) for one in found] == [(96, 96)]
    assert torch.equal(found[0].warm, found[0].cold)


@pytest.mark.parametrize("name", RECURRENCES)
def test_an_aligned_resume_makes_the_very_calls_of_the_cold_run(name, monkeypatch):
    """Looked at on two tokens: the forward passes of the cold run are counted from its prompt, which is the first."""
    (prompt, stop), node, model, calls = LENGTHS, 96, Hybrid(RECURRENCES[name]), []
    last = stop + RESUMED - prompt
    seen = [1 + node - prompt, RESUMED + node - prompt, last + 1, last + RESUMED]
    exact, passes = model.forward, count()

    def noted(*given):
        return (recording(exact, calls) if next(passes) in seen else exact)(*given)

    monkeypatch.setattr(model, "forward", noted)
    resumed(NEW, C, model, simulated(C.dcp_size, C.page_size, PAGES, like()), *LENGTHS)
    assert next(passes) == 1 + last + RESUMED
    assert len(calls) == 4 and calls[:2] == calls[2:] and calls[0] != calls[1]


@pytest.mark.parametrize("dcp_size", [2, 3, 4])
def test_any_number_of_ranks_computes_what_one_does(dcp_size):
    model = Hybrid(RECURRENCES["gdn"])
    one, many = (
        by_node(
            resumed(OLD, replace(C, dcp_size=n), model, simulated(n, 8, PAGES, like()), *LENGTHS)
        )
        for n in (1, dcp_size)
    )
    assert (one[96, 96].cold - many[96, 96].cold).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("design", "threads"), [(OLD, 1), (NEW, 2)], ids=["0.5.18-one-thread", "0.5.19-two-threads"]
)
def test_two_processes_see_bitwise_what_one_process_simulates(design, threads, tmp_path):
    torch.set_num_threads(threads)
    c = replace(C, dcp_size=2, page_size=16)
    ranks = simulated(c.dcp_size, c.page_size, PAGES, like())
    alone = resumed(design, c, Hybrid(RECURRENCES["gdn"]), ranks, *LENGTHS)
    for rank in on_processes(tmp_path, design, c, "gdn", PAGES, LENGTHS):
        assert [(node, state) for node, state, _, _ in rank] == [(o.node, o.state) for o in alone]
        for one, (_, _, warm, cold) in zip(alone, rank, strict=True):
            assert torch.equal(one.warm, warm) and torch.equal(one.cold, cold)


def test_parts_of_ranks_merge_to_plain_attention():
    query, key, value = (torch.randn(5, 4, 16, dtype=torch.float64) for _ in range(3))
    at = torch.arange(5)
    parts = [partial(query, at, key[r::3], value[r::3], at[r::3]) for r in range(3)]
    heads = [part.movedim(0, 1) for part in (query, key, value)]
    plain = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True).movedim(0, 1)
    assert torch.allclose(merge(torch.stack(parts)), plain, rtol=0, atol=1e-14)


def test_each_token_is_held_by_one_rank_and_read_back_where_it_was_written():
    pools = [Pages(rank, 3, 4, 8, like()) for rank in range(3)]
    table, positions = torch.tensor([5, 2]), torch.arange(20)
    keys = torch.randn(20, 4, 16, dtype=torch.float64)
    for pool in pools:
        pool.write(table, positions, keys, -keys)
    found = [pool.read(table, 20) for pool in pools]
    assert sorted(torch.cat([at for at, _, _ in found]).tolist()) == list(range(20))
    for at, held, values in found:
        assert torch.equal(held, keys[at]) and torch.equal(values, -keys[at])


def test_a_token_that_nobody_wrote_reads_as_nan():
    assert Pages(0, 2, 4, 8, like()).read(torch.tensor([0]), 4)[1].isnan().all()
