"""SGLang for the search: see `generators.engines.Searching`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from generators.cases.domain import Domain
from generators.cases.file_format import Case, CaseFile, Event
from generators.search.batches import Batch
from generators.search.configurations import Survey
from generators.search.limits import SearchLimits
from generators.sglang.search.design_rules import Rules
from generators.sglang.search.equivalence import signature
from spec.sglang import bezout_check
from spec.sglang.releases import Design
from spec.transition_system import Trace

MODELLED_STRATEGIES = ("extra_buffer", "extra_buffer_lazy")
# Fields that every case of a grid depends on.
_MATTERS = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size", "strategy")


class Search:
    """What the search asks of SGLang; what is heavy is imported when it is asked for."""

    decided_first = (
        "mamba_chunk_size",
        "mamba_track_interval",
        "page_size",
        "dcp_size",
        "speculative_num_draft_tokens",
    )
    design_rules = Rules()
    signature = staticmethod(signature)

    def is_modelled(self, others: Mapping[str, Any]) -> bool:
        """Whether the rules of the strategy are modelled."""
        return others["strategy"] in MODELLED_STRATEGIES

    def unmodelled(self, domain: Domain) -> list[str]:
        """The strategies of a domain that are not modelled."""
        strategies = sorted(set(domain.axis("strategy")) - set(MODELLED_STRATEGIES))
        named = ", ".join(strategies)
        return [f"not searched: the rules of {named} are not modelled yet"] if strategies else []

    def prepare(self, design: Design, batch: Batch) -> None:
        """Check Bezout's coefficients, which the proofs take to exist."""
        bezout_check.require(design, batch.c)

    def surveys(self, design: Design, domain: Domain, guards: bool) -> list[Survey]:
        """What is to be found out about each producer."""
        from generators.sglang.search.surveys import surveys

        return surveys(design, domain, guards)

    def matters(self, trace: Sequence[Event], failure_class: Mapping[str, Any]) -> frozenset[str]:
        """The fields that a case depends on: of drafts where it verifies, of prefill chunks where a prefix is cut."""
        further: tuple[str, ...] = ()
        if any(e.event == "verify" for e in trace):
            further = ("speculative_num_draft_tokens", "speculative_algorithm")
        if failure_class.get("prefix_on_page") is False:
            further = (*further, "chunked_prefill_size")
        return frozenset((*_MATTERS, *further))

    def life(self, design: Design, c: Any, mixes: bool) -> Any:
        """What can happen to one request."""
        from generators.sglang.search.request_life import RequestLife

        return RequestLife(design, c, mixes=mixes)

    def class_of(self, design: Design, c: Any, trace: Trace) -> Any:
        """The class of a trace in a configuration."""
        from generators.sglang.search.orders import class_of

        return class_of(design, c, trace)

    def order_case(
        self, design: Design, values: dict[str, Any], trace: Trace, failure_class: Any, members: int
    ) -> Case:
        """A trace in one configuration as a case."""
        from generators.sglang.search.orders import case_of

        return case_of(design, values, trace, failure_class, members)

    def further_orders(
        self, design: Design, configurations: Iterable[Mapping[str, Any]]
    ) -> tuple[list[Case], tuple[str, ...]]:
        """The orders of the radix tree, where a rule of it is the user's own."""
        from generators.sglang.search.orders import further_orders

        return further_orders(design, configurations)

    def launches(
        self, design: Design, domain: Domain, context_length: int, **options: Any
    ) -> CaseFile:
        """Guards that refuse what would be right, and grids beyond the context (tokens)."""
        from generators.sglang.search.refusals import search_launches

        return search_launches(design, domain, context_length, **options)

    def places(
        self,
        design: Design,
        domain: Domain,
        flags: Mapping[str, Sequence[Any]],
        limits: SearchLimits,
        **options: Any,
    ) -> CaseFile:
        """Orders over requests, slots, the tree on device and host, storage and sessions."""
        from generators.sglang.search.places.part import search_places

        return search_places(design, domain, flags, limits, **options)

    def story(self, case: Case) -> Sequence[str]:
        """A case of many places as sentences, one an event."""
        from generators.sglang.search.places.stories import story

        return story(case.trace)


PART = Search()
