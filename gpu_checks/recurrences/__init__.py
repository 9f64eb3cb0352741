"""The recurrences that a state belongs to, one file a family, each with a step form and a chunked form."""

from gpu_checks.recurrences.gdn import GDN
from gpu_checks.recurrences.kda import KDA
from gpu_checks.recurrences.lightning import LIGHTNING
from gpu_checks.recurrences.mamba2 import MAMBA2
from gpu_checks.recurrences.recurrence import Recurrence
from gpu_checks.recurrences.short_conv import SHORT_CONV
from gpu_checks.recurrences.tokens import State, Tokens

RECURRENCES = {r.name: r for r in (MAMBA2, GDN, KDA, LIGHTNING, SHORT_CONV)}

__all__ = ["RECURRENCES", "Recurrence", "State", "Tokens"]
