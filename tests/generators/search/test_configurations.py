"""The search is complete, its cases are real, and zero found means shown that there is none."""

import itertools
import math
from types import SimpleNamespace

import numpy
import pytest

from generators.cases.domain import Domain, parse_axis
from generators.common.errors import BadInput, Inconclusive, Vacuous
from generators.search import batches
from generators.search.configurations import search
from generators.search.equivalence import representatives
from generators.search.event_orders import search_orders
from generators.sglang.search import producers
from spec.numbers import both
from spec.prove import shown
from spec.sglang import checkpoints
from spec.sglang.configuration import Configuration
from spec.sglang.releases import DESIGNS, design_named
from spec.sglang.rules import grids

KIMI = Domain(
    {
        "page_size": (64,),
        "dcp_size": (8,),
        "speculative_num_draft_tokens": (8,),
        "speculative_algorithm": ("DSPARK",),
    }
)
PAPER = Domain(
    {
        "page_size": (1, 16, 32, 64, 128, 256),
        "dcp_size": range(1, 65),
        "mamba_chunk_size": (64, 128, 256),
        "mamba_track_interval": range(1, 4097),
    }
)
PAIRS = Domain(
    {
        "page_size": (1, 2, 4),
        "dcp_size": (1, 2),
        "mamba_chunk_size": (2, 4),
        "mamba_track_interval": range(2, 14, 2),
        "speculative_num_draft_tokens": (0, 2),
        "overlap": (True, False),
    }
)
SMALL = Domain(
    {
        "page_size": (1, 2, 3, 4, 6),
        "dcp_size": range(1, 5),
        "mamba_chunk_size": (2, 4, 6),
        "mamba_track_interval": range(1, 13),
    }
)


def configurations(domain):
    """Every configuration of a small domain that the guards accept, by plain loops."""
    names = ("page_size", "dcp_size", "mamba_chunk_size", "mamba_track_interval")
    for values in itertools.product(*(domain.axis(n) for n in names)):
        c = Configuration(**dict(zip(names, values, strict=True)))
        fits = c.page_size % c.mamba_chunk_size == 0 or c.mamba_chunk_size % c.page_size == 0
        if fits and c.mamba_track_interval % c.page_size == 0:
            yield c


def codes_of(found):
    return {case.code for case in found.cases}


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.5.17", {"GP101", "GP102", "GP201", "GP202"}),
        ("0.5.18", {"GP101", "GP102", "GP201", "GP204"}),
        ("0.5.19", {"GP201"}),
        ("0.5.20", {"GP201"}),
        ("0.5.21", set()),
        ("0.5.23", set()),
    ],
)
def test_the_kimi_k3_launch_by_release(release, expected):
    found = search(design_named(f"sglang-{release}"), KIMI)
    assert codes_of(found) == expected
    assert found.complete


def test_the_decode_case_of_kimi_k3():
    found = search(design_named("sglang-0.5.18"), KIMI)
    case = next(c for c in found.cases if c.code == "GP101")
    assert case.depths == {"state": 768, "node": 512, "replayed": 256}
    assert case.klass == {"period": 2}
    assert [(e.event, e.tokens, e.seq_len) for e in case.trace] == [
        ("extend", 1, 1),
        ("decode", 767, 768),
        ("finish", 0, 768),
    ]


def test_the_63_periods_of_the_raw_interval():
    found = search(design_named("sglang-0.5.18"), PAPER, close=False)
    decode = [c for c in found.cases if c.code == "GP101"]
    assert found.domain["configurations"] == 881_664
    assert sorted(c.klass["period"] for c in decode) == list(range(2, 65))
    assert sum(c.members for c in decode) == 816_783


@pytest.mark.parametrize("name", ["sglang-0.5.17", "sglang-0.5.18", "sglang-0.5.19"])
def test_periods_and_members_are_those_of_plain_counting(name):
    """An independent count: walk the snapshots of every configuration one by one."""
    design, expected = DESIGNS[name], {}
    for c in configurations(SMALL):
        page, grid = c.page_size * c.dcp_size, design.grid("decode", c)
        wrong = [k * grid for k in range(1, 200) if k * grid > page and k * grid % page]
        if wrong:
            period = page // math.gcd(page, grid)
            expected[period] = expected.get(period, 0) + 1
    found = search(design, SMALL)
    counted = {c.klass["period"]: c.members for c in found.cases if c.code == "GP101"}
    assert counted == expected and found.complete


