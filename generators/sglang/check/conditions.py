"""Which releases and launches have what: the conditions of known faults."""

from __future__ import annotations

from collections.abc import Callable

from generators.launch.launch import Launch
from spec.sglang.mixed_batches import mixing_is_possible
from spec.sglang.releases import RELEASES, Design

Condition = Callable[[Design, Launch], bool]


def since(first: str) -> tuple[str, ...]:
    """The modelled releases from one on."""
    return RELEASES[RELEASES.index(first) :]


def before(first: str) -> tuple[str, ...]:
    """The modelled releases before one."""
    return RELEASES[: RELEASES.index(first)]


def mixes(design: Design, launch: Launch) -> bool:
    """Whether decode steps share batches with pieces of prompts under a release."""
    wanted = bool(launch.value("enable_mixed_chunk", False))
    return wanted and mixing_is_possible(design.release, launch.configuration)


def has_a_nested_chunk(design: Design, launch: Launch) -> bool:
    """Whether the model's chunk stands in its text config alone."""
    return launch.facts.model.nested_chunk


def unbuffered(has: Condition) -> Condition:
    """A condition, of launches without extra buffers alone."""
    return lambda design, launch: (
        launch.configuration.strategy == "no_buffer" and has(design, launch)
    )


def _host(launch: Launch) -> bool:
    """Whether host memory is a tier of the cache, and no mere buffer."""
    kept = launch.value("hicache_host_memory_mode", "cache") == "cache"
    return bool(launch.value("enable_hierarchical_cache", False)) and kept


def _policy(launch: Launch) -> str | None:
    """When states are copied to host memory; None where only the running command knows."""
    if "hicache_write_policy" in launch.facts.unknown:
        return None
    return launch.value("hicache_write_policy", "write_through")


def writes_back(design: Design, launch: Launch) -> bool:
    """Whether states reach host memory only when they are evicted."""
    return _host(launch) and _policy(launch) == "write_back"


def writes_through(design: Design, launch: Launch) -> bool:
    """Whether states are copied to host memory before they are evicted."""
    return _host(launch) and _policy(launch) not in ("write_back", None)


def may_write_back(design: Design, launch: Launch) -> bool:
    """Whether it is not known when states reach host memory."""
    return _host(launch) and _policy(launch) is None


def has_storage(design: Design, launch: Launch) -> bool:
    """Whether a storage backend stands behind host memory."""
    name = "hicache_storage_backend"
    return _host(launch) and (name in launch.settings or name in launch.facts.unknown)


def has_sessions(design: Design, launch: Launch) -> bool:
    """Whether requests belong to sessions."""
    return bool(launch.value("enable_streaming_session", False)) or launch.facts.sessions


def is_a_decode_server(design: Design, launch: Launch) -> bool:
    """Whether the server decodes what another one prefilled."""
    return launch.value("disaggregation_mode") == "decode"
