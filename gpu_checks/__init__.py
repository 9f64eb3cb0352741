"""What a misplaced state does to numbers: linear-attention recurrences, snapshot slots, cold runs against warm ones.

torch is imported by the modules below, never by this one.
"""
