"""The JSON Schemas of every document gridproof writes."""
