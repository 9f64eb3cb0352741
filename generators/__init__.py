"""From a design to what breaks it: domains, the search for cases, the case format and the emitted tests."""
