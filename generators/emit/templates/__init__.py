"""The Jinja templates of the emitted tests, one a mechanism."""
