"""What emitted tests import: how a list of calls is acted out on the engine. Copied verbatim beside the tests."""
