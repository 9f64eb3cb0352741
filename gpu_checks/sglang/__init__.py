"""A serving engine reduced to its recurrent states: slots, a tree, requests; what happens when stands in `spec`."""
