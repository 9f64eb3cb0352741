"""The mechanisms that tests of SGLang are emitted for, what they expect, and their templates."""