@pytest.mark.parametrize("name", DESIGNS)
def test_extend_classes_are_those_of_plain_walking(name):
    """An independent search over all short prefixes and ends finds no class and no member that is missing."""
    design, expected = DESIGNS[name], {}
    prefixes, tokens = (g.ravel() for g in numpy.meshgrid(range(0, 30), range(1, 60)))
    for c in configurations(SMALL):
        for failure_class in producers.extend_classes(design):
            if numpy.any(failure_class.matches(design, c, prefixes, prefixes + tokens)):
                key = (failure_class.code.id, failure_class.prefix_on_page, failure_class.rule)
                expected[key] = expected.get(key, 0) + 1
    found = search(design, SMALL)
    assert found.complete
    counted = {
        (c.code, c.klass["prefix_on_page"], c.klass["rule"]): c.members
        for c in found.cases
        if "rule" in c.klass
    }
    assert set(counted) == set(expected)
    assert {k: v for k, v in counted.items() if v is not None} == {
        k: expected[k] for k, v in counted.items() if v is not None
    }


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("domain", [KIMI, SMALL], ids=["kimi", "small"])
def test_every_case_is_one_on_plain_integers(name, domain):
    design = DESIGNS[name]
    for case in search(design, domain, close=False).cases:
        given = {k: v for k, v in case.configuration.items() if v is not None}
        c = SimpleNamespace(**{**vars(Configuration()), **given})
        last = case.trace[-2] if case.outcome == "misplaced" else case.trace[-1]
        before = last.seq_len - last.tokens
        if last.event == "decode":
            checkpoint = checkpoints.decode_checkpoint(design, c, last.seq_len)
        elif last.event == "verify":
            checkpoint = checkpoints.verify_checkpoint(design, c, before, last.tokens)
        else:
            checkpoint = checkpoints.extend_checkpoint(design, c, before, last.seq_len)
        if case.outcome == "fault":
            assert checkpoint.fault
            continue
        assert checkpoints.misplaced(design, c, checkpoint)
        assert case.depths["node"] == case.trace[-1].node_depth
        assert case.depths["replayed"] == checkpoint.state - case.depths["node"] != 0


def test_the_insert_guard_repairs_recorded_depths_and_cannot_see_a_wrong_row():
    page_above_chunk = Domain({"page_size": (128,), "mamba_track_interval": (128,)})
    guarded = design_named("sglang-0.5.18+insert-guard")
    assert codes_of(search(guarded, KIMI)) == {"GP204"}
    assert "GP203" in codes_of(search(guarded, page_above_chunk))


def test_without_chunked_prefill_no_prefix_is_off_the_page():
    whole = Domain({**KIMI.axes, "chunked_prefill_size": (-1,)})
    assert codes_of(search(design_named("sglang-0.5.19"), whole)) == set()
    assert codes_of(search(design_named("sglang-0.5.19"), KIMI)) == {"GP201"}


def test_the_representative_is_what_a_person_would_write():
    found = search(design_named("sglang-0.5.18"), PAPER, close=False)
    case = next(c for c in found.cases if c.klass == {"period": 2})
    assert case.configuration["mamba_track_interval"] == 256
    assert case.configuration["mamba_chunk_size"] == 64
    smallest = search(design_named("sglang-0.5.18"), PAPER, close=False, smallest=True)
    case = next(c for c in smallest.cases if c.klass == {"period": 2})
    assert (case.configuration["page_size"], case.configuration["dcp_size"]) == (1, 2)
    assert case.configuration["mamba_track_interval"] == 1


def test_two_searches_give_the_same_cases():
    one, two = (search(design_named("sglang-0.5.18"), SMALL).document() for _ in range(2))
    assert one == two


def test_guards_that_exclude_everything_are_vacuous_and_can_be_lifted():
    domain = Domain({"page_size": (64,), "mamba_track_interval": (100,)})
    with pytest.raises(Vacuous, match="multiple of the given --page-size"):
        search(design_named("sglang-0.5.18"), domain)
    assert search(design_named("sglang-0.5.18"), domain, guards=False).domain["configurations"] == 1


def test_the_page_guard_is_not_asked_where_the_flag_was_left_out():
    domain = Domain(
        {"page_size": (64,), "mamba_track_interval": (100,), "page_size_given": (False,)}
    )
    assert search(design_named("sglang-0.5.18"), domain, close=False).domain["configurations"] == 1


def test_numbers_beyond_a_machine_word_are_computed_exactly():
    big = 10**12
    domain = Domain(
        {
            "page_size": (big,),
            "dcp_size": (7,),
            "mamba_track_interval": (3 * big,),
            "mamba_chunk_size": (1,),
        }
    )
    found = search(design_named("sglang-0.5.18"), domain, close=False)
    case = next(c for c in found.cases if c.code == "GP101")
    assert case.depths == {"state": 9 * big, "node": 7 * big, "replayed": 2 * big}


