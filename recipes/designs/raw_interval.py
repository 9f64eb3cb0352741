"""An example of a design file: decode takes snapshots at the configured interval, as before SGLang PR 35412."""

BASE = "sglang-0.5.23+completed-swap"


def decode_grid(c):
    """Tokens between decode snapshots."""
    return c.mamba_track_interval
