"""State replay on the linear-attention recurrences; filled by a later version."""
