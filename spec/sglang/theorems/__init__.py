"""The theorems about SGLang's checkpoint rules, one file a family; `LIBRARY` holds them all."""

from spec.sglang.theorems import (
    batches,
    decode,
    extend,
    flush,
    grids,
    insert,
    lookup,
    periods,
    slot_swap,
    slots_eager,
    slots_eager_verify,
    slots_lazy,
    slots_lazy_verify,
    slots_single,
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
    "lookup",
    "periods",
    "slot_swap",
    "slots_eager",
    "slots_eager_verify",
    "slots_lazy",
    "slots_lazy_verify",
    "slots_single",
    "tree",
    "verify",
]
