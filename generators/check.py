"""Judges a configuration for one release: what each reader does, the verdict, what to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from generators import codes, readers
from generators.cases import Case, told
from generators.codes import Code
from generators.domain import DEFAULT_CONTEXT, DOMAIN_FIELDS, domain_of, flag
from generators.errors import Inconclusive
from generators.launch import Launch
from generators.orders import first_orders
from generators.search import search
from spec.sglang import witnesses
from spec.sglang.configuration import Configuration, Guard
from spec.sglang.designs import ABSOLUTE, Design, model_chunk
from spec.sglang.rules import extend, grids

SCHEMA = "gridproof/findings/1"
_READER_OF = {
    codes.DECODE_GRID.id: "decode",
    codes.VERIFY_GRID.id: "verify",
    codes.VERIFY_STEP.id: "verify",
    codes.FLUSH.id: "flush",
    **dict.fromkeys((code.id for code in codes.SLOTS), "slots"),
}
_OF_ORDERS = (codes.VERIFY_STEP, *codes.SLOTS)
# Orders of more events add nothing to those of the modelled releases.
ORDER_EVENTS = 5
# Configurations whose like were judged before and that no order breaks.
_CLEAN: set[Any] = set()


@dataclass(frozen=True)
class Finding:
    """One thing to tell the user about a launch."""

    code: Code
    severity: str
    engine: str
    message: str
    source: str
    line: int | None = None
    fix: dict[str, Any] | None = None
    column: int | None = None
    case: Case | None = None
    affected: dict[str, Any] | None = None
    waived: str | None = None

    @property
    def trace(self) -> str | None:
        """The events that lead to it, in one line."""
        return told(self.case) if self.case else None

    def document(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "code": self.code.id,
            "severity": self.severity,
            "engine": self.engine,
            "message": self.message,
            "fix": self.fix,
            "source": self.source,
            "line": self.line,
            "column": self.column,
            "affected": self.affected,
            "trace": self.trace,
            "accepted": self.code.accepted,
            "upstream": self.code.links,
        }


@dataclass(frozen=True)
class Judgement:
    """A configuration under one release; depths in tokens.

    `theorems`: what the safe readers rest on; `shown_alone`: where none fits the extend, whether the solver
    showed its safety for this one configuration.
    """

    source: str
    engine: str
    configuration: Configuration
    sources: dict[str, str]
    geometry: dict[str, int]
    readers: dict[str, str]
    verdict: str
    first_lost_depth: int | None
    first_wrong_depth: int | None
    smallest_cached: int | None
    findings: tuple[Finding, ...]
    theorems: tuple[str, ...] = field(default=())
    shown_alone: bool = False
    line: int | None = None

    def document(self) -> dict[str, Any]:
        """The judgement as JSON, its findings apart."""
        shown = asdict(self.configuration)
        return {
            "source": self.source,
            "line": self.line,
            "engine": self.engine,
            "configuration": {name: shown[name] for name in DOMAIN_FIELDS},
            "sources": self.sources,
            "geometry": self.geometry,
            "readers": self.readers,
            "verdict": self.verdict,
            "first_lost_depth": self.first_lost_depth,
            "first_wrong_depth": self.first_wrong_depth,
            "smallest_cached": self.smallest_cached,
            "theorems": list(self.theorems),
            "shown_alone": self.shown_alone,
        }


def geometry(design: Design, c: Configuration) -> dict[str, int]:
    """The grids of a configuration under a design, in tokens."""
    return {
        "tree_page": grids.tree_page(c),
        "cache_chunk_size": grids.cache_chunk_size(c),
        "checkpoint_grid": grids.checkpoint_grid(c),
        "track_grid": grids.track_grid(c),
        "decode_grid": design.grid("decode", c),
    }


def refused_by(design: Design, c: Configuration) -> list[Guard]:
    """The start-up guards of a release that do not accept the configuration."""
    return [guard for guard in design.guards if not guard.accepts(c)]


# Guards that hold the strategy for recurrent states against page, DCP and overlap.
_STRATEGY_GUARDS = (
    *("no_buffer_has_page_one", "no_buffer_has_no_overlap"),
    *("lazy_has_overlap", "lazy_is_not_dflash"),
)


def _rejection(guard: Guard, engine: str, source: str) -> Finding:
    of_strategy = guard.name in _STRATEGY_GUARDS
    code = codes.CANNOT_START if of_strategy else codes.REJECTED
    return Finding(code, code.severity, engine, guard.demands, source)


def _cases(design: Design, c: Configuration) -> Sequence[Case]:
    """What breaks one configuration: by the grids alone, and by the shortest orders of events."""
    found = search(design, domain_of(c), close=False).cases
    return [*found, *first_orders(design, c, _OF_ORDERS, ORDER_EVENTS, _CLEAN)]


def _case_finding(design: Design, case: Case, source: str) -> Finding:
    code, depths = codes.CODES[case.code], case.depths
    end = case.trace[-1].seq_len
    if case.outcome == "fault":
        what = f"after {end} tokens the request is stopped by an assertion of the engine"
    elif depths["state"] is None:
        what = f"after {end} tokens a state that nobody wrote hangs on the node of depth {depths['node']}"
    else:
        replayed = depths["replayed"] or 0
        count = "1 token is" if abs(replayed) == 1 else f"{abs(replayed)} tokens are"
        what = (
            f"after {end} tokens a state that has consumed {depths['state']} tokens hangs on the "
            f"node of depth {depths['node']}: {count} {'consumed twice' if replayed > 0 else 'skipped'}"
        )
    return Finding(
        code,
        "error",
        f"sglang=={design.release}",
        f"{code.means}; {what}",
        source,
        case=case,
    )


def _readers(c: Configuration, cases: Sequence[Case]) -> dict[str, str]:
    verdicts = {"decode": "safe", "extend": "safe"}
    if c.speculates:
        verdicts["verify"] = "safe"
    verdicts |= {"slots": "safe", "flush": "safe"}
    for case in cases:
        verdicts[_READER_OF.get(case.code, "extend")] = "unsafe"
    return verdicts


_ON_THE_TRACK_GRID = {
    "decode": "decode_checkpoint_lands_on_a_node",
    "verify": "verify_checkpoint_lands_on_a_node",
}
_ON_THE_INTERVAL = "a_raw_interval_is_safe_if_the_tree_page_divides_it"


def _of_the_grid(design: Design, reader: str) -> list[str]:
    """The theorems on which decode or verify rests, by the grid that the release reads."""
    exact = ["the_saved_verify_step_has_consumed_exactly_the_recorded_depth"]
    steps = exact if reader == "verify" else []
    if getattr(design, f"{reader}_grid") is grids.track_grid:
        return [_ON_THE_TRACK_GRID[reader], *steps]
    return [_ON_THE_INTERVAL, *steps]


def _of_the_extend(design: Design, c: Configuration) -> list[str] | None:
    """The theorems on which the extend rests in a configuration; None where the library has none for it."""
    rule = design.extend_rule_under_dcp if c.dcp_size > 1 else design.extend_rule
    grid = grids.checkpoint_grid(c)
    if rule is ABSOLUTE:
        names = ["an_extend_under_dcp_lands_on_a_node"]
    elif design.grid("extend", c) == grid and (grids.tree_page(c) == 1 or _whole_prefixes(c)):
        names = ["a_relative_extend_lands_on_a_node_if_its_prefix_does"]
    else:
        return None
    chunk = grids.cache_chunk_size(c)
    if design.extend_assertion is extend.offset_is_on_the_chunk:
        names.append("the_extend_assertion_never_fires")
    elif grid == chunk:
        names.append("the_old_assertion_is_not_reached_where_the_grid_is_the_cache_chunk")
    elif _whole_prefixes(c) and grids.tree_page(c) % chunk == 0:
        names.append("the_old_assertion_holds_from_a_prefix_on_the_cache_chunk")
    else:
        return None
    if design.extend_row_stride is model_chunk and c.mamba_chunk_size > 1:
        names.append("the_row_read_is_the_row_of_the_recorded_depth")
    elif c.page_size <= c.mamba_chunk_size and c.mamba_chunk_size > 1:
        names.append("the_old_row_is_right_where_the_page_is_within_the_model_chunk")
    else:
        return None
    return names


def _whole_prefixes(c: Configuration) -> bool:
    """Without chunked prefill every prefix was matched in the tree."""
    return c.chunked_prefill_size == -1


def _rests_on(design: Design, c: Configuration, verdicts: dict[str, str]) -> tuple[str, ...] | None:
    """The theorems behind the safe readers; None where an extend's safety needs a proof of its own."""
    names = []
    for reader in ("decode", "verify"):
        if verdicts.get(reader) == "safe":
            names += _of_the_grid(design, reader)
    if verdicts["extend"] == "safe":
        found = _of_the_extend(design, c)
        if found is None:
            return None
        names += found
    if verdicts["flush"] == "safe" and design.decode_grid is grids.track_grid:
        names.append("every_snapshot_step_is_a_flush_step")
    return tuple(dict.fromkeys(names))


