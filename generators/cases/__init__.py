"""What a finding is, on disk and in words: the case format, the codes, the domain of a search."""
