"""Orders of events over many places of SGLang: requests, slots, the tree on device and host, storage, sessions.

`world`: fields and texts; `designs`: what releases and repairs do; `moves`: what can happen; `scopes`: which of it a
configuration has, and how much of it is searched; `stories`: a trace in words.
"""
