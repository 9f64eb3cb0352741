"""The recurrent layers that keep a state from token to token, by the names that models and engines give them."""

RECURRENCES = ("mamba2", "gdn", "kda", "lightning")
# A short convolution keeps its window alone.
STATEFUL_LAYERS = (*RECURRENCES, "short_conv")
