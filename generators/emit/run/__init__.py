"""Runs emitted tests and holds what they did against what was predicted."""
