"""A serving engine reduced to its recurrent states: slots, a tree, requests; every decision is a rule of `spec`."""
