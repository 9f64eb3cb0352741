"""What a search of configurations asks of SGLang's producers: extends, and producers with a rule of a user's own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy

from generators.cases.domain import Domain
from generators.cases.file_format import Case
from generators.common.errors import BadInput
from generators.search.batches import Batch
from generators.search.configurations import GridSurvey, Members, Survey, case_of
from generators.search.limits import Progress
from generators.search.user_design.load import own_rules
from generators.search.user_design.rule import NotForAll
from generators.sglang.search import producers
from generators.sglang.search.own_producers import OwnClass, own_classes, with_a_period
from generators.sglang.search.producers import GEOMETRY, ExtendClass
from generators.sglang.search.separators import SEPARATORS, Geometry, Separation
from spec.numbers import Truth
from spec.sglang.checkpoints import misplaced
from spec.sglang.configuration import Configuration
from spec.sglang.engine import FIELD_NAMES
from spec.sglang.releases import Design

_LENGTHS = {"prefix": 0, "tokens": 1}
_MOST_TRIED = 4  # separators of one class that the solver is asked about


def surveys(design: Design, domain: Domain, guards: bool) -> list[Survey]:
    """What is to be found out about each kind of checkpoint of a design."""
    own = own_classes(design)
    return [
        *(GridSurvey(design, producer) for producer in with_a_period(design)),
        ExtendSurvey(design, domain, guards),
        *([OwnSurvey(design, domain, guards, own)] if own else []),
    ]


class ExtendSurvey:
    """The ways in which an extend goes wrong; it depends on where its prefix stands, on the tree page or off it."""

    def __init__(self, design: Design, domain: Domain, guards: bool):
        self.design, self.domain, self.guards = design, domain, guards
        # Whether it may depend on more than the geometry, as no release's extend does.
        self.reads_more = not {"extend_grid", "extend_row_stride"}.isdisjoint(own_rules(design))
        self.all_classes = producers.extend_classes(design)
        self.separations = {c: Separation() for c in self.all_classes}
        self.found: dict[ExtendClass, Members] = {}
        self.exact: set[ExtendClass] | None = None

    @property
    def classes(self) -> int:
        """How many ways were found."""
        return len(self.found)

    def see(self, batch: Batch, rank: numpy.ndarray) -> None:
        """Enter the configurations that some extend breaks, of the candidate lengths."""
        distinct, inverse = self._distinct(batch)
        for failure_class, (prefixes, ends) in self._shortest_failures(distinct).items():
            self._separate(failure_class, distinct, ends >= 0)
            members = numpy.flatnonzero((ends >= 0)[inverse])
            if not len(members):
                continue
            where = int(members[numpy.argmin(rank[members])])
            lengths = (int(prefixes[inverse[where]]), int(ends[inverse[where]]))
            entry = self.found.setdefault(failure_class, Members())
            entry.offer(len(members), rank[where], batch.at(where), lengths)

    def breaks(self, batch: Batch) -> numpy.ndarray:
        """Which configurations of a batch some extend breaks, of the candidate lengths."""
        distinct, inverse = self._distinct(batch)
        broken = numpy.zeros(len(distinct), dtype=bool)
        for _, ends in self._shortest_failures(distinct).values():
            broken |= ends >= 0
        return broken[inverse]

    def close(self, configurations: int, progress: Progress) -> list[str]:
        """Show that classes not found do not exist, and that those found break no more configurations than counted."""
        try:
            return self._closed(configurations, progress)
        except (NotForAll, BadInput) as why:
            self.exact = set()
            return [f"not shown that no extend goes wrong otherwise ({why})"]

    def cases(self) -> Iterator[Case]:
        """A case for each way; the members are counted where it is shown that there are no more."""
        for failure_class, members in self.found.items():
            c = Configuration(**members.configuration)
            prefix, end = producers.shrink_extend(self.design, c, failure_class, *members.lengths)
            where = "on-page" if failure_class.prefix_on_page else "off-page"
            yield case_of(
                self.design,
                f"{failure_class.code.name}-{failure_class.rule}-{where}",
                failure_class.code,
                producers.find_extend(self.design, c, failure_class, prefix, end),
                failure_class.document(self.design, c),
                members,
                exact=self.exact is None or failure_class in self.exact,
            )

    def _distinct(self, batch: Batch) -> tuple[Batch, numpy.ndarray]:
        """The configurations that an extend can tell apart, and which of them each one of the batch is."""
        if self.reads_more:
            return batch, numpy.arange(len(batch))
        key = numpy.zeros(len(batch), dtype=object)
        for name in GEOMETRY:
            key = key * (int(batch.numeric[name].max()) + 1) + batch.numeric[name]
        if key.size and int(max(key.max(), 0)) < 1 << 62:
            key = key.astype(numpy.int64)
        _, first, inverse = numpy.unique(key, return_index=True, return_inverse=True)
        return batch.where(first), inverse

    def _shortest_failures(
        self, batch: Batch
    ) -> dict[ExtendClass, tuple[numpy.ndarray, numpy.ndarray]]:
        """For each class the prefix and end (tokens) of the shortest failing candidate; an end of -1 is none."""
        c, size, design = batch.c, len(batch), self.design
        chunked = _cuts(batch.others)
        shortest = {
            k: (numpy.zeros(size, dtype=object), numpy.full(size, -1, dtype=object))
            for k in self.all_classes
            if k.prefix_on_page or chunked
        }
        for prefix, end in producers.extend_candidates(design, c):
            checkpoint = producers.extend_checkpoint(design, c, prefix, end)
            if not (numpy.any(checkpoint.fault) or numpy.any(misplaced(design, c, checkpoint))):
                continue
            for failure_class, (prefixes, ends) in shortest.items():
                hit = failure_class.describes(design, c, prefix, checkpoint)
                hit = numpy.broadcast_to(hit, (size,)).astype(bool)
                if hit.any():
                    better = hit & ((ends < 0) | (end < ends))
                    ends[better], prefixes[better] = end[better], prefix[better]
        return shortest

    def _separate(self, failure_class: ExtendClass, batch: Batch, broken: numpy.ndarray) -> None:
        """Enter what is broken, and what is not, of those configurations that use the rule of the class."""
        separation = self.separations[failure_class]
        if self.reads_more:  # whether it breaks is then no matter of a geometry
            separation.agreeing = ()
            separation.spare(_geometries_of(batch))
            return
        uses = failure_class.rule_applies(self.design, batch.c)
        uses = numpy.broadcast_to(uses, broken.shape).astype(bool)
        using = batch.where(uses)
        separation.see(using.c, broken[uses], _geometries_of(using.where(~broken[uses])))

    def _closed(self, configurations: int, progress: Progress) -> list[str]:
        self.exact, notes = set(), []
        for done, failure_class in enumerate(self.all_classes):
            progress("showing that there is no other", done, len(self.all_classes))
            if failure_class not in self.found:
                if not self._shown_to_break_no_other(failure_class, [None]):
                    where = "on" if failure_class.prefix_on_page else "off"
                    notes.append(
                        f"not shown that no configuration has {failure_class.code.id} "
                        f"({failure_class.code.name}) from a prefix {where} the tree page"
                    )
            elif self.found[failure_class].members == configurations:
                self.exact.add(failure_class)
            else:
                agreeing = self.separations[failure_class].agreeing[:_MOST_TRIED]
                members = [SEPARATORS[name] for name in agreeing]
                if self._shown_to_break_no_other(failure_class, members):
                    self.exact.add(failure_class)
        progress("showing that there is no other", len(self.all_classes), len(self.all_classes))
        return notes

    def _shown_to_break_no_other(
        self, failure_class: ExtendClass, besides: Sequence[Callable[[Any], Truth] | None]
    ) -> bool:
        """Whether it is shown to break no configuration but those that one of `besides` names (None: none at all).

        The configurations of a list are looked at geometry by geometry.
        """
        at_once = not self.domain.listed and any(
            self._shown_for_all(self.domain, failure_class, self.guards, members)
            for members in besides
        )
        whole = self.separations[failure_class].whole
        return at_once or self._shown_one_by_one(failure_class, whole)

    def _shown_one_by_one(
        self, failure_class: ExtendClass, geometries: Collection[Geometry] | None
    ) -> bool:
        """Whether the solver shows for each of these geometries apart that the class does not break it."""
        if geometries is None:
            return False
        for geometry in sorted(geometries):
            axes = {name: self.domain.axis(name) for name in FIELD_NAMES}
            axes |= {name: (value,) for name, value in zip(GEOMETRY, geometry, strict=True)}
            if not self._shown_for_all(Domain(axes), failure_class, False, None):
                return False
        return True

    def _shown_for_all(
        self,
        domain: Domain,
        failure_class: ExtendClass,
        guards: bool,
        besides: Callable[[Any], Truth] | None,
    ) -> bool:
        from generators.search.completeness import Wrong, shown_for_all

        def at(design: Design, c: Any, prefix: Any, tokens: Any) -> Truth:
            return failure_class.matches(design, c, prefix, prefix + tokens)

        where = "on" if failure_class.prefix_on_page else "off"
        wrong = Wrong(f"{failure_class.code.name} from a prefix {where} the page", _LENGTHS, at)
        return shown_for_all(
            self.design,
            domain,
            wrong,
            guards,
            besides=besides,
            possible=lambda others: failure_class.prefix_on_page or _cuts(others),
        )


class OwnSurvey:
    """The ways in which producers with a rule of the user's own go wrong, of which no period is known."""

    def __init__(self, design: Design, domain: Domain, guards: bool, all_classes: list[OwnClass]):
        self.design, self.domain, self.guards = design, domain, guards
        self.all_classes = all_classes
        self.found: dict[OwnClass, Members] = {}

    @property
    def classes(self) -> int:
        """How many ways were found."""
        return len(self.found)

    def see(self, batch: Batch, rank: numpy.ndarray) -> None:
        """Enter the configurations that break at one of the candidate lengths."""
        for failure_class in self.all_classes:
            which, candidates = failure_class.shortest(self.design, batch.c, len(batch))
            members = numpy.flatnonzero(which >= 0)
            if len(members):
                where = int(members[numpy.argmin(rank[members])])
                lengths = {
                    name: int(numpy.broadcast_to(value, (len(batch),))[where])
                    for name, value in candidates[which[where]].items()
                }
                entry = self.found.setdefault(failure_class, Members())
                entry.offer(len(members), rank[where], batch.at(where), lengths)

    def breaks(self, batch: Batch) -> numpy.ndarray:
        """Which configurations of a batch break at one of the candidate lengths."""
        broken = numpy.zeros(len(batch), dtype=bool)
        for failure_class in self.all_classes:
            broken |= failure_class.shortest(self.design, batch.c, len(batch))[0] >= 0
        return broken

    def close(self, configurations: int, progress: Progress) -> list[str]:
        """Why it is not shown, where it is not, that no configuration of the domain breaks in the ways not found."""
        return [
            f"not shown that no configuration has {missing.code.id} ({missing.code.name})"
            + (f": {why}" if why else "")
            for missing in self.all_classes
            if missing not in self.found and (why := self._not_shown(missing)) is not None
        ]

    def _not_shown(self, missing: OwnClass) -> str | None:
        """None where it is shown; else why not, which may be empty."""
        from generators.search.completeness import Wrong, shown_for_all

        wrong = Wrong(missing.name, missing.least, missing.matches)
        try:
            done = shown_for_all(self.design, self.domain, wrong, self.guards)
        except (NotForAll, BadInput) as error:
            return str(error)
        return None if done else ""

    def cases(self) -> Iterator[Case]:
        """A case for each way that was found, whose members are not counted."""
        for failure_class, members in self.found.items():
            c = Configuration(**members.configuration)
            yield case_of(
                self.design,
                f"{failure_class.name}-own",
                failure_class.code,
                failure_class.find(self.design, c, members.lengths),
                {"rules": list(own_rules(self.design))},
                members,
                exact=False,
            )


def _cuts(others: Mapping[str, Any]) -> bool:
    return others["chunked_prefill_size"] != -1


def _geometries_of(batch: Batch) -> Iterator[Geometry]:
    columns = (batch.numeric[n] for n in GEOMETRY)
    for page, dcp, chunk in zip(*columns, strict=True):
        yield int(page), int(dcp), int(chunk)
