"""The command line and the reports; what they tell is computed in `spec`, `generators` and `gpu_checks`."""

__version__ = "0.1.0"
