"""The library of theorems about SGLang, with configurations that a person would write."""

from pathlib import Path
from typing import Any

from spec.sglang.engine import ENGINE
from spec.sglang.releases import CURRENT, DESIGNS
from spec.theorem import Library, Setting


def _configuration(page_size: int, dcp_size: int, interval: int, chunk: int, draft_tokens: int):
    return {
        "page_size": page_size,
        "dcp_size": dcp_size,
        "mamba_track_interval": interval,
        "mamba_chunk_size": chunk,
        "speculative_num_draft_tokens": draft_tokens,
    }


# The Kimi-K3 B300 launches, then the engine's defaults and other published recipes.
REALISTIC = (
    _configuration(64, 8, 256, 64, 8),
    _configuration(64, 4, 256, 64, 8),
    _configuration(64, 1, 256, 64, 8),
    _configuration(1, 1, 256, 64, 4),
    _configuration(128, 1, 128, 64, 4),
    _configuration(64, 8, 512, 64, 8),
    _configuration(64, 16, 256, 64, 8),
    _configuration(64, 7, 320, 64, 4),
    _configuration(1, 1, 2, 64, 4),
    _configuration(16, 6, 256, 128, 4),
    _configuration(128, 4, 512, 64, 4),
)

LIBRARY = Library(
    Setting(engine=ENGINE, realistic=REALISTIC, right=CURRENT),
    refuted=Path(__file__).with_name("refuted.json"),
)
theorem = LIBRARY.theorem
RELEASES = tuple(DESIGNS)
COMPLETED_SWAP = f"{CURRENT.name}+completed-swap"


def before(release: str) -> tuple[str, ...]:
    """The designs of all releases before this one."""
    return RELEASES[: RELEASES.index(f"sglang-{release}")]


def since(release: str) -> tuple[str, ...]:
    """The designs of this release and of all later ones."""
    return RELEASES[RELEASES.index(f"sglang-{release}") :]


class _Having:
    """A configuration with other values in some of its fields."""

    def __init__(self, c: Any, fields: dict[str, Any]):
        self._c, self._fields = c, fields

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__["_fields"]
        return fields[name] if name in fields else getattr(self.__dict__["_c"], name)


def having(c: Any, **fields: Any) -> Any:
    """The configuration with these values in place of its own; a field read only where it is replaced is no parameter."""
    return _Having(c, fields)
