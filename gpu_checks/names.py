"""The names a replay can be asked for; nothing here needs torch."""

from spec.sglang.configuration import RECURRENCES as LINEAR

RECURRENCES = (*LINEAR, "short_conv")
PHASES = ("extend", "decode", "verify")
DEVICES = ("cpu", "cuda")
DTYPES = ("float64", "float32")
