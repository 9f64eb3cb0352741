"""The page has a curve for each recurrence, aligned and misaligned, and shows what the numbers are."""

import xml.etree.ElementTree as xml

import pytest

torch = pytest.importorskip("torch")

from gpu_checks import charts  # noqa: E402
from gpu_checks.recurrences import RECURRENCES  # noqa: E402


@pytest.fixture(scope="module")
def curves():
    with torch.no_grad():
        return charts.curves()


def test_each_recurrence_has_an_aligned_and_a_misaligned_curve(curves):
    assert {(curve.name, curve.aligned) for curve in curves} == {
        (name, aligned) for name in RECURRENCES for aligned in (True, False)
    }


def test_aligned_runs_stay_equal_and_the_others_start_apart(curves):
    for curve in curves:
        first, largest = curve.points[0][1], max(error for _, error in curve.points)
        assert largest < 1e-13 if curve.aligned else first > 1e-3


def test_a_short_convolution_forgets_and_a_slow_state_does_not(curves):
    last = {curve.name: curve.points[-1][1] for curve in curves if not curve.aligned}
    assert last["short_conv"] == 0.0 and last["lightning"] > 1e-3


def test_the_page_draws_every_curve_inside_its_frame(curves):
    svg = charts.page(curves).partition("<svg")[2].partition("</svg>")[0]
    root = xml.fromstring(f"<svg{svg}</svg>")
    lines = root.findall("polyline")
    assert len(lines) == len(curves)
    for line in lines:
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            assert charts.LEFT <= x <= charts.LEFT + charts.WIDTH
            assert charts.TOP <= y <= charts.TOP + charts.HEIGHT


def test_the_page_is_written_where_it_is_asked_for(tmp_path, capsys):
    assert charts.main([str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert charts.main([str(tmp_path / "none" / "page.html")]) == 2
    assert charts.main([]) == 2
