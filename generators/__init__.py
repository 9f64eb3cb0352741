"""From a design to what breaks it, and to the tests that keep it from breaking again: one folder a job, one an engine."""
