"""The mechanisms that tests are emitted for: which cases each one takes, and with which lengths it tries them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from generators import codes, expectations
from generators.cases import Case, spelled
from spec.sglang.configuration import Configuration
from spec.sglang.designs import Design

MOST_STEPS = 30_000


@dataclass(frozen=True)
class Check:
    """One parametrized run of a test: its id, the literal arguments, what each design is predicted to observe.

    `facts`: the numbers (tokens) that the model target needs to know of a design.
    """

    id: str
    arguments: dict[str, Any]
    observe: Callable[[Design], Any]
    passes: Callable[[Any], bool]
    facts: Callable[[Design], Any]


@dataclass(frozen=True)
class TestGroup:
    """A test function of an emitted file and the runs it is parametrized with."""

    name: str
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Emitted:
    """What goes into one emitted file: the cases it guards against and its test functions."""

    mechanism: str
    cases: tuple[Case, ...]
    groups: tuple[TestGroup, ...]


def shown_configuration(case: Case) -> dict[str, Any]:
    """The part of a case's configuration that an emitted test sets."""
    names = ("page_size", "dcp_size", "mamba_track_interval", "mamba_chunk_size")
    return {name: case.configuration[name] for name in names}


def _rules_configuration(case: Case) -> Any:
    given = {k: v for k, v in case.configuration.items() if v is not None}
    return expectations.configuration({**vars(Configuration()), **given})


