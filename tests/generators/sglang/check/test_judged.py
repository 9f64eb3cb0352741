"""The cases of one launch, held against the search over a domain of that one configuration."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from generators.cases.domain import domain_of
from generators.search.configurations import search
from generators.sglang.check.judged import grid_cases
from spec.sglang.configuration import Configuration
from spec.sglang.releases import DESIGNS

CONFIGURATIONS = st.builds(
    Configuration,
    page_size=st.sampled_from([1, 2, 3, 16, 64, 100, 128]),
    dcp_size=st.sampled_from([1, 2, 3, 8]),
    mamba_track_interval=st.sampled_from([1, 6, 64, 100, 256]),
    speculative_num_draft_tokens=st.sampled_from([0, 4, 9]),
    mamba_chunk_size=st.sampled_from([1, 2, 64, 128, 256]),
    chunked_prefill_size=st.sampled_from([None, -1, 2048]),
    strategy=st.sampled_from(["extra_buffer", "extra_buffer_lazy"]),
)


@settings(max_examples=60, deadline=None)
@given(design=st.sampled_from(list(DESIGNS.values())), c=CONFIGURATIONS)
def test_one_launch_has_the_cases_that_the_search_finds_in_its_configuration(design, c):
    found = search(design, domain_of(c), guards=False, close=False).cases
    expected = {(case.code, case.outcome, repr(case.trace), repr(case.depths)) for case in found}
    judged = grid_cases(design, c)
    assert expected == {(k.code, k.outcome, repr(k.trace), repr(k.depths)) for k in judged}
    assert len(judged) == len(found)
