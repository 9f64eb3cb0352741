"""What a theorem is given: a configuration of the engine, whose symbolic fields are the ones that it was seen to read."""

from dataclasses import replace

import pytest

from spec.prove import Prover
from spec.sglang.configuration import Configuration
from spec.sglang.theorems import LIBRARY
from spec.theorem import Library, Statement


def own_theorem(state):
    return Library(LIBRARY.setting).theorem("own")(state)


def test_a_statement_is_given_a_configuration_of_the_engine():
    seen = []

    def state(design, c, n):
        seen.append(c)
        return Statement({}, n * c.page_size >= c.page_size)

    theorem = own_theorem(state)
    assert Prover().prove(theorem).verdict == "proved"
    given = [c for c in seen if isinstance(c, Configuration)]
    assert given and any(hasattr(c.page_size, "ledger") for c in given)
    assert theorem.engine.name == "sglang" and theorem.parameters() == {"page_size": 1, "n": 1}


def test_a_field_that_is_read_only_on_terms_is_an_error_and_no_default():
    def state(design, c, n):
        return Statement({}, n <= n * (c.page_size if hasattr(n, "ledger") else 1))

    result = Prover().prove(own_theorem(state))
    assert result.verdict == "error" and "page_size" in result.reason


@pytest.mark.parametrize("use", [lambda x: x == 1, lambda x: x % 2, bool, lambda x: 3 // x])
def test_a_field_that_was_not_read_cannot_be_used(use):
    c = LIBRARY.setting.configuration({"dcp_size": 2})
    assert c.dcp_size == 2 and c.strategy == "extra_buffer"
    with pytest.raises(AttributeError, match="page_size"):
        use(c.page_size)


def test_a_field_that_a_setting_fixes_is_no_parameter():
    setting = replace(LIBRARY.setting, fixed={"dcp_size": 1, "overlap": False})
    assert "dcp_size" not in setting.fields and setting.fields["page_size"] == 1
    assert setting.fields["speculative_num_draft_tokens"] == 0
    assert setting.constants["dcp_size"] == 1 and setting.constants["overlap"] is False
    c = setting.configuration({"page_size": 16})
    assert (c.page_size, c.dcp_size, c.overlap) == (16, 1, False)
