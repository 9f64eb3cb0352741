"""A case step by step: what each event leaves behind."""
