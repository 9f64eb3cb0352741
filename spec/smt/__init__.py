"""The only place that knows z3: terms, definitions by witnesses, the divisibility graph, verdicts and limits."""