def _depths(case: Case) -> list[int]:
    """Depths (tokens) worth trying: multiples of what the case's trace snapshots at, one beyond the wrong one."""
    c, wrong = _rules_configuration(case), case.depths["state"] or 0
    step = max(1, min(c.mamba_track_interval, MOST_STEPS // 5))
    last = max(wrong, 5 * step)
    return list(range(step, last + 1, step))[-12:]


def _of(code: codes.Code, cases: Sequence[Case]) -> list[Case]:
    """The cases with a code, one for each configuration, in the order given."""
    return list(
        {spelled(case.configuration): case for case in cases if case.code == code.id}.values()
    )


def _on(function: Callable[..., Any], *arguments: Any) -> Callable[[Design], Any]:
    """A function of a design alone."""
    return lambda design: function(design, *arguments)


def _grid(design: Design, reader: str, c: Any) -> int:
    return int(design.grid(reader, c))


def _all_nameable(page: int) -> Callable[[Any], bool]:
    return lambda snapshots: bool(snapshots) and all(n % page == 0 for n in snapshots)


def _lands(follower: Any) -> bool:
    return follower != "fault" and follower["node"] == (follower["state"] or 0)


def _decode(cases: Sequence[Case]) -> Emitted | None:
    chosen = _of(codes.DECODE_GRID, cases)
    masks, followers = [], []
    for case in chosen:
        c, depths = _rules_configuration(case), _depths(case)
        grid = _on(_grid, "decode", c)
        masks.append(
            Check(
                spelled(case.configuration),
                {"configuration": shown_configuration(case), "stop": depths[-1]},
                _on(expectations.decode_snapshots, c, 1, depths[-1]),
                _all_nameable(expectations.tree_page(c)),
                grid,
            )
        )
        followers += [
            Check(
                f"{spelled(case.configuration)}-finish{stop}",
                {"configuration": shown_configuration(case), "stop": stop},
                _on(expectations.follower_after_decode, c, 1, stop),
                _lands,
                grid,
            )
            for stop in depths
        ]
    return _emitted(
        "decode",
        chosen,
        ("test_decode_snapshots_are_depths_the_tree_can_name", masks),
        ("test_a_follower_resumes_where_its_state_stopped", followers),
    )


def _saves_what_it_should(page: int, pre: int, accepted: int) -> Callable[[Any], bool]:
    passes_a_node = pre // page != (pre + accepted) // page

    def passes(saved: int | None) -> bool:
        return not passes_a_node if saved is None else saved % page == 0

    return passes


def _verify(cases: Sequence[Case]) -> Emitted | None:
    chosen = _of(codes.VERIFY_GRID, cases)
    checks = []
    for case in chosen:
        c = _rules_configuration(case)
        page, tokens = expectations.tree_page(c), c.speculative_num_draft_tokens
        for accepted in sorted({1, (tokens + 1) // 2, tokens}):
            for depth in _depths(case):
                pre = depth - (accepted + 1) // 2
                arguments = {
                    "configuration": shown_configuration(case),
                    "pre": pre,
                    "accepted": accepted,
                    "draft_tokens": tokens,
                    "algorithm": c.speculative_algorithm,
                }
                checks.append(
                    Check(
                        f"{spelled(case.configuration)}-from{pre}-accept{accepted}",
                        arguments,
                        _on(expectations.verify_snapshot, c, pre, accepted),
                        _saves_what_it_should(page, pre, accepted),
                        _on(_grid, "verify", c),
                    )
                )
    return _emitted(
        "verify", chosen, ("test_a_verify_saves_the_state_of_a_depth_the_tree_can_name", checks)
    )


_EXTENDS = (codes.EXTEND_PREFIX, codes.EXTEND_GRID, codes.EXTEND_ROW, codes.EXTEND_ASSERTION)
# The lengths of the report that led to the absolute rule (PR 39115): a first chunk of 64 tokens, then 605.
_REPORTED = (64, 605)


def _chunks(case: Case) -> tuple[int, int]:
    """Prefix and end (tokens) of the last extend of a case."""
    extends = [e for e in case.trace if e.event == "extend"]
    end = extends[-1].seq_len
    return end - extends[-1].tokens, end


def _donations(design: Design, c: Any, prefix: int, end: int) -> list[tuple[Any, ...]]:
    """Recorded depth, state (tokens) and fault of each chunk of a prefill cut at `prefix`."""
    chunks = [(0, prefix), (prefix, end)] if prefix else [(0, end)]
    return [tuple(expectations.extend(design, c, *chunk).values()) for chunk in chunks]


def _donates_nameable(page: int) -> Callable[[Any], bool]:
    def passes(seen: dict[str, Any]) -> bool:
        right_row = not seen["fault"] and seen["donated"] == seen["state"]
        return right_row and (seen["donated"] or 0) % page == 0

    return passes


def _extend(cases: Sequence[Case]) -> Emitted | None:
    wanted = {code.id for code in _EXTENDS}
    chosen = list({c.id: c for c in cases if c.code in wanted}.values())
    tried: dict[str, tuple[Case, int, int]] = {}
    for case in chosen:
        for prefix, end in (_chunks(case), _REPORTED):
            tried.setdefault(
                f"{spelled(case.configuration)}-from{prefix}-to{end}", (case, prefix, end)
            )
    donated, followers = [], []
    for name, (case, prefix, end) in tried.items():
        c = _rules_configuration(case)
        arguments = {"configuration": shown_configuration(case), "prefix": prefix, "end": end}
        facts = _on(_donations, c, prefix, end)
        donated.append(
            Check(
                name,
                arguments,
                _on(expectations.extend, c, prefix, end),
                _donates_nameable(expectations.tree_page(c)),
                facts,
            )
        )
        followers.append(
            Check(
                name,
                arguments,
                _on(expectations.follower_after_extend, c, prefix, end),
                _lands,
                facts,
            )
        )
    return _emitted(
        "extend",
        chosen,
        ("test_an_extend_donates_a_depth_the_tree_can_name", donated),
        ("test_a_follower_resumes_where_its_state_stopped", followers),
    )


def _emitted(
    mechanism: str, cases: Sequence[Case], *groups: tuple[str, Sequence[Check]]
) -> Emitted | None:
    if not cases:
        return None
    return Emitted(
        mechanism, tuple(cases), tuple(TestGroup(name, tuple(checks)) for name, checks in groups)
    )


MECHANISMS = (_decode, _verify, _extend)


def emitted(cases: Sequence[Case]) -> list[Emitted]:
    """The files that these cases call for, one a mechanism."""
    return [found for mechanism in MECHANISMS if (found := mechanism(cases)) is not None]
