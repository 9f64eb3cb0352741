"""The names a replay can be asked for; nothing here needs torch."""

from spec.recurrences import STATEFUL_LAYERS

RECURRENCES = STATEFUL_LAYERS
DEVICES = ("cpu", "cuda")
DTYPES = ("float64", "float32")
