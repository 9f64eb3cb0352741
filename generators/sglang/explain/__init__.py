"""SGLang's orders of events, step by step on the model."""
