"""Every public report that is stated is found again, told only its design, and not in the right one."""

import pytest

from generators.faults import faults, unstated
from spec.sglang.designs import design_named

FAULTS = faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_reported_fault_is_found_from_its_design_and_not_in_the_right_one(fault):
    assert fault.found_in(fault.faulty()) is not None
    assert fault.found_in(design_named(fault.right)) is None


def test_every_report_stands_in_the_catalogue_once():
    reports = [page for entry in (*FAULTS, *unstated()) for page in entry.reports]
    assert len(set(reports)) == len(reports) and all(
        page.startswith("https://") for page in reports
    )
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)
    assert all(entry.reason for entry in unstated())
