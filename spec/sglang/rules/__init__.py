"""One file a mechanism; a rule is a function of numbers and does not know whether they are ints, arrays or terms."""
