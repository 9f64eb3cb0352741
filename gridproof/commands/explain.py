"""`gridproof explain`."""

from __future__ import annotations

from generators.codes import CODES
from generators.errors import BadInput, NothingToDo
from gridproof.console import Output


def run(output: Output, what: str) -> int:
    """Print what a code means; a case file is refused until a later version."""
    if what in CODES:
        code = CODES[what]
        output.line(f"{code.id} {code.name}: {code.means}.")
        if code.theorem:
            output.line(f"A right design excludes it by the theorem {code.theorem}.")
        return 0
    if what.endswith(".json"):
        raise NothingToDo("walking through a case comes in a later version; codes are explained")
    raise BadInput(f"{what!r} is no finding code; the codes are {', '.join(CODES)}")
