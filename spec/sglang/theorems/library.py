"""What SGLang brings to its theorems: the fields of a configuration, realistic values, its designs."""

from dataclasses import asdict
from typing import Any

from spec.sglang.configuration import NUMERIC_FIELDS, Configuration
from spec.sglang.releases import CURRENT, design_named
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
    Setting(
        fields={
            name: 0 if name == "speculative_num_draft_tokens" else 1 for name in NUMERIC_FIELDS
        },
        constants={k: v for k, v in asdict(Configuration()).items() if k not in NUMERIC_FIELDS},
        realistic=REALISTIC,
        design=design_named,
        right=CURRENT,
    )
)
theorem = LIBRARY.theorem


class _Having:
    """A configuration of which some fields are known."""

    def __init__(self, c: Any, fields: dict[str, Any]):
        self._c, self._fields = c, fields

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__["_fields"]
        return fields[name] if name in fields else getattr(self.__dict__["_c"], name)


def having(c: Any, **fields: Any) -> Any:
    """The configuration with these fields, which are not numbers, in place of its own."""
    return _Having(c, fields)
