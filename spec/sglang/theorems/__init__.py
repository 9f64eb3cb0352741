"""The theorems about SGLang's checkpoint rules, one file a family; `LIBRARY` holds them all."""

from spec.sglang.theorems import (
    batches,
    decode,
    extend,
    flush,
    grids,
    insert,
    lazy_verifies,
    life,
    lookup,
    periods,
    slots,
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
    "lazy_verifies",
    "life",
    "lookup",
    "periods",
    "slots",
    "tree",
    "verify",
]
