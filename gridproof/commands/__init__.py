"""One file a command: what it does between its options and its exit code."""
