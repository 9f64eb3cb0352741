"""From a design and a domain to cases: configurations that the rules break, orders of events that end wrong."""