def test_an_enormous_domain_is_refused_in_one_sentence():
    with pytest.raises(BadInput, match="combinations"):
        search(design_named("sglang-0.5.18"), Domain({"mamba_track_interval": range(1, 10**12)}))


def test_more_values_of_one_field_than_are_kept_are_refused_in_one_sentence():
    with pytest.raises(BadInput, match="--mamba-track-interval: has 20,000,000 values"):
        search(design_named("sglang-0.5.18"), Domain({"mamba_track_interval": range(20_000_000)}))


@pytest.mark.parametrize(
    "axes",
    [
        {
            "page_size": (1, 16, 32, 64, 128, 256),
            "dcp_size": range(1, 9),
            "mamba_chunk_size": (64, 128, 256),
        },
        {"page_size": (1, 16, 64), "dcp_size": (1, 2, 4, 8), "mamba_chunk_size": range(2, 65)},
        {"page_size": (64,), "dcp_size": (1, 8), "mamba_chunk_size": range(2, 65)},
        {"page_size": (64,), "dcp_size": range(1, 9), "mamba_chunk_size": (64,)},
    ],
)
@pytest.mark.parametrize("release", ["0.5.17", "0.5.18", "0.5.23"])
def test_members_are_shown_for_all_geometries_at_once_and_not_one_by_one(
    monkeypatch, axes, release
):
    """However few geometries a domain has: a hundred and more would be asked about one after the other."""
    asked = []

    def counting(theorem):
        asked.append(theorem)
        return shown(theorem)

    monkeypatch.setattr("generators.search.completeness.shown", counting)
    design = design_named(f"sglang-{release}")
    found = search(design, Domain({**axes, "mamba_track_interval": (64, 256)}))
    assert found.complete and all(case.members is not None for case in found.cases)
    assert len(asked) <= 2 * len(producers.extend_classes(design))


def test_what_is_told_apart_does_not_depend_on_the_batches(monkeypatch):
    """Groups and members of a search of orders, and classes and members of one of configurations."""
    design = design_named("sglang-0.5.19")
    orders = representatives(design, PAIRS, True, False, 1)
    grids_alone = search(design, PAIRS).document()
    monkeypatch.setattr(batches, "LARGEST", 37)
    assert representatives(design, PAIRS, True, False, 1) == orders
    assert search(design, PAIRS).document() == grids_alone
    assert sum(members for _, members in orders[1]) == orders[0]


def test_a_search_of_orders_enumerates_its_domain_once(monkeypatch):
    seen = []

    def counting(*given):
        seen.append(given)
        return batches.batches(*given)

    monkeypatch.setattr("generators.search.equivalence.batches", counting)
    search_orders(design_named("sglang-0.5.23"), KIMI)
    assert len(seen) == 1


def test_a_design_that_nothing_is_shown_of_is_inconclusive(monkeypatch):
    monkeypatch.setattr("generators.search.completeness.shown", lambda theorem: False)
    with pytest.raises(Inconclusive):
        search(design_named("sglang-0.5.23"), KIMI)


def test_progress_ends_at_the_total():
    seen = []
    search(design_named("sglang-0.5.18"), SMALL, progress=lambda *a: seen.append(a))
    assert seen and seen[-1][1] == seen[-1][2]


def test_batches_cover_the_domain_once(monkeypatch):
    monkeypatch.setattr(batches, "LARGEST", 37)
    design = design_named("sglang-0.5.18")
    seen = [
        tuple(int(column[i]) for column in batch.numeric.values())
        for batch, _ in batches.batches(design, SMALL)
        for i in range(len(batch))
    ]
    assert len(seen) == len(set(seen)) == len(list(configurations(SMALL)))


def test_flush_breaks_only_a_design_whose_snapshots_are_no_flush_steps():
    from dataclasses import replace

    sparse = replace(DESIGNS["sglang-0.5.23"], name="own", flush_grid=grids.checkpoint_grid)
    domain = Domain({"page_size": (64,), "mamba_track_interval": (256,)})
    assert codes_of(search(sparse, domain, close=False)) <= {"GP201"}
    stale = replace(sparse, flush_grid=lambda c: 3 * c.mamba_track_interval)
    found = search(stale, domain, close=False)
    case = next(c for c in found.cases if c.code == "GP301")
    assert case.depths["state"] % 768 == 0 and case.depths["replayed"] < 0


def test_axes():
    assert list(parse_axis("page_size", "1,64,16")) == [1, 16, 64]
    assert parse_axis("dcp_size", "1..64") == range(1, 65)
    assert list(parse_axis("mamba_track_interval", "64..256:64,1000")) == [64, 128, 192, 256, 1000]
    assert parse_axis("overlap", "on,off") == (True, False)
    assert both(*(v >= 1 for v in parse_axis("page_size", [1, "2..3"])))
