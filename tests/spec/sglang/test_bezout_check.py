"""Euclid's witnesses, which the proofs take to exist, exist for every configuration of the largest documented domain."""

import math
import random
from itertools import product
from types import SimpleNamespace

import numpy
import pytest

from spec import bezout as bezout_module
from spec.bezout import bezout, witnessed
from spec.sglang.bezout_check import pairs, unwitnessed
from spec.sglang.configuration import Configuration
from spec.sglang.guards import chunk_and_page_fit
from spec.sglang.releases import CURRENT


def test_witnesses_exist_for_a_domain_of_configurations():
    seen = set()
    for page, dcp, chunk in product((1, 16, 32, 64, 128, 256), range(1, 65), (64, 128, 256)):
        for interval in range(page, 4097, max(page, 16)):
            c = Configuration(page, dcp, interval, mamba_chunk_size=chunk)
            if chunk_and_page_fit(c):
                seen.update(pairs(CURRENT, c))
    assert len(seen) > 10_000
    assert [pair for pair in seen if not witnessed(*pair)] == []


@pytest.mark.parametrize("kind", [numpy.int64, object])
def test_arrays_are_witnessed_as_integers_are(monkeypatch, kind):
    fields = {"page_size": (1, 48, 64), "dcp_size": (1, 3, 8), "mamba_track_interval": (64, 96)}
    columns = numpy.meshgrid(*fields.values())
    arrays = {n: column.ravel().astype(kind) for n, column in zip(fields, columns, strict=True)}
    c = SimpleNamespace(**arrays, mamba_chunk_size=64)
    assert unwitnessed(CURRENT, c) == []
    sound = bezout_module.bezout
    # A witness is wrong where the second number is the smaller one.
    monkeypatch.setattr(
        bezout_module, "bezout", lambda a, b: (sound(a, b)[0] + (a > b), sound(a, b)[1])
    )
    rows = zip(*(column.tolist() for column in arrays.values()), strict=True)
    singly = [unwitnessed(CURRENT, Configuration(*row, mamba_chunk_size=64)) for row in rows]
    assert set(unwitnessed(CURRENT, c)) == {pair for found in singly for pair in found} != set()


def test_a_domain_without_witnesses_is_not_searched(gridproof, monkeypatch):
    search = ("search", "--kind", "configurations", "--dcp-size", "1..8")
    assert gridproof(*search).code != 70
    monkeypatch.setattr(bezout_module, "bezout", lambda a, b: (1, 1))
    run = gridproof(*search)
    assert run.code == 70 and "Bezout" in run.err and not run.out


def test_witnesses_exist_for_large_numbers():
    draw = random.Random(0)
    for _ in range(1_000):
        a, b = draw.randrange(1, 10**12), draw.randrange(1, 10**12)
        assert witnessed(a, b)
        u, v = bezout(a, b)
        assert u * a + v * b == math.gcd(a, b)


def test_a_wrong_witness_is_noticed(monkeypatch):
    c = Configuration(64, 8)
    assert unwitnessed(CURRENT, c) == []
    monkeypatch.setattr(bezout_module, "bezout", lambda a, b: (1, 1))
    assert unwitnessed(CURRENT, c)


def test_a_configuration_without_witnesses_is_not_judged(gridproof, monkeypatch):
    launch = ("check", "--exit-zero", "--", "python", "-m", "sglang.launch_server", "--model-path")
    assert gridproof(*launch, "moonshotai/Kimi-K3").code == 0
    monkeypatch.setattr(bezout_module, "bezout", lambda a, b: (1, 1))
    run = gridproof(*launch, "moonshotai/Kimi-K3")
    assert run.code == 70 and "Bezout" in run.err and not run.out


@pytest.mark.parametrize(("a", "b"), [(1, 1), (12, 18), (7, 7), (1, 9)])
def test_small_pairs_are_witnessed(a, b):
    assert witnessed(a, b) and witnessed(b, a)