def _proved_alone(design: Design, c: Configuration) -> bool:
    """Whether the solver shows for this one configuration that no extend goes wrong."""
    try:
        return search(design, domain_of(c), close=True).complete
    except Inconclusive:
        return False


def _first_depths(design: Design, c: Configuration, cases: Sequence[Case]):
    """The first decode depth that no node can hold, and the first one that ends on another node."""
    page, grid = grids.tree_page(c), design.grid("decode", c)
    lost = grid if grid < page else None
    wrong = None
    if (found := readers.DECODE.find(design, c)) is not None:
        wrong = found.depths["state"]
    elif states := [case.depths["state"] for case in cases if case.depths["state"] is not None]:
        wrong = min(states)
    return lost, wrong


def _not_modelled(launch: Launch, c: Configuration) -> str | None:
    if launch.unmodelled:
        return launch.unmodelled
    if not launch.radix_cache:
        return "the radix cache is off, so no checkpoint is ever reused"
    if c.strategy == "no_buffer":
        return "the no_buffer strategy keeps its states by rules that are not modelled yet"
    return None


def judge(
    design: Design,
    launch: Launch,
    source: str,
    context_length: int | None = None,
    *,
    alone: bool = True,
) -> Judgement:
    """What a release does with a launch: verdict, readers, findings.

    `alone`: where no theorem fits, the solver is asked about this one configuration.
    """
    c, engine = launch.configuration, f"sglang=={design.release}"
    findings: list[Finding] = []
    shape = geometry(design, c)
    missing = _not_modelled(launch, c)
    asked = launch.radix_cache and not launch.unmodelled
    demands = refused_by(design, c) if asked else []
    if demands or missing:
        verdict = "rejected" if demands else "not_modelled"
        if demands:
            findings = [_rejection(guard, engine, source) for guard in demands]
        else:
            findings = [Finding(codes.NOT_MODELLED, "note", engine, str(missing), source)]
        names = ("decode", "extend", "slots", "flush")
        return Judgement(
            source,
            engine if launch.engine == "sglang" else launch.engine,
            c,
            launch.sources,
            shape,
            dict.fromkeys(names, "not_modelled"),
            verdict,
            None,
            None,
            None,
            tuple(findings),
        )
    cases = _cases(design, c)
    findings += [_case_finding(design, case, source) for case in cases]
    verdicts = _readers(c, cases)
    context, said = _context(launch, context_length)
    smallest = shape["checkpoint_grid"]
    verdict = "unsafe" if cases else "safe"
    if smallest > context:
        verdict = verdict if cases else "inert"
        findings.append(
            Finding(
                codes.INERT,
                "warning",
                engine,
                f"nothing shorter than {smallest} tokens can ever be reused, and the context is "
                f"{context} tokens ({said})",
                source,
            )
        )
    if shape["decode_grid"] > c.mamba_track_interval:
        findings.append(
            Finding(
                codes.SPARSER,
                "note",
                engine,
                f"decode checkpoints are {shape['decode_grid']} tokens apart, not the "
                f"{c.mamba_track_interval} of {flag('mamba_track_interval')}",
                source,
            )
        )
    witnesses.require(design, c)
    lost, wrong = _first_depths(design, c, cases)
    theorems = _rests_on(design, c, verdicts)
    alone = alone and theorems is None and _proved_alone(design, c)
    if theorems is None and not alone:
        verdicts["extend"] = "not_modelled"
        verdict = "not_modelled" if verdict == "safe" else verdict
    return Judgement(
        source,
        engine,
        c,
        launch.sources,
        shape,
        verdicts,
        verdict,
        lost,
        wrong,
        smallest,
        tuple(findings),
        theorems or (),
        alone,
    )


def _context(launch: Launch, given: int | None) -> tuple[int, str]:
    if given is not None:
        return given, "--context-length of this check"
    if launch.context_length is not None:
        return launch.context_length, "--context-length of the launch"
    return DEFAULT_CONTEXT, "assumed"


def findings_document(
    judgements: Sequence[Judgement], findings: Sequence[Finding]
) -> dict[str, Any]:
    """All judgements and findings as one JSON document; what is waived is left out."""
    return {
        "schema": SCHEMA,
        "configurations": [j.document() for j in judgements],
        "findings": [f.document() for f in findings if f.waived is None],
    }
