"""Which lemma instances a statement needs, found by closing the graph of "divides" between its terms.

An edge means that one term is *perhaps* a multiple of another, with the cofactor that would make it one.
Edges only choose instances: each instance is an implication proved once (`spec.smt.lemmas`), so a wrong
edge can only fail to help.  An edge may rest on remainders being zero or on terms being equal
(`assumes`): one that rests on less makes one that rests on more superfluous.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import z3

from spec.smt.lemmas import LEMMAS, Comparisons
from spec.smt.polynomials import Polynomial, comparison, every
from spec.smt.terms import CommonDivisor, CommonMultiple, Division, Ledger, Term

MOST_EDGES = 4_000

# Pairs (number, divisor) whose remainder is zero, and triples ("=", a, b) of terms that are equal.
Assumptions = frozenset[tuple[str, ...]]


ZERO, ONE = Polynomial.constant(0), Polynomial.constant(1)


@dataclass(frozen=True)
class Instance:
    """A lemma with polynomials for its names."""

    lemma: str
    values: tuple[tuple[str, Polynomial], ...]

    @staticmethod
    def of(lemma: str, **values: Polynomial) -> Instance:
        return Instance(lemma, tuple(values.items()))

    @cached_property
    def comparisons(self) -> tuple[Comparisons, Comparisons]:
        """Its hypotheses and its conclusions."""
        return LEMMAS[self.lemma].comparisons_at(dict(self.values))

    @property
    def size(self) -> int:
        """How many products it speaks of: simple instances are tried first."""
        return sum(len(p.terms) for part in self.comparisons for _, p in part)

    def formula(self) -> z3.BoolRef:
        """The implication, over opaque products."""
        hypotheses, conclusions = (
            [comparison(kind, difference) for kind, difference in part] for part in self.comparisons
        )
        return z3.Implies(every(hypotheses), every(conclusions))


@dataclass(frozen=True)
class Edge:
    """Perhaps ``multiple == divisor * cofactor``; `because` gives the instance that implies it, `parents` its premises."""

    divisor: Term
    multiple: Term
    cofactor: Polynomial
    assumes: Assumptions = frozenset()
    parents: tuple[Edge, ...] = field(default=())
    because: Callable[[], Instance] | None = None

    def instances(self) -> Iterator[Instance]:
        """The lemma instances this edge rests on."""
        for parent in self.parents:
            yield from parent.instances()
        if self.because is not None:
            yield self.because()


class Graph:
    """The edges between the terms of one statement, closed under the rules below."""

    def __init__(self, ledger: Ledger, most_assumptions: int):
        self.ledger = ledger
        self.most_assumptions = most_assumptions
        self._known: dict[tuple[str, str], list[Assumptions]] = defaultdict(list)
        self._from: dict[str, list[Edge]] = defaultdict(list)
        self._to: dict[str, list[Edge]] = defaultdict(list)
        self._waiting: deque[Edge] = deque()
        self._sums_of: dict[str, list[tuple[Term, Term, Term, int]]] = defaultdict(list)
        for a, b, total, sign in ledger.sums:
            for key in {a.key, b.key, total.key}:
                self._sums_of[key].append((a, b, total, sign))
        self._close()

    def edges(self, divisor: Term, multiple: Term) -> list[Edge]:
        """All edges found between two terms."""
        return [e for e in self._from[divisor.key] if e.multiple.key == multiple.key]

    def multiples(self, divisor: Term) -> list[Edge]:
        """All edges that start from a term."""
        return self._from[divisor.key]

    def __len__(self) -> int:
        return sum(len(edges) for edges in self._from.values())

    def _is_new(self, divisor: Term, multiple: Term, assumes: Assumptions) -> bool:
        if divisor.key == multiple.key or len(assumes) > self.most_assumptions:
            return False
        return not any(known <= assumes for known in self._known[divisor.key, multiple.key])

    def _add(self, edge: Edge) -> None:
        if self._is_new(edge.divisor, edge.multiple, edge.assumes):
            self._known[edge.divisor.key, edge.multiple.key].append(edge.assumes)
            self._waiting.append(edge)

    def _derive(
        self,
        divisor: Term,
        multiple: Term,
        cofactor: Callable[[], Polynomial],
        lemma: str,
        values: Callable[[], dict[str, Polynomial]],
        *parents: Edge,
    ) -> None:
        """Add the edge that an instance of a lemma makes out of its parents, unless it adds nothing."""
        assumes = frozenset[tuple[str, ...]]().union(*(p.assumes for p in parents))
        if self._is_new(divisor, multiple, assumes):
            self._add(
                Edge(
                    divisor,
                    multiple,
                    cofactor(),
                    assumes,
                    parents,
                    lambda: Instance.of(lemma, **values()),
                )
            )

    def _close(self) -> None:
        ledger = self.ledger
        for p in ledger.products.values():
            self._add(Edge(p.left, p.product, p.right.polynomial))
            self._add(Edge(p.right, p.product, p.left.polynomial))
        for m in ledger.multiples.values():
            self._add(Edge(m.left, m.multiple, m.left_cofactor.polynomial))
            self._add(Edge(m.right, m.multiple, m.right_cofactor.polynomial))
        for d in ledger.divisors.values():
            for x, cofactor in ((d.left, d.left_cofactor), (d.right, d.right_cofactor)):
                self._add(Edge(d.divisor, x, cofactor.polynomial))
                self._add(Edge(cofactor, x, d.divisor.polynomial))
        for a, b in ledger.equalities:
            equal = frozenset([("=", *sorted((a.key, b.key)))])
            self._add(Edge(a, b, ONE, equal))
            self._add(Edge(b, a, ONE, equal))
        for d, quotient in self._quotients_by_divisor():
            self._add(Edge(d.right_cofactor, quotient, ONE))
            self._add(Edge(quotient, d.right_cofactor, ONE))
        for pair, n in ledger.divisions.items():
            self._add(Edge(n.divisor, n.number, n.quotient.polynomial, frozenset([pair])))
        while self._waiting and len(self) < MOST_EDGES:
            edge = self._waiting.popleft()
            self._from[edge.divisor.key].append(edge)
            self._to[edge.multiple.key].append(edge)
            self._transitive(edge)
            self._common(edge)
            self._sum(edge)
            self._cancel(edge)
            self._period(edge)

    def _join(self, e: Edge, f: Edge) -> None:
        self._derive(
            e.divisor,
            f.multiple,
            lambda: e.cofactor * f.cofactor,
            "transitive",
            lambda: dict(
                a=e.divisor.polynomial,
                b=e.multiple.polynomial,
                c=f.multiple.polynomial,
                x=e.cofactor,
                y=f.cofactor,
            ),
            e,
            f,
        )

    def _transitive(self, edge: Edge) -> None:
        for later in list(self._from[edge.multiple.key]):
            self._join(edge, later)
        for earlier in list(self._to[edge.divisor.key]):
            self._join(earlier, edge)

    def _pairs(self, edge: Edge, other: str, into: bool) -> Iterator[Edge]:
        """Edges that share this edge's far end and touch the term `other` at the near one."""
        far = edge.multiple if into else edge.divisor
        if far.key == other:
            yield Edge(far, far, ONE)
        elif into:
            yield from [e for e in self._to[far.key] if e.divisor.key == other]
        else:
            yield from [e for e in self._from[far.key] if e.multiple.key == other]

    def _common(self, edge: Edge) -> None:
        """A common multiple is a multiple of the least one, a common divisor a divisor of the greatest."""
        for m in self.ledger.multiples.values():
            for near, far in ((m.left, m.right), (m.right, m.left)):
                if edge.divisor.key == near.key and edge.multiple.key != m.multiple.key:
                    for other in self._pairs(edge, far.key, into=True):
                        left, right = (edge, other) if near is m.left else (other, edge)
                        self._least_multiple(m, edge.multiple, left, right)
        for d in self.ledger.divisors.values():
            for near, far in ((d.left, d.right), (d.right, d.left)):
                if edge.multiple.key == near.key and edge.divisor.key != d.divisor.key:
                    for other in self._pairs(edge, far.key, into=False):
                        left, right = (edge, other) if near is d.left else (other, edge)
                        self._greatest_divisor(d, edge.divisor, left, right)

    def _least_multiple(self, m: CommonMultiple, of: Term, left: Edge, right: Edge) -> None:
        self._derive(
            m.multiple,
            of,
            lambda: left.cofactor * m.u.polynomial + right.cofactor * m.v.polynomial,
            "least multiple",
            lambda: dict(
                **_bezout(m),
                g=m.multiple.polynomial,
                m=of.polynomial,
                q=left.cofactor,
                r=right.cofactor,
            ),
            left,
            right,
        )

    def _greatest_divisor(self, d: CommonDivisor, by: Term, left: Edge, right: Edge) -> None:
        self._derive(
            by,
            d.divisor,
            lambda: left.cofactor * d.u.polynomial + right.cofactor * d.v.polynomial,
            "greatest divisor",
            lambda: dict(
                **_bezout(d),
                g=d.divisor.polynomial,
                d=by.polynomial,
                q=left.cofactor,
                r=right.cofactor,
            ),
            left,
            right,
        )

    def _sum(self, edge: Edge) -> None:
        for a, b, total, sign in self._sums_of[edge.multiple.key]:
            # total = a + sign b; a = total - sign b; b = sign (total - a)
            for x, y, result, s in ((a, b, total, sign), (total, b, a, -sign)):
                self._sum_of(edge, x, y, result, s)
            if sign == 1:
                self._sum_of(edge, total, a, b, -1)
            else:
                self._sum_of(edge, a, total, b, -1)

    def _sum_of(self, edge: Edge, x: Term, y: Term, result: Term, sign: int) -> None:
        if edge.multiple.key == x.key:
            pairs = [(edge, other) for other in self._pairs(edge, y.key, into=False)]
        elif edge.multiple.key == y.key:
            pairs = [(other, edge) for other in self._pairs(edge, x.key, into=False)]
        else:
            return
        for e, f in pairs:
            self._add_up(e, f, result, sign)

    def _add_up(self, e: Edge, f: Edge, result: Term, sign: int) -> None:
        self._derive(
            e.divisor,
            result,
            lambda: e.cofactor + _signed(sign, f.cofactor),
            "sum",
            lambda: dict(
                a=e.multiple.polynomial,
                b=f.multiple.polynomial,
                d=e.divisor.polynomial,
                x=e.cofactor,
                y=f.cofactor,
            ),
            e,
            f,
        )

    def _cancel(self, edge: Edge) -> None:
        """From ``k a`` divides ``k b`` to ``a`` divides ``b``, whatever ways the two are written as products."""
        for n in self._factors(edge.divisor):
            for m in self._factors(edge.multiple):
                (k, a), (k2, b) = n, m
                if k.key == k2.key:
                    self._cancel_factor(edge, k, a, b)

    def _cancel_factor(self, edge: Edge, k: Term, a: Term, b: Term) -> None:
        self._derive(
            a,
            b,
            lambda: edge.cofactor,
            "cancel factor",
            lambda: dict(
                k=k.polynomial,
                a=a.polynomial,
                b=b.polynomial,
                n=edge.divisor.polynomial,
                m=edge.multiple.polynomial,
                w=edge.cofactor,
            ),
            edge,
        )

    def _quotients_by_divisor(self) -> Iterator[tuple[CommonDivisor, Term]]:
        """Quotients by a greatest common divisor: each is the cofactor."""
        for d in self.ledger.divisors.values():
            if n := self.ledger.divisions.get((d.right.key, d.divisor.key)):
                yield d, n.quotient

    def _period(self, edge: Edge) -> None:
        """``k a`` is a multiple of ``b`` exactly where ``k`` is one of ``b / gcd(a, b)``."""
        for d in self.ledger.divisors.values():
            for p in self.ledger.products.values():
                for k, a in ((p.left, p.right), (p.right, p.left)):
                    if a.key != d.left.key:
                        continue
                    if (edge.divisor.key, edge.multiple.key) == (d.right_cofactor.key, k.key):
                        self._period_if(d, k, p.product, edge)
                    if (edge.divisor.key, edge.multiple.key) == (d.right.key, p.product.key):
                        self._period_only(d, k, p.product, edge)

    def _period_if(self, d: CommonDivisor, k: Term, n: Term, edge: Edge) -> None:
        known = {key: p for key, p in _bezout(d).items() if key not in "uv"}
        self._derive(
            d.right,
            n,
            lambda: edge.cofactor * d.left_cofactor.polynomial,
            "period",
            lambda: dict(
                **known,
                g=d.divisor.polynomial,
                k=k.polynomial,
                n=n.polynomial,
                w=edge.cofactor,
            ),
            edge,
        )

    def _period_only(self, d: CommonDivisor, k: Term, n: Term, edge: Edge) -> None:
        self._derive(
            d.right_cofactor,
            k,
            lambda: d.u.polynomial * edge.cofactor + d.v.polynomial * k.polynomial,
            "only period",
            lambda: dict(
                **_bezout(d),
                g=d.divisor.polynomial,
                k=k.polynomial,
                n=n.polynomial,
                w=edge.cofactor,
            ),
            edge,
        )

    def _factors(self, term: Term) -> Iterator[tuple[Term, Term]]:
        equal = {term.key}
        for a, b in self.ledger.equalities:
            if a.key == term.key:
                equal.add(b.key)
            elif b.key == term.key:
                equal.add(a.key)
        for p in self.ledger.products.values():
            if p.product.key in equal:
                yield p.left, p.right
                yield p.right, p.left


