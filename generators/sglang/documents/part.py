"""What only SGLang can add to the generated pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from generators.check.findings import Judgement
from generators.sglang.emit.mechanisms import MECHANISMS
from generators.sglang.emit.mechanisms.base import Mechanism
from generators.sglang.search import public_reports


class Documents:
    """The part of SGLang for `gridproof.docs_pages`."""

    title = "SGLang"
    least_values = (
        "A prefix, a label and the number of steps ahead may be 0. The state in a slot is at least -1, which stands for a "
        "slot that nothing wrote, or -2, which stands for no slot."
    )
    inductions = ("slots", "tree")
    subjects = "`+insert-guard` is the release with the patch that lies beside the tests."
    lengths = ("tree page", "interval")
    count = staticmethod(public_reports.count)

    def mechanisms(self) -> Sequence[Mechanism]:
        """The mechanisms that tests are emitted for."""
        return MECHANISMS

    def faults(self) -> Sequence[public_reports.Fault]:
        """The public reports that the rules can model."""
        return public_reports.faults()

    def unstated(self) -> Sequence[public_reports.Unstated]:
        """The public reports that they cannot."""
        return public_reports.unstated()

    def lengths_of(self, judgement: Judgement) -> Iterable[str]:
        """The lengths of a judged launch (tokens), for the columns `lengths`."""
        yield str(judgement.geometry.get("tree_page", "-"))
        yield str(judgement.configuration.get("mamba_track_interval", "-"))


PART = Documents()
