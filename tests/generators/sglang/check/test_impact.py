"""How far a fault reaches, held against counting on plain integers."""

import shlex

import pytest

from generators.check.session import affected
from generators.check.verdict import judge
from generators.launch.launch import read_launch
from spec.sglang.checkpoints import decode_checkpoint, extend_checkpoint, misplaced, node_of
from spec.sglang.releases import DESIGNS
from spec.sglang.rules import grids

V18 = DESIGNS["sglang-0.5.18"]


def cases(flags, design=V18):
    launch = read_launch(shlex.split(f"sglang serve --tp-size 8 {flags}"))
    judgement = judge(design, launch, "x")
    return launch.configuration, {f.code.id: f.case for f in judgement.findings if f.case}


@pytest.mark.parametrize(
    ("flags", "lost", "wrong", "share", "most"),
    [
        ("--page-size 64 --dcp-size 8", 256, 768, 0.5, 256),
        ("--page-size 64 --dcp-size 8 --mamba-track-interval 64", 64, 576, 0.875, 448),
        ("--page-size 1 --dcp-size 4 --mamba-track-interval 6", None, 6, 0.5, 2),
    ],
)
def test_the_reach_of_a_decode_fault(flags, lost, wrong, share, most):
    c, found = cases(flags)
    reach = affected(V18, c, found["GP101"])
    assert reach == {
        "first_lost_depth": lost,
        "first_wrong_depth": wrong,
        "share": share,
        "most_replayed": most,
    }
    page, grid = grids.tree_page(c), int(V18.grid("decode", c))
    depths = [n for n in range(grid, 3 * page * grid + 1, grid) if page <= n < page + page * grid]
    checkpoints = [decode_checkpoint(V18, c, n) for n in depths]
    bad = [k for k in checkpoints if misplaced(V18, c, k)]
    assert len(bad) / len(checkpoints) == pytest.approx(share)
    assert max(int(k.state) - int(node_of(V18, c, k)) for k in bad) == most


def test_the_reach_of_an_extend_is_counted_over_the_prefixes_within_a_page():
    c, found = cases("--page-size 64", DESIGNS["sglang-0.5.23"])
    design = DESIGNS["sglang-0.5.23"]
    reach = affected(design, c, found["GP201"])
    grid = int(design.grid("extend", c))
    wrong = [misplaced(design, c, extend_checkpoint(design, c, p, p + grid)) for p in range(64)]
    assert reach["share"] == pytest.approx(sum(map(bool, wrong)) / 64, abs=1e-4)
    assert reach["most_replayed"] == 63 and reach["first_wrong_depth"] == 4095


def test_an_assertion_has_no_wrong_depth():
    c, found = cases("--page-size 64 --dcp-size 8")
    assert affected(V18, c, found["GP204"])["first_wrong_depth"] is None


def test_of_a_period_too_long_to_look_at_only_the_case_is_reported():
    c, found = cases("--page-size 64 --dcp-size 131072 --tp-size 131072 --mamba-track-interval 64")
    reach = affected(V18, c, found["GP101"])
    assert reach["share"] is None and reach["first_lost_depth"] == 64
    assert reach["most_replayed"] == found["GP101"].depths["replayed"]
