"""An engine of two rules, one producer and one event, to hold the seam with: see tests/test_second_engine.py."""
