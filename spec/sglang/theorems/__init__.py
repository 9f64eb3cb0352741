"""The theorems about SGLang's checkpoint rules, one file a family; `LIBRARY` holds them all."""

from spec.sglang.theorems import (
    batches,
    decode,
    extend,
    flush,
    grids,
    insert,
    life,
    lookup,
    periods,
    slot_swap,
    slots_lazy_verify,
    tree,
    verify,
)
from spec.sglang.theorems.library import LIBRARY

__all__ = [
    "LIBRARY",
    "batches",
    "decode",
    "extend",
    "flush",
    "grids",
    "insert",
    "life",
    "lookup",
    "periods",
    "slot_swap",
    "slots_lazy_verify",
    "tree",
    "verify",
]
