"""Asks the toy engine where it caches a state."""

from typing import NamedTuple

import toyd


class Configuration(NamedTuple):
    """Tokens of a block, tokens between two kept states."""

    block: int
    keep: int


def cached_under(c: Configuration, tokens: int) -> int | None:
    """The prefix (tokens) that a request of so many tokens is cached under, if its state is kept."""
    return toyd.cached_under(c.block, c.keep, tokens)
