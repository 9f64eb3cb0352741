"""GitHub workflow commands: a step shows ten at most, so the summary comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST = 10
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def annotation(severity: str, title: str, message: str, **places: Any) -> str:
    """One annotation; `places` are file, line and col, left out where None."""
    named = {**{k: v for k, v in places.items() if v is not None}, "title": title}
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in named.items())
    return f"::{_LEVELS[severity]} {properties}::{_message(message)}"


def ten(summary: str, others: Sequence[str]) -> list[str]:
    """The summary and as many others as a step shows."""
    return [summary, *others[: MOST - 1]]
