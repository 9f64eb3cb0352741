"""Faults of released SGLang that no rule models, with the flags and releases that have them (`docs/found.md`, 5 to 8, 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from generators.cases import codes
from generators.cases.codes import Code
from generators.sglang.check.prompt_cuts import mixes
from generators.sglang.launch.resolve import Launch
from spec.sglang.releases import RELEASES, Design


@dataclass(frozen=True)
class KnownFault:
    """A fault: its code, the producer of checkpoints it is of, the releases, which launches have it, what happens.

    `severity` is that of the code, or `warning` where it takes something that the launch does not show.
    """

    code: Code
    producer: str
    releases: tuple[str, ...]
    has: Callable[[Design, Launch], bool]
    happens: str
    severity: str = "error"


def _since(first: str) -> tuple[str, ...]:
    return RELEASES[RELEASES.index(first) :]


def _before(first: str) -> tuple[str, ...]:
    return RELEASES[: RELEASES.index(first)]


def _host(launch: Launch) -> bool:
    """Whether host memory is a tier of the cache, and no mere buffer."""
    kept = launch.value("hicache_host_memory_mode", "cache") == "cache"
    return bool(launch.value("enable_hierarchical_cache", False)) and kept


def _writes_back(launch: Launch) -> bool:
    return launch.value("hicache_write_policy", "write_through") == "write_back"


FAULTS = (
    KnownFault(
        codes.EXTEND_CHUNK,
        "extend",
        _since("0.5.20"),
        lambda design, launch: launch.nested_chunk,
        "prompts that end off the text config's chunk are cached with a state of fewer tokens",
    ),
    KnownFault(
        codes.EXTEND_MIXED,
        "extend",
        _before("0.5.23"),
        mixes,
        "a prompt of 5,000 tokens beside one decoding request leaves an unwritten state on the node of 4,928",
    ),
    KnownFault(
        codes.HOST_LOAD,
        "host",
        _since("0.5.19"),
        lambda design, launch: _host(launch) and _writes_back(launch),
        "a request continues from 128 tokens with an empty state, and caches what it computes under 256",
    ),
    KnownFault(
        codes.HOST_LOAD,
        "host",
        _before("0.5.19"),
        lambda design, launch: _host(launch) and _writes_back(launch),
        "in this release the scheduler is stopped by an assertion",
    ),
    KnownFault(
        codes.HOST_LOAD,
        "host",
        _since("0.5.19"),
        lambda design, launch: _host(launch) and not _writes_back(launch),
        "with this write policy only where no tokens or state slots can be freed for the load",
        severity="warning",
    ),
    KnownFault(
        codes.HOST_MATCH,
        "host",
        _since("0.5.20"),
        lambda design, launch: _host(launch) and "hicache_storage_backend" in launch.settings,
        "a request continues from 512 tokens with a state of 128",
    ),
    KnownFault(
        codes.SESSION_STATE,
        "sessions",
        RELEASES,
        lambda design, launch: launch.value("enable_streaming_session", False) or launch.sessions,
        "a turn that should go on from 451 tokens is given a state of 452, or another request's",
    ),
    KnownFault(
        codes.RETRACTION_STATE,
        "transfer",
        RELEASES,
        lambda design, launch: launch.value("disaggregation_mode") == "decode",
        "only where the server runs out of memory and retracts a request",
        severity="warning",
    ),
)


def known_faults(design: Design, launch: Launch) -> Iterator[KnownFault]:
    """The faults that a launch has in a release."""
    if launch.engine == "sglang" and launch.recurrent is not False:
        for fault in FAULTS:
            if design.release in fault.releases and fault.has(design, launch):
                yield fault
