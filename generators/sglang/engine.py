"""SGLang for the jobs of `generators`: one part a job, each imported when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spec.sglang.engine import ENGINE as MODEL

if TYPE_CHECKING:
    from generators.cases.codes import Code


class SGLang:
    """The parts of SGLang, by the job that asks for them."""

    name = MODEL.name
    model = MODEL
    _PARTS = ("search", "launch", "check", "emit", "explain", "documents")

    @property
    def codes(self) -> tuple[Code, ...]:
        """Its finding codes."""
        from generators.sglang.codes import CODES

        return CODES

    def __getattr__(self, part: str) -> Any:
        if part not in self._PARTS:
            raise AttributeError(part)
        return import_module(f"generators.{self.name}.{part}.part").PART


ENGINE = SGLang()