def _signed(sign: int, p: Polynomial) -> Polynomial:
    return p if sign == 1 else -p


def _bezout(x: CommonMultiple | CommonDivisor) -> dict[str, Polynomial]:
    return dict(
        a=x.left.polynomial,
        b=x.right.polynomial,
        x=x.left_cofactor.polynomial,
        y=x.right_cofactor.polynomial,
        u=x.u.polynomial,
        v=x.v.polynomial,
    )


def _remainder(n: Division, quotient: Polynomial, rest: Polynomial) -> Instance:
    """If `rest` is small enough to be it, it is the remainder, and `quotient` the quotient."""
    return Instance.of(
        "remainder",
        t=n.divisor.polynomial,
        n=n.number.polynomial,
        w=quotient,
        s=rest,
        q=n.quotient.polynomial,
        r=n.remainder.polynomial,
    )


def _quotients(graph: Graph, pair: tuple[str, str], n: Division) -> Iterator[Instance]:
    """What is known of a quotient and remainder: from a multiple at or near the number, from another division."""
    t = n.divisor.polynomial
    yield Instance.of("shrink", t=t, x=n.quotient.polynomial)
    yield Instance.of("grow", t=t, x=n.quotient.polynomial)
    yield _remainder(n, ZERO, n.number.polynomial)
    for edge in graph.multiples(n.divisor):
        if pair not in edge.assumes:
            yield from edge.instances()
            yield _remainder(n, edge.cofactor, n.number.polynomial - edge.multiple.polynomial)
            yield Instance.of("order", t=t, x=edge.cofactor, y=n.quotient.polynomial)
            yield Instance.of("order", t=t, x=n.quotient.polynomial, y=edge.cofactor - ONE)
    for other in graph.ledger.divisions.values():
        if other is not n and other.divisor.key == n.divisor.key:
            yield Instance.of("order", t=t, x=n.quotient.polynomial, y=other.quotient.polynomial)
            rest = other.remainder.polynomial + n.number.polynomial - other.number.polynomial
            yield _remainder(n, other.quotient.polynomial, rest)


def instances(ledger: Ledger, most_assumptions: int) -> list[Instance]:
    """The lemma instances that bear on the statement written down in `ledger`, each once.

    `most_assumptions` is how much an edge may rest on: more finds more instances, and takes longer.
    """
    graph = Graph(ledger, most_assumptions)
    found: dict[Instance, None] = {}
    for p in ledger.products.values():
        left, right = p.left.polynomial, p.right.polynomial
        found[Instance.of("grow", t=left, x=right)] = None
        found[Instance.of("shrink", t=left, x=right)] = None
        found[Instance.of("shrink", t=right, x=left)] = None
        found[Instance.of("unit", t=left, x=right)] = None
        found[Instance.of("unit", t=right, x=left)] = None
    for pair, n in ledger.divisions.items():
        found.update(dict.fromkeys(_quotients(graph, pair, n)))
    for a, b in ledger.comparisons:
        for x, y in ((a, b), (b, a)):
            for edge in graph.edges(x, y):
                found.update(dict.fromkeys(edge.instances()))
                factor = dict(a=x.polynomial, b=y.polynomial, x=edge.cofactor)
                found[Instance.of("positive factor", **factor)] = None
    return list(found)
