"""A design of the user's own, read from a Python file: its rules are searched as a release's are."""
